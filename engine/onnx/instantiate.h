#pragma once
// A model with concrete extents → graph::Graph, which compile and Program take: shapes inferred by our own
// operators, constants folded, conditions decided, loops unrolled, dead nodes dropped.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/onnx/model.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

struct InstantiateOptions {
  /// Extent of every input's axis 0 where the file leaves it open; and of every axis of the same symbol.
  std::int64_t microBatch = 1;
  /// [model.assume]: symbols of the inputs' shapes, and values of whole-number tensors that the graph would
  /// only know while it runs (a trip count, a computed shape), by name.
  std::map<std::string, std::vector<std::int64_t>> assumed;
  /// Training keeps dropout and batch statistics where the file asks for them (training_mode); inference
  /// turns both off.
  bool training = false;
  /// Patterns (blocks.h) of initializers that are not trained.
  std::vector<std::string> frozen;
  /// What an Identity makes of a weight is a weight of its own, whatever it holds; otherwise only where it
  /// holds one number throughout. For inference alone: in training others may really be tied.
  bool untied = false;
  /// Nodes that unrolling may make; beyond, a sentence.
  std::size_t maxNodes = 200'000;
  /// Larger results of constants stay nodes: their memory is then planned.
  std::int64_t maxFoldedBytes = std::int64_t{1} << 28;
};

struct Instance {
  graph::Graph graph;
  /// Parameter of the graph → initializer of the file, or what an Identity makes of one
  /// (InstantiateOptions::untied).
  std::map<std::string, std::string> weightOf;
};

/// Initializers in floating-point types of at least one axis become parameters, named as in the file;
/// scalars, frozen ones and those that only stand where no operator learns (limits of Clip, ratios …) become
/// constants. Running statistics of batch norms in training mode become parameters with a StateUpdate. All
/// nodes are of block "model" (assignBlocks gives others). Errors: inputs without declared type, extents that
/// are neither given nor assumed, nodes whose shape depends on data, what operators refuse; each names the
/// node.
base::Result<Instance> instantiate(const Model& model, const ops::OperatorRegistry& registry,
                                   const InstantiateOptions& options);

/// A copy of a forward graph with the nodes to keep and, where given, the blocks of all its nodes.
graph::Graph copyOf(const graph::Graph& graph, const std::vector<bool>& keep,
                    const std::vector<std::string>* blocks);

/// The graph without nodes that neither an output nor the loss nor a state needs, and without their tensors.
/// Inputs stay.
graph::Graph withoutDeadNodes(const graph::Graph& graph);

}  // namespace pipescope::onnx
