#pragma once
// From a graph and its placement to a plan: what each stage computes in each pass, what it keeps, what it
// sends.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/compile/placement.h"
#include "engine/compile/plan.h"
#include "engine/ops/operator.h"

namespace pipescope::compile {

/// What an optimizer keeps and does for one parameter, as its rule describes it.
struct OptimizerCost {
  struct State {
    std::string name;  ///< last part of its name path: "moment1"
    graph::TensorType type;
  };
  std::string kind;  ///< "adamw"
  std::function<std::vector<State>(const graph::TensorType& parameter)> states;
  std::function<std::vector<ops::Work>(const graph::TensorType& parameter)> work;
};

struct PlanOptions {
  std::string name;
  model::ExecutableKind kind = model::ExecutableKind::training;
  bool recompute = false;         ///< stages with a stash recompute their forward before the backward pass
  std::int64_t microBatches = 1;  ///< above 1, training has accumulation buffers
  std::vector<std::int64_t> stashEntries;  ///< by stage; 0: activations live on from forward to backward
  bool splitBackward = false;              ///< weight gradients are a pass of their own
  /// By stage, with splitBackward: micro-batches whose weight gradients are put off at once; 0: what they need
  /// lives on from the backward pass.
  std::vector<std::int64_t> weightEntries;
  OptimizerCost optimizer;                 ///< of training
  std::optional<graph::ElementType> accumulator;  ///< of gradients; none: their own type
};

/// `graph` has its gradients already (training) or is a forward graph (inference). Stages come from
/// placeStages. Values that skip stages are forwarded hop by hop.
base::Result<ExecutablePlan> buildPlan(const graph::Graph& graph, const std::vector<StageSpec>& stages,
                                       const PlanOptions& options, const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
