#pragma once
// Turns a model with concrete extents into a graph::Graph for compile and Program. It infers shapes with our
// own operators, folds constants, decides conditions, unrolls loops and drops dead nodes.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/onnx/model.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::onnx {

struct InstantiateOptions {
  /// The extent of axis 0 of every input if the file leaves it open, and of every axis with the same symbol.
  std::int64_t microBatch = 1;
  /// [model.assume]: extents for symbols in the shapes of inputs, and values of whole-number tensors that
  /// would be known only at run time (a trip count, a computed shape), by name.
  std::map<std::string, std::vector<std::int64_t>> assumed;
  /// Training keeps dropout and batch statistics if the file asks for them (training_mode). Inference turns
  /// both off.
  bool training = false;
  /// Patterns (blocks.h) for initializers that are not trained.
  std::vector<std::string> frozen;
  /// Patterns for scalars that are trained. Others are constants, because exporters store numbers of the
  /// model's formulas in the same way.
  std::vector<std::string> scalarWeights;
  /// Treats the Identity of a weight as a weight of its own. If this is false, it does so only if all
  /// elements of the weight are equal. True is for inference only, because in training the two may really be
  /// tied.
  bool untied = false;
  /// Limit of the nodes that unrolling may make. More is an error.
  std::size_t maxNodes = 200'000;
  /// Results of constant nodes that are larger stay nodes, so that their memory is planned.
  std::int64_t maxFoldedBytes = std::int64_t{1} << 28;
};

struct Instance {
  graph::Graph graph;
  /// Parameter of the graph → initializer of the file, or the output of the Identity of one
  /// (InstantiateOptions::untied).
  std::map<std::string, std::string> weightOf;
};

/// Makes the graph. Floating-point initializers with at least one axis become parameters with their name in
/// the file. Scalars (but for InstantiateOptions::scalarWeights), frozen initializers, masks (with an element
/// of −∞) and those that only non-learning inputs read (limits of Clip, ratios …) become constants. Running
/// statistics of batch norms in training mode become parameters with a StateUpdate. All nodes are in the
/// block "model"; assignBlocks gives them others. Errors, which name the node: an input without a declared
/// type, an extent that is neither given nor assumed, a node whose shape depends on data, what operators
/// refuse.
base::Result<Instance> instantiate(const Model& model, const ops::OperatorRegistry& registry,
                                   const InstantiateOptions& options);

/// Copies a forward graph with the nodes to keep and, if `blocks` is given, with a block for each of its
/// nodes.
graph::Graph copyOf(const graph::Graph& graph, const std::vector<bool>& keep,
                    const std::vector<std::string>* blocks);

/// Returns the graph without the nodes, and their tensors, that no output, loss or state needs. Inputs stay.
graph::Graph withoutDeadNodes(const graph::Graph& graph);

}  // namespace pipescope::onnx
