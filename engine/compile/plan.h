#pragma once
// What compiling a graph gives, before any device has seen it: per stage and pass, the operators with their
// Work, and the tensors with how long each must be kept. A device family lowers this to segments and memory.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/tensor_type.h"
#include "engine/ops/work.h"
#include "profiler/base/ids.h"
#include "profiler/model/enums.h"

namespace pipescope::compile {

/// Index into StagePlan::tensors.
using PlanTensorId = base::Id<struct PlanTensorTag>;

/// What a tensor is kept for. Always-live ones are reserved for the whole program.
enum class TensorUse : std::uint8_t {
  weight,          ///< always live
  constant,        ///< always live
  accumulator,     ///< gradient accumulation buffer; always live
  optimizerState,  ///< always live (unless off chip)
  stash,           ///< ring of `copies` entries; always live
  input,           ///< host stream or inter-stage buffer; live from its first to its last use
  activation,      ///< live from its producer to its last use
  gradient,        ///< as activation
};
std::string toString(TensorUse use);
constexpr bool isAlwaysLive(TensorUse use) {
  return use <= TensorUse::stash;
}

struct PlanTensor {
  std::string name;  ///< name path, "layer1/conv/weight"
  graph::TensorType type;
  TensorUse use = TensorUse::activation;
  std::int64_t copies = 1;  ///< ring entries of a stash; 1 otherwise
};

struct PlanOperator {
  std::string name;  ///< name path, "layer1/conv"
  std::string kind;  ///< operator type, "Conv"
  std::vector<ops::Work> work;
  std::vector<PlanTensorId> inputs, outputs;
};

struct PassPlan {
  model::Pass pass = model::Pass::forward;
  std::vector<PlanOperator> operators;  ///< in program order
};

/// A tensor that leaves a stage for a neighbour once per micro-batch.
struct BoundaryTensor {
  std::string name;
  graph::TensorType type;
  int fromStage = 0, toStage = 0;
  model::TransferKind kind = model::TransferKind::activation;
};

struct StagePlan {
  int index = 0;
  int device = 0;  ///< index in the target
  std::vector<std::string> blocks;
  std::vector<PlanTensor> tensors;
  /// In the order in which a micro-batch goes through them: hostIn, forward, recompute, backward, hostOut;
  /// and update, which runs once per iteration. A pass without work is left out.
  std::vector<PassPlan> passes;
  std::int64_t stashEntries = 0;
  base::Bytes stashBytesPerEntry;
};

struct ExecutablePlan {
  std::string name;
  model::ExecutableKind kind = model::ExecutableKind::training;
  std::vector<StagePlan> stages;
  std::vector<BoundaryTensor> boundaries;
};

}  // namespace pipescope::compile
