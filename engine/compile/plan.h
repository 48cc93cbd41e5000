#pragma once
// What compiling a graph gives, before any device has seen it: per stage and pass, the operators with their
// Work, and the tensors with how long each must be kept. A device family lowers this to segments and memory.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/tensor_type.h"
#include "engine/ops/core/work.h"
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

/// Copies of a plan's devices that train together: device d of replica r is r · devicesPerReplica + d.
struct Replication {
  int replicas = 1;
  int devicesPerReplica = 1;
  /// A replica's devices may reduce their gradients at the same time, and then share links; otherwise one
  /// after another.
  bool atOnce = false;
  /// A replica's devices hold the model twice, the second time in reverse order (DualPipe): device d sums
  /// gradients with device devicesPerReplica − 1 − d, too.
  bool mirrored = false;
  /// Devices of `device`'s place in as many neighbouring replicas; 0: in all, mirrored ones included.
  std::vector<int> group(int device, std::int64_t replicas) const;
};

struct PlanTensor {
  std::string name;  ///< name path, "layer1/conv/weight"
  graph::TensorType type;
  TensorUse use = TensorUse::activation;
  std::int64_t copies = 1;  ///< ring entries of a stash; 1 otherwise
  bool remote = false;      ///< lies in streaming memory for the whole program
  bool shared = false;      ///< the same tensor of an earlier stage on the device, which has the memory
};

struct PlanOperator {
  std::string name;  ///< name path, "layer1/conv"
  std::string kind;  ///< operator type, "Conv"
  std::vector<ops::Work> work;
  std::vector<PlanTensorId> inputs, outputs;
  std::string block = {};  ///< of the node it came from; empty: of the stage
  /// Maps that follow each other element by element (works first … first + count − 1): a device may compute
  /// each such chain in one go.
  struct Chain {
    std::size_t first = 0, count = 0;
  };
  std::vector<Chain> chains = {};
};

/// Operators first … first + count − 1 of a pass are one call of a function: all calls of the same name on a
/// device do the same with other tensors, so that a device may keep their code once.
struct PlanCall {
  std::string function;  ///< name path, unique on a device
  std::string name;      ///< of this call: its block
  std::size_t first = 0, count = 0;
};

struct PassPlan {
  model::Pass pass = model::Pass::forward;
  std::vector<PlanOperator> operators;  ///< in program order
  std::vector<PlanCall> calls = {};     ///< ascending, disjoint
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
  /// In the order in which a micro-batch goes through them: hostIn, forward, recompute, backward,
  /// weightGradient, hostOut; then what runs once per iteration: collective (the sum of gradients over
  /// replicas) and update. A pass without work is left out.
  std::vector<PassPlan> passes;
  std::int64_t stashEntries = 0;
  base::Bytes stashBytesPerEntry;
  Replication replication;
};

struct ExecutablePlan {
  std::string name;
  model::ExecutableKind kind = model::ExecutableKind::training;
  std::vector<StagePlan> stages;
  std::vector<BoundaryTensor> boundaries;
  Replication replication;
};

}  // namespace pipescope::compile
