#pragma once
// The IR of an executable, before any device has seen it: for each stage and pass the operators with their
// Work, and for each tensor how long it must be kept. A device family lowers the IR to segments and memory.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/compile/mesh.h"
#include "engine/graph/tensor_type.h"
#include "engine/ops/core/work.h"
#include "profiler/base/ids.h"
#include "profiler/model/enums.h"

namespace pipescope::compile {

/// Index into StageIr::tensors.
using IrTensorId = base::Id<struct IrTensorTag>;

/// Reasons for which a tensor is kept. Always-live tensors occupy their memory during the whole program.
enum class TensorUse : std::uint8_t {
  weight,          ///< always live
  constant,        ///< always live
  accumulator,     ///< gradient accumulation buffer; always live
  optimizerState,  ///< always live (unless off chip)
  cache,           ///< memory without a value of its own, such as kept keys and values; always live
  stash,           ///< ring of `copies` entries; always live
  input,           ///< host stream or inter-stage buffer; live from its first to its last use
  activation,      ///< live from its producer to its last use
  gradient,        ///< live as an activation is
  gatheredWeight,  ///< a weight that was gathered from replicas or loaded for a pass; as activation
};
std::string toString(TensorUse use);
/// True for tensors that occupy their memory during the whole program.
constexpr bool isAlwaysLive(TensorUse use) {
  return use <= TensorUse::stash;
}

struct IrTensor {
  std::string name;  ///< name path, "layer1/conv/weight"
  graph::TensorType type;
  TensorUse use = TensorUse::activation;
  std::int64_t copies = 1;  ///< ring entries of a stash; 1 otherwise
  bool remote = false;      ///< lies in streaming memory for the whole program
  bool shared = false;      ///< an earlier stage at the place has the same tensor and its memory
  bool kept = false;        ///< the last one stays until the next one arrives, also between calls
};

struct IrOperator {
  std::string name;  ///< name path, "layer1/conv"
  std::string kind;  ///< operator type, "Conv"
  std::vector<ops::Work> work;
  std::vector<IrTensorId> inputs, outputs;
  std::string block = {};  ///< block of the node it came from; empty: of the stage
  /// Works first … first + count − 1 are Maps that follow each other element by element. A device may compute
  /// such a chain in one go.
  struct Chain {
    std::size_t first = 0, count = 0;
  };
  std::vector<Chain> chains = {};
  bool again = false;      ///< computes a forward result again, within the backward pass
  std::string group = {};  ///< group of a convolution that may run beside others of this name (multi_conv.h)
  /// Input whose memory the result takes over in frameworks for cards; not valid: none. The pass `in_place`
  /// withdraws it where the input is read later.
  IrTensorId replaced = {};
};

/// Operators first … first + count − 1 of a pass are one call of a function. All calls of one function on a
/// device do the same with different tensors, so that the device may keep their code once.
struct IrCall {
  std::string function;  ///< name path, unique on a device
  std::string name;      ///< block of this call
  std::size_t first = 0, count = 0;
};

struct PassIr {
  model::Pass pass = model::Pass::forward;
  std::vector<IrOperator> operators;  ///< operators in program order
  std::vector<IrCall> calls = {};     ///< ascending, disjoint
};

/// A tensor that a stage sends to a neighbour once per micro-batch.
struct BoundaryTensor {
  std::string name;
  graph::TensorType type;
  int fromStage = 0, toStage = 0;
  model::TransferKind kind = model::TransferKind::activation;
};

struct StageIr {
  int index = 0;
  int place = 0;
  std::vector<std::string> blocks;
  base::IdVector<IrTensorId, IrTensor> tensors;
  /// The passes in the order in which a micro-batch goes through them: hostIn, forward, backward,
  /// weightGradient, hostOut. Then follow those that run once per iteration: collective (the sum of gradients
  /// over replicas) and update. A pass without work is left out. Recomputed operators stand in the backward
  /// pass, right before its use (IrOperator::again).
  std::vector<PassIr> passes;
  std::int64_t stashEntries = 0;
  base::Bytes stashBytesPerEntry;
  /// Sums of gradients may begin before the backward pass has ended, on devices that can do both at a time.
  bool overlapsCollectives = true;
  Mesh mesh;
};

struct ExecutableIr {
  std::string name;
  model::ExecutableKind kind = model::ExecutableKind::training;
  std::vector<StageIr> stages;
  std::vector<BoundaryTensor> boundaries;
  Mesh mesh;
  bool ordersForMemory = false;  ///< see devices::System::ordersForMemory
  bool sharesCode = false;       ///< see devices::System::sharesCode
  bool runsSideBySide = false;   ///< see devices::System::runsSideBySide
};

/// Sets Mesh::ringBytes of the IR and its stages, if places reduce at the same time and differ.
void noteRingBytes(ExecutableIr& ir);

}  // namespace pipescope::compile
