#pragma once
// Finds equal layers that follow each other in a model, and makes the model without some of them.
#include <cstddef>
#include <optional>
#include <vector>

#include "engine/graph/graph.h"

namespace pipescope::plan {

/// Layers that are alike. Layer i has the `size` nodes from position first + i · size of an order. It may
/// begin in the middle of what the model calls a layer.
struct LayerRun {
  std::size_t first = 0, size = 0, count = 0;
  std::size_t end() const { return first + size * count; }
};

/// The runs of at least `least` equal layers in a forward graph; `order` has all nodes in an order in which
/// they can run. Layers are equal if their nodes have equal operators, attributes and types, and read from
/// the same places: of their layer, of the layer before it, or one tensor that all of them read. The values
/// of parameters may differ. A graph that updates state has none.
std::vector<LayerRun> layerRuns(const graph::Graph& forward, const std::vector<graph::NodeId>& order,
                                std::size_t least);

/// Neighbouring layers of a run, which are left out: positions begin … end − 1 of the order. The layer
/// before them stays.
struct LayerGap {
  std::size_t begin = 0, end = 0, size = 0;
};

/// Makes the graph without the layers of these gaps. The layer behind a gap then reads the tensors that the
/// first layer of the gap read. Returns nothing if a node behind that layer reads a result of the gap.
std::optional<graph::Graph> withoutLayers(const graph::Graph& forward,
                                          const std::vector<graph::NodeId>& order,
                                          const std::vector<LayerGap>& gaps);

}  // namespace pipescope::plan
