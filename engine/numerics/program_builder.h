#pragma once
#include "engine/numerics/memory_plan.h"
#include "engine/numerics/program.h"

namespace pipescope::numerics {

/// Gives every tensor of a graph its place and every node its kernel.
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
  /// Buffer of the input whose memory the node's first output takes over; −1: none.
  std::int64_t takeOver(const graph::Node& node) const;
  void makeBuffers();
  void placeInArena();
  void makeSteps();
  Place& place(graph::TensorId id) { return places_[static_cast<std::size_t>(id.value)]; }
  const Place& place(graph::TensorId id) const { return places_[static_cast<std::size_t>(id.value)]; }

  const graph::Graph& graph_;
  const ops::OperatorRegistry& registry_;
  std::vector<graph::Node> nodes_;  ///< of the graph, some of them combined
  Program program_;
  std::vector<Place> places_;          ///< by tensor; of arena ones, `at` is the buffer until placeInArena()
  std::vector<std::int64_t> lastUse_;  ///< by tensor: last node that reads it; one past the last node: kept
  std::vector<std::int64_t> readers_;  ///< by tensor: how many inputs of nodes it is
  std::vector<ops::Kernel> kernels_;   ///< by node
  std::vector<const graph::Node*> reluOf_;  ///< by node: the Relu that its kernel does too, or null
  std::vector<Lifetime> buffers_;
  std::vector<std::int64_t> scratch_;  ///< by node: its buffer, −1: none
};

}  // namespace pipescope::numerics
