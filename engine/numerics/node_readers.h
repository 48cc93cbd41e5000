#pragma once
// An index of which node reads and which node makes each tensor, for passes over the nodes of a program.
#include <optional>
#include <set>
#include <vector>

#include "engine/graph/graph.h"

namespace pipescope::numerics {

class NodeReaders {
 public:
  /// `nodes` must be stored at the index that is their number.
  NodeReaders(const graph::Graph& graph, const std::vector<graph::Node>& nodes)
      : readers_(graph.tensors().size()), producers_(graph.tensors().size()) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const graph::TensorId input : nodes[i].inputs) {
        if (input.valid()) readers_[input].push_back(i);
      }
      for (const graph::TensorId output : nodes[i].outputs) {
        if (output.valid()) producers_[output] = i;
      }
    }
    kept_.insert(graph.outputs.begin(), graph.outputs.end());
    if (graph.loss) kept_.insert(*graph.loss);
    for (const auto& [parameter, gradient] : graph.parameterGradients) kept_.insert(gradient);
    for (const graph::StateUpdate& update : graph.stateUpdates) kept_.insert(update.result);
  }

  /// The nodes that read the tensor. A node occurs once for each input that is this tensor.
  const std::vector<std::size_t>& of(graph::TensorId id) const { return readers_[id]; }
  /// True if something besides nodes needs the tensor: an output, the loss, a weight gradient, running
  /// statistics.
  bool kept(graph::TensorId id) const { return kept_.contains(id); }
  /// The only node that reads the tensor. None if several nodes read it or something else needs it.
  std::optional<std::size_t> only(graph::TensorId id) const {
    if (kept(id) || of(id).size() != 1) return std::nullopt;
    return of(id).front();
  }
  /// None for inputs, weights and constants.
  std::optional<std::size_t> producer(graph::TensorId id) const { return producers_[id]; }

 private:
  base::IdVector<graph::TensorId, std::vector<std::size_t>> readers_;
  base::IdVector<graph::TensorId, std::optional<std::size_t>> producers_;
  std::set<graph::TensorId> kept_;
};

/// Returns the nodes that are not dropped, with new numbers.
inline std::vector<graph::Node> withoutDropped(std::vector<graph::Node> nodes,
                                               const std::vector<bool>& dropped) {
  std::vector<graph::Node> result;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (dropped[i]) continue;
    result.push_back(std::move(nodes[i]));
    result.back().id = graph::NodeId(static_cast<std::int64_t>(result.size()) - 1);
  }
  return result;
}

}  // namespace pipescope::numerics
