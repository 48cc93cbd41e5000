#pragma once
// Costs of each operator of a model by the device model, and bytes that cross between its operators: the
// figures from which a model is split into stages.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/compile/recompute.h"
#include "engine/compiler/compilation.h"
#include "profiler/base/result.h"

namespace pipescope::plan {

/// The forward nodes of a graph in an order in which they can run. Stages are stretches of it. It is the
/// order of the graph, but nodes that only prepare inputs (an embedding, a mask) come as late as they can, so
/// that the host can send the input to the stage that needs it.
std::vector<graph::NodeId> splitOrder(const graph::Graph& forward, const ops::OperatorRegistry& registry);

/// Marks the positions in the order at which a stage may begin. A node that only arranges weights stays with
/// the node that reads it; otherwise weights would cross between stages with every micro-batch. A
/// multi-convolution stays in one stage.
std::vector<bool> splitBorders(const graph::Graph& forward, const std::vector<graph::NodeId>& order);

/// True for passes that a stage runs for each micro-batch: its computation and its host copies.
constexpr bool chargesStage(model::Pass pass) {
  return isComputePass(pass) || pass == model::Pass::hostIn || pass == model::Pass::hostOut;
}

struct SplitCosts {
  std::vector<std::int64_t> cost;     ///< ticks per micro-batch of each place in the order, with host copies
  std::vector<std::int64_t> forward;  ///< part of the forward pass in it
  std::vector<std::int64_t> again;    ///< ticks of recomputing it where a stage stashes its inputs
  /// Bytes of activations and of gradients that cross each cut: element i is the cut before position i of the
  /// order.
  std::vector<std::int64_t> activationBytes, gradientBytes;
};

/// `compiled` is the graph of `forward` as one stage on one device. Ticks on lanes that work side by side
/// count once: each operator is charged with the time by which it prolongs the pass.
base::Result<SplitCosts> splitCosts(const compile::CompiledExecutable& compiled, const graph::Graph& forward,
                                    const std::vector<graph::NodeId>& order,
                                    const compile::Checkpoints& checkpoints);

/// Ticks per micro-batch of each place in the order in the first `stages` stages of a compilation of
/// `forward`, counted as for SplitCosts::cost.
std::vector<std::int64_t> chargedTicks(const compile::CompiledExecutable& compiled,
                                       const graph::Graph& forward, const std::vector<graph::NodeId>& order,
                                       int stages);

}  // namespace pipescope::plan
