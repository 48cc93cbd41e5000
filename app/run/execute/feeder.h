#pragma once
// Passes the rows of a data set to the inputs of a graph.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "app/run/request/data_needs.h"
#include "engine/data/loader.h"
#include "engine/numerics/session.h"

namespace pipescope::app {

/// The labels that predictions are compared with. One of the two is empty.
struct Labels {
  std::span<const std::int32_t> classes;
  std::span<const float> numbers;
};

/// Each input gets the field of its name. The only input that is not labels also accepts a field "samples",
/// and labels accept a field "labels". Rows of the right type are passed on as they are. Others are converted
/// into memory that is kept from call to call.
class Feeder {
 public:
  /// Refuses an input without a field, a field of another shape, and real numbers where the model takes whole
  /// ones. The error says what the data has and what the model takes.
  static base::Result<Feeder> create(const DataNeeds& needs, const data::Dataset& dataset);
  /// Rows [first, first + count) of a batch, which are whole micro-batches. The result is valid until the
  /// next call.
  const numerics::Rows& rows(const data::Batch& batch, std::int64_t first, std::int64_t count);
  /// The labels of the rows of the last call.
  const Labels& labels() const { return labels_; }
  /// Number of labels in a row; 0: the data has none.
  std::int64_t labelsPerRow() const { return labelsPerRow_; }

 private:
  struct Column {
    std::size_t field = 0;
    graph::TensorType from;  ///< type of a row in the data set
    graph::ElementType to = graph::ElementType::float32;
    std::vector<std::byte> converted;
  };
  static base::Result<Column> columnFor(const data::FieldRequest& request, const DataNeeds& needs,
                                        const data::Dataset& dataset);
  static std::span<const std::byte> take(Column& column, const data::Batch& batch, std::int64_t first,
                                         std::int64_t count);

  std::vector<Column> inputs_;
  std::optional<Column> compared_;
  Labels labels_;
  std::int64_t labelsPerRow_ = 0;
  numerics::Rows rows_;
};

}  // namespace pipescope::app
