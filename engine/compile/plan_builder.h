#pragma once
// From a graph and its placement to a plan: what each stage computes in each pass, what it keeps, what it
// sends.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/compile/placement.h"
#include "engine/compile/plan.h"
#include "engine/ops/core/operator.h"

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

/// Where one kind of tensor lies.
struct TensorLocation {
  bool offChip = false;              ///< in streaming memory, whence it is loaded for each use
  bool sharded = false;              ///< each replica keeps its share only (replicated tensor sharding)
  std::int64_t leastOffChip = 2;     ///< elements; smaller tensors stay on the chip
  std::int64_t leastSharded = 8192;  ///< elements; smaller tensors are not sharded
};

struct TensorLocations {
  TensorLocation weights, optimizerState, activations, accumulators;
};

struct PlanOptions {
  std::string name;
  model::ExecutableKind kind = model::ExecutableKind::training;
  /// Recompute what the backward pass needs (recompute.h), unless the graph has nodes of pass `recompute`
  /// already.
  bool recompute = false;
  std::int64_t microBatches = 1;           ///< above 1, training has accumulation buffers
  std::vector<std::int64_t> stashEntries;  ///< by stage; 0: activations live on from forward to backward
  bool splitBackward = false;              ///< weight gradients are a pass of their own
  /// By stage, with splitBackward: micro-batches whose weight gradients are put off at once; 0: what they
  /// need lives on from the backward pass.
  std::vector<std::int64_t> weightEntries;
  /// Ways through the devices (schedules::Order::pipes): above 1, stages are there once for each, pipe by
  /// pipe, with the stash and weight entries above, and on `deviceOfStage`.
  int pipes = 1;
  std::vector<int> deviceOfStage;
  OptimizerCost optimizer;                        ///< of training
  std::optional<graph::ElementType> accumulator;  ///< of gradients; none: their own type
  Replication replication;
  TensorLocations locations;
  /// So many of the last stages' backward passes follow their forward passes at once: activations stay on the
  /// chip.
  int lastStagesKeep = 0;
  std::vector<std::string> checkpoints;  ///< with recompute: see recompute.h
  /// Bytes of gradients in one all-reduce, in the order in which the backward pass makes them; the last
  /// number holds for all further ones. Empty: one all-reduce for each type of number.
  std::vector<base::Bytes> gradientBuckets;
};

/// `graph` has its gradients already (training) or is a forward graph (inference). Stages come from
/// placeStages. Values that skip stages are forwarded hop by hop.
base::Result<ExecutablePlan> buildPlan(const graph::Graph& graph, const std::vector<StageSpec>& stages,
                                       const PlanOptions& options, const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
