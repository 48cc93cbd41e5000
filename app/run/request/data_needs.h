#pragma once
// Finds which fields a graph needs from a data set, and which labels its predictions are compared with.
#include <optional>
#include <string>
#include <vector>

#include "engine/config/configuration.h"
#include "engine/data/dataset_registry.h"
#include "engine/graph/graph.h"

namespace pipescope::app {

/// The content of a row: the labels, and one field for each input of the graph, in the graph's order.
struct DataNeeds {
  std::vector<data::FieldRequest> inputs;
  /// The labels that predictions are compared with; none: the graph has no labels. In training the labels are
  /// also an input.
  std::optional<data::FieldRequest> labels;
  std::int64_t classes = 0;  ///< 0: unknown
  /// "cross_entropy" or "nll" if the loss in the graph is that of its predictions and labels, element by
  /// element. Empty: it is another one, or there is none.
  std::string loss;
  /// Rows of one call. Synthetic data has as many unless the configuration says otherwise.
  std::int64_t callRows = 1;

  /// The inputs, then the labels if they are not an input.
  std::vector<data::FieldRequest> fields() const;
  bool labelsAreInput() const;
};

/// Each input holds `microBatch` rows. Refused: an input that does not divide into them.
base::Result<DataNeeds> dataNeeds(const graph::Graph& graph, std::int64_t microBatch);

/// Labels and classes of the configuration's training graph. A model that cannot be trained has one class for
/// each sample.
base::Result<DataNeeds> labelNeeds(const config::Configuration& configuration);

/// Shape of the comparison of scores with labels: labels × classes, where the scores of neighbouring classes
/// are `inner` elements apart.
struct ScoreShape {
  std::int64_t classes = 0;  ///< below 2: no accuracy is computed
  std::int64_t inner = 1;
  std::int64_t labels = 0;      ///< number in a micro-batch
  std::int64_t elements = 0;    ///< number in the output
  std::int64_t ignored = -100;  ///< a label that counts neither as right nor as wrong
  graph::ElementType element = graph::ElementType::float32;
};
/// The shape of the scores in the graph's first output, for the data set's number of labels in a row.
ScoreShape scoreShape(const graph::Graph& graph, std::int64_t microBatch, std::int64_t labelsPerRow);

}  // namespace pipescope::app
