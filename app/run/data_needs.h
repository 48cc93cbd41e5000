#pragma once
// What a graph wants of a data set, and its rows in the graph's types.
#include <span>
#include <vector>

#include "engine/config/configuration.h"
#include "engine/data/dataset.h"
#include "engine/graph/graph.h"
#include "engine/numerics/session.h"

namespace pipescope::app {

/// Samples and labels of one micro-batch's row. Several inputs stand one after another in a sample.
struct DataNeeds {
  graph::Shape sample, label;  ///< without the batch dimension; label empty: a scalar
  std::int64_t tokens = 0;     ///< samples are whole numbers below this; 0: real numbers
  std::int64_t classes = 0;    ///< 0: the graph does not say
  bool hasLabels = false;      ///< the last input is the labels
};

/// `microBatch` rows are in each input. Errors: an input that does not divide into them.
base::Result<DataNeeds> dataNeeds(const graph::Graph& graph, std::int64_t microBatch);

/// Labels and classes of the configuration's training graph; a model that cannot be trained has none.
base::Result<DataNeeds> labelNeeds(const config::Configuration& configuration);

/// Which scores are compared with which labels: labels × classes, the classes `inner` apart.
struct ScoreShape {
  std::int64_t classes = 0;  ///< below 2: no accuracy
  std::int64_t inner = 1;
  std::int64_t labels = 0;  ///< of a micro-batch
  graph::ElementType element = graph::ElementType::float32;
};
/// Of the graph's first output, for as many labels a row as the data set has.
ScoreShape scoreShape(const graph::Graph& graph, std::int64_t microBatch, std::int64_t labelsPerRow);

/// Rows of a call as the graph's inputs take them. Float32 samples of a single input and int32 labels pass as they
/// are; everything else is converted into memory that is kept from call to call.
class Feeder {
 public:
  static base::Result<Feeder> create(const graph::Graph& graph, const DataNeeds& needs, std::int64_t microBatch,
                                     const data::Dataset& dataset);
  /// `samples` and `labels` of whole micro-batches; the result is valid until the next call.
  const numerics::Rows& rows(std::span<const float> samples, std::span<const std::int32_t> labels);

 private:
  struct Input {
    graph::ElementType element = graph::ElementType::float32;
    std::size_t width = 0, offset = 0;  ///< elements of a row, within a sample
    std::vector<std::byte> bytes;
    bool passed = false;
  };
  std::vector<Input> inputs_;
  bool hasLabels_ = false;
  std::size_t sampleWidth_ = 0;
  numerics::Rows rows_;
  std::vector<float> gathered_;
};

}  // namespace pipescope::app
