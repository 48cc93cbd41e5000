#pragma once
// What the loader reads from. A format (IDX, synthetic …) is one file that implements Dataset and registers
// itself.
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

enum class Split : std::uint8_t { train, test };
/// "training" or "test".
std::string toString(Split split);

/// One of the values that a row of a data set is made of. Data sets of images and labels call theirs
/// "samples" and "labels".
struct Field {
  std::string name;
  graph::TensorType type;  ///< of one row, without a batch dimension ("1x28x28 float32")
};

/// Rows by index. Implementations are immutable once opened: read() may be called from any thread.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// For messages: which data, from where.
  virtual std::string description() const = 0;
  /// Number of rows, at least 1.
  virtual std::int64_t size() const = 0;
  /// At least one; always the same.
  virtual std::vector<Field> fields() const = 0;
  /// The field "labels" is whole numbers 0 … classes() − 1; 0: there is none, or it is no choice among
  /// classes.
  virtual std::int64_t classes() const = 0;
  /// Writes the rows of `indices` (each 0 … size() − 1) one after the other: `values[i]` gets those of
  /// fields()[i] and holds exactly as many bytes, at an address that suits the type. Fails where a file that
  /// is read on demand fails.
  virtual base::Status read(std::span<const std::int64_t> indices,
                            std::span<const std::span<std::byte>> values) const = 0;
};

/// The place of a field of that name; none where there is no such.
std::optional<std::size_t> findField(const std::vector<Field>& fields, std::string_view name);
/// For messages: "samples (1x28x28 float32) and labels (int32)".
std::string toString(const std::vector<Field>& fields);

}  // namespace pipescope::data
