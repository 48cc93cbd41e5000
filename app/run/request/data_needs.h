#pragma once
// What a graph wants of a data set, and what its predictions are compared with.
#include <optional>
#include <string>
#include <vector>

#include "engine/config/configuration.h"
#include "engine/data/dataset_registry.h"
#include "engine/graph/graph.h"

namespace pipescope::app {

/// What a row must hold: one field for each input of the graph, in their order, and the labels.
struct DataNeeds {
  std::vector<data::FieldRequest> inputs;
  /// What predictions are compared with; in training also an input. None: the graph does not say.
  std::optional<data::FieldRequest> labels;
  std::int64_t classes = 0;   ///< 0: the graph does not say
  std::int64_t callRows = 1;  ///< that a call takes; synthetic data has as many unless asked for others

  /// Inputs, then labels where they are none of them.
  std::vector<data::FieldRequest> fields() const;
  bool labelsAreInput() const;
};

/// `microBatch` rows are in each input. Errors: an input that does not divide into them.
base::Result<DataNeeds> dataNeeds(const graph::Graph& graph, std::int64_t microBatch);

/// Labels and classes of the configuration's training graph; a model that cannot be trained has one class for
/// each sample.
base::Result<DataNeeds> labelNeeds(const config::Configuration& configuration);

/// Which scores are compared with which labels: labels × classes, the classes `inner` apart.
struct ScoreShape {
  std::int64_t classes = 0;  ///< below 2: no accuracy
  std::int64_t inner = 1;
  std::int64_t labels = 0;    ///< of a micro-batch
  std::int64_t elements = 0;  ///< of the output
  graph::ElementType element = graph::ElementType::float32;
};
/// Of the graph's first output, for as many labels a row as the data set has.
ScoreShape scoreShape(const graph::Graph& graph, std::int64_t microBatch, std::int64_t labelsPerRow);

}  // namespace pipescope::app
