#pragma once
// Makes an IR from a graph and its placement: what each stage computes in each pass, what it keeps and what
// it sends.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/compile/stage_division.h"
#include "engine/ops/core/operator.h"

namespace pipescope::compile {

/// Cost of an optimizer for one parameter: the state that it keeps, and the Work of an update.
struct OptimizerCost {
  struct State {
    std::string name;  ///< last part of its name path: "moment1"
    graph::TensorType type;
  };
  std::string kind;  ///< "adamw"
  std::function<std::vector<State>(const graph::TensorType& parameter)> states;
  std::function<std::vector<ops::Work>(const graph::TensorType& parameter)> work;
  /// Costs of parameters with settings of their own, by name.
  std::map<std::string, std::shared_ptr<const OptimizerCost>> own = {};
  const OptimizerCost& of(const std::string& parameter) const {
    const auto found = own.find(parameter);
    return found == own.end() ? *this : *found->second;
  }
};

/// Memory in which tensors of one kind lie.
struct TensorLocation {
  bool offChip = false;              ///< true: kept in streaming memory, from which it is loaded for each use
  bool sharded = false;              ///< each replica keeps only its share (replicated tensor sharding)
  std::int64_t leastOffChip = 2;     ///< elements; smaller tensors stay on the chip
  std::int64_t leastSharded = 8192;  ///< elements; smaller tensors are not sharded
};

struct TensorLocations {
  TensorLocation weights, optimizerState, activations, accumulators;
};

struct IrOptions {
  std::string name;
  model::ExecutableKind kind = model::ExecutableKind::training;
  /// Recompute what the backward pass needs (recompute.h), unless the graph already has nodes of pass
  /// `recompute`.
  bool recompute = false;
  std::int64_t microBatches = 1;  ///< above 1, training has accumulation buffers
  /// Entries of each stage; 0: activations live on from forward to backward.
  std::vector<std::int64_t> stashEntries;
  /// The forward pass writes what it keeps to its place in the ring at once, so that nothing is copied.
  bool stashInPlace = false;
  bool splitBackward = false;  ///< weight gradients are a pass of their own
  /// Number of micro-batches that wait for their weight gradients at the same time, by stage, with
  /// splitBackward. 0: their inputs stay alive from the backward pass on.
  std::vector<std::int64_t> weightEntries;
  /// Ways through the devices (schedules::Order::pipes). With several, each stage exists once for each pipe,
  /// pipe after pipe, on `placeOfStage`; the stash and weight entries above count them all.
  int pipes = 1;
  std::vector<int> placeOfStage;
  OptimizerCost optimizer;                        ///< optimizer of training
  std::optional<graph::ElementType> accumulator;  ///< type of gradients; none: their own type
  /// Gradients are added into accumulators even if one micro-batch makes an update. Updates that keep float32
  /// weights (`masterWeights`) read float32 gradients: narrower sums on the chip are copied before the first
  /// update, and the copies live until the last one (Megatron-LM, core/optimizer/optimizer.py:
  /// `_copy_model_grads_to_main_grads`). A stage keeps the last input that it received until the next one
  /// arrives (megatron/core/transformer/transformer_block.py: `set_input_tensor`).
  bool gradientBuffers = false, masterWeights = false;
  Mesh mesh;
  std::set<std::string> expertWeights;  ///< weights that are divided among the experts of the mesh
  TensorLocations locations;
  /// Number of last stages whose backward pass follows their forward pass at once, so that activations stay
  /// on the chip.
  int lastStagesKeep = 0;
  std::vector<std::string> checkpoints;  ///< checkpoints if `recompute` is set: see recompute.h
  /// Bytes of gradients in each all-reduce, in the order in which the backward pass computes them. The last
  /// number holds for all further ones. Empty: one all-reduce for each type of number.
  std::vector<base::Bytes> gradientBuckets;
  bool gatherByBlock = false;  ///< sharded weights are gathered for one block at a time, otherwise for a pass
  /// Replicas that keep shares of gradients receive only these. Otherwise each receives whole sums.
  bool reduceScatter = true;
  bool overlapCollectives = true;  ///< see StageIr::overlapsCollectives
  bool mergeCollectives = true;    ///< false: each parameter has collectives of its own
};

/// `graph` has gradients (training) or is a forward graph (inference). Stages come from placeStages. A value
/// that skips stages passes through each of them.
///
/// A tied weight is one that stages at several places use. Each of these places keeps a copy of it, with an
/// accumulator and the states of its optimizer. Once an iteration the places add up the gradients of their
/// copies with an all-reduce along the axis `pipe`, so that all copies stay the same. The sum covers the
/// whole gradient that a place keeps, as in Megatron-LM (megatron/core/distributed/finalize_model_grads.py,
/// embedding gradients) and DeepSpeed (deepspeed/runtime/pipe/module.py, allreduce_tied_weight_gradients).
/// Refused: a tied weight that is trained by some of its places only, one that the forward pass writes, and
/// one whose accumulator lies off the chip.
base::Result<ExecutableIr> buildIr(const graph::Graph& graph, const std::vector<StageSpec>& stages,
                                   const IrOptions& options, const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
