#pragma once
// Data sets. Each format (IDX, synthetic …) is one file that implements Dataset and registers itself.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/tensor_type.h"
#include "profiler/base/result.h"

namespace pipescope::data {

enum class DataSplit : std::uint8_t { train, test };
/// "training" or "test".
std::string toString(DataSplit split);

/// One of the values in a row of a data set. Data sets of images call theirs "samples" and "labels".
struct Field {
  std::string name;
  graph::TensorType type;  ///< type of one row, without a batch dimension ("1x28x28 float32")
};

/// Rows that are read by index. An open data set is immutable, so that any thread may call read().
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// Names the data and its place, for messages.
  virtual std::string description() const = 0;
  /// Number of rows, at least 1.
  virtual std::int64_t size() const = 0;
  /// Returns at least one field, and always the same ones.
  virtual std::vector<Field> fields() const = 0;
  /// The field "labels" holds whole numbers 0 … classes() − 1. 0: there is no such field, or its values are
  /// not classes.
  virtual std::int64_t classes() const = 0;
  /// Writes the rows of `indices` (each 0 … size() − 1) one after the other: `values[i]` gets those of
  /// fields()[i]. It must have exactly the right size and suit the type's alignment. Fails if a file that is
  /// read on demand cannot be read.
  virtual base::Status read(std::span<const std::int64_t> indices,
                            std::span<const std::span<std::byte>> values) const = 0;
};

/// The position of the field with that name, if there is one.
std::optional<std::size_t> findField(const std::vector<Field>& fields, std::string_view name);
/// A text for messages: "samples (1x28x28 float32) and labels (int32)".
std::string toString(const std::vector<Field>& fields);

}  // namespace pipescope::data
