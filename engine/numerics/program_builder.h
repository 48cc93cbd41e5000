#pragma once
#include "engine/numerics/memory_plan.h"
#include "engine/numerics/program.h"

namespace pipescope::numerics {

/// Gives a place to every tensor of a graph and a kernel to every node.
class ProgramBuilder {
 public:
  ProgramBuilder(const graph::Graph& graph, const ops::OperatorRegistry& registry);
  base::Result<Program> build();

 private:
  using Place = Program::Place;

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
  Place& place(graph::TensorId id) { return places_[static_cast<std::size_t>(id.value)]; }
  const Place& place(graph::TensorId id) const { return places_[static_cast<std::size_t>(id.value)]; }

  const graph::Graph& graph_;
  const ops::OperatorRegistry& registry_;
  std::vector<graph::Node> nodes_;  ///< of the graph, partly combined
  Program program_;
  /// by tensor; before placeInArena(), `at` of a tensor in the arena is its buffer
  std::vector<Place> places_;
  /// by tensor: the last node that reads it, or one past the last node if it is kept
  std::vector<std::int64_t> lastUse_;
  std::vector<std::int64_t> readers_;       ///< by tensor: how many inputs of nodes are this tensor
  std::vector<ops::Kernel> kernels_;        ///< by node
  std::vector<const graph::Node*> reluOf_;  ///< by node: the Relu that its kernel also computes, or null
  std::vector<Lifetime> buffers_;
  std::vector<std::int64_t> scratch_;  ///< by node: buffer of its scratch memory, or −1
};

}  // namespace pipescope::numerics
