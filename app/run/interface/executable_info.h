#pragma once
// Facts about an executable after compiling: its inputs and outputs, its stages, its memory.
#include <cstdint>
#include <string>
#include <vector>

#include "app/run/interface/host_tensor.h"
#include "engine/compiler/compilation.h"
#include "profiler/model/enums.h"

namespace pipescope::run {

struct StageInfo {
  int index = 0;
  int device = 0;  ///< device of the first replica
  std::vector<std::string> blocks;
  /// Emulated seconds for one micro-batch, without exchanges. Recomputation is part of the backward pass.
  double forwardSeconds = 0, backwardSeconds = 0;
};

/// Content that the executable puts into one memory of a device.
struct MemoryInfo {
  int device = 0;
  std::string kind;  ///< "tile", "hbm" …
  std::int64_t units = 1;
  base::Bytes bytes;      ///< bytes over all units
  base::Bytes mostBytes;  ///< bytes in the fullest unit
  base::Bytes capacity;   ///< capacity of a unit
  bool fits = true;
};

struct ExecutableInfo {
  std::string name;
  model::ExecutableKind kind = model::ExecutableKind::training;
  /// Inputs and outputs of one micro-batch. A call takes the rows of all its micro-batches along the first
  /// axis. All are empty if a configuration gives costs instead of a model.
  std::vector<TensorInfo> inputs, outputs;
  bool hasLoss = false;
  std::int64_t microBatchSize = 1;
  /// Number in a flush: accumulated in training, device iterations in inference.
  std::int64_t microBatches = 1;
  std::int64_t iterations = 1;  ///< flushes of a call: weight updates in training
  std::int64_t replicas = 1;
  std::int64_t inputGroup = 1;  ///< number of neighbouring replicas that get the same rows
  std::vector<StageInfo> stages;
  std::vector<MemoryInfo> memory;

  /// Blocks of one micro-batch along the first axis of an input of one flush.
  std::int64_t blocksPerIteration() const { return microBatches * (replicas / inputGroup); }
  /// Samples of one call.
  std::int64_t rowsPerCall() const { return microBatchSize * blocksPerIteration() * iterations; }
};

/// Describes the inputs, outputs and sizes of an executable on a system.
ExecutableInfo describeExecutable(const compile::CompiledExecutable& executable,
                                  const devices::System& system);

}  // namespace pipescope::run
