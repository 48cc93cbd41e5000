#pragma once
#include "engine/numerics/buffer_offsets.h"
#include "engine/numerics/graph_program.h"

namespace pipescope::numerics {

/// Gives a place to every tensor of a graph and a kernel to every node.
class ProgramBuilder {
 public:
  ProgramBuilder(const graph::Graph& graph, const ops::OperatorRegistry& registry);
  base::Result<GraphProgram> build();

 private:
  using Place = GraphProgram::Place;

  const ops::OperatorDefinition& definitionOf(const graph::Node& node) const;
  base::Status placeOutside();
  void findLastUses();
  base::Status makeKernels();
  const graph::Node* reluBehind(const graph::Node& node) const;
  /// The buffer of the input whose memory the first output of the node reuses, or −1 if there is none.
  std::int64_t takeOver(const graph::Node& node) const;
  void makeBuffers();
  void placeInArena();
  void makeSteps();
  Place& place(graph::TensorId id) { return places_[id]; }
  const Place& place(graph::TensorId id) const { return places_[id]; }

  const graph::Graph& graph_;
  const ops::OperatorRegistry& registry_;
  base::IdVector<graph::NodeId, graph::Node> nodes_;  ///< nodes of the graph, partly combined
  GraphProgram program_;
  /// Place of each tensor. Before placeInArena(), `at` of a tensor in the arena is its buffer.
  base::IdVector<graph::TensorId, Place> places_;
  /// Last node that reads the tensor, or one past the last node if it is kept.
  base::IdVector<graph::TensorId, std::int64_t> lastUse_;
  base::IdVector<graph::TensorId, std::int64_t> readers_;  ///< number of node inputs that are this tensor
  base::IdVector<graph::NodeId, ops::Kernel> kernels_;
  /// Relu that the kernel of the node also computes, or null.
  base::IdVector<graph::NodeId, const graph::Node*> reluOf_;
  std::vector<Lifetime> buffers_;
  base::IdVector<graph::NodeId, std::int64_t> scratch_;  ///< buffer of the scratch memory of a node, or −1
};

}  // namespace pipescope::numerics
