#pragma once
// A plan of a model that was compiled and emulated, with the figures that a report shows.
#include <optional>
#include <string>
#include <vector>

#include "engine/compiler/compilation.h"
#include "engine/plan/split_search.h"

namespace pipescope::plan {

/// One stage of a compiled plan. Times are in ticks for a micro-batch.
struct TriedStage {
  std::vector<std::string> blocks;
  std::string first, last;     ///< first and last forward operator
  std::int64_t operators = 0;  ///< operators of the forward pass
  int place = 0;
  std::int64_t forward = 0, recompute = 0, backward = 0;
  std::int64_t host = 0;      ///< copies from and to the host
  std::int64_t exchange = 0;  ///< time in which transfers keep its device from computing
  /// Ticks that keep its device busy: passes, host copies and exchange. The limiting stage is the one where
  /// this is longest.
  std::int64_t occupied = 0;
  std::int64_t parameters = 0;   ///< bytes of its weights
  std::int64_t activations = 0;  ///< bytes of the results of its forward operators
  /// Bytes of the fullest unit (for example tile) of its device's memories, and what the unit has room for.
  /// Several memories: of the one that is filled most.
  std::int64_t used = 0, room = 0;
  /// Bytes of `used` that are always live, where the memory is one unit; none: it has several.
  std::optional<std::int64_t> alwaysLive;
  std::int64_t missing = 0;  ///< bytes that its device lacks
};

struct TriedPlan {
  Cuts cuts;    ///< empty for a plan that was not made by cutting
  Value value;  ///< missing bytes of the fullest memory; ticks of a call
  double samplesPerSecond = 0;
  std::int64_t tokensPerSample = 0;  ///< 0: the samples are no sequences of tokens
  double ticksPerSecond = 1;
  int devices = 0, replicas = 1;
  std::int64_t microBatches = 1, microBatchSize = 1;
  std::string schedule, recompute;
  std::vector<TriedStage> stages;
  std::vector<std::string> overflow;  ///< see Compilation::overflow
};

/// Emulates the first executable of a compilation.
TriedPlan tryOut(const compile::Compilation& compilation);

/// The fullest unit of a device's memories.
struct FullestUnit {
  std::int64_t used = 0, room = 0;
  std::optional<std::int64_t> alwaysLive;  ///< see TriedStage
  std::int64_t missing = 0;                ///< most bytes that a unit of any memory lacks; 0: all fit
};
/// Finds the unit that is filled most, in bytes used ÷ room, over all memories of a device.
FullestUnit fullestUnit(const devices::LoweredDevice& device, const devices::DeviceInfo& info);

}  // namespace pipescope::plan
