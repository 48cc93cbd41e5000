#pragma once
// Passes the rows of a data set to the inputs of an executable.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "app/run/interface/host_tensor.h"
#include "app/run/request/data_needs.h"
#include "engine/data/loader.h"

namespace pipescope::app {

/// The labels that predictions are compared with. One of the two is empty.
struct BatchLabels {
  std::span<const std::int32_t> classes;
  std::span<const float> numbers;
};

/// Each input gets the field of its name. The only input that is not labels also accepts a field "samples",
/// and labels accept a field "labels".
class Feeder {
 public:
  /// Refuses an input without a field, a field of another shape, and real numbers if the model takes whole
  /// ones. The error says what the data has and what the model takes.
  static base::Result<Feeder> create(const DataNeeds& needs, const data::Dataset& dataset);
  /// The inputs of a call, which point into the batch.
  std::vector<run::HostTensor> inputs(const data::Batch& batch) const;
  /// The labels of a batch. The result is valid until the next call and as long as the batch.
  BatchLabels labels(const data::Batch& batch);
  /// Number of labels in a row; 0: the data has none.
  std::int64_t labelsPerRow() const { return labelsPerRow_; }

 private:
  struct Column {
    std::size_t field = 0;
    graph::TensorType from;  ///< type of a row in the data set
  };
  static base::Result<Column> columnFor(const data::FieldRequest& request, const DataNeeds& needs,
                                        const data::Dataset& dataset);

  std::vector<Column> inputs_;
  std::optional<Column> compared_;
  graph::ElementType labelType_ = graph::ElementType::int32;  ///< int32 or float32
  std::vector<std::byte> converted_;
  std::int64_t labelsPerRow_ = 0;
};

}  // namespace pipescope::app
