#pragma once
// Emulates a compiled run without a record of it and gives its times.
#include <vector>

#include "engine/compiler/compilation.h"
#include "engine/compiler/fixed_compiler.h"
#include "profiler/base/result.h"
#include "profiler/base/units.h"

namespace pipescope::plan {

/// Time in which the device of a stage is busy for a micro-batch, in ticks.
struct StageOccupancy {
  /// Time in which no pass or host copy runs and a transfer of the device keeps it from computing, divided
  /// between the stages of the device. 0 where passes start as soon as their inputs are there, because
  /// transfers then run beside them.
  std::int64_t exchange = 0;
  std::int64_t occupied = 0;  ///< passes and host copies, without counting a moment twice, and `exchange`
};

struct EmulatedCall {
  base::Ticks ticks;
  std::vector<StageOccupancy> stages;  ///< stages of the first replica
};
/// A call of an executable after the first, which may wait longer for the host. The figures of its stages are
/// those that a profile of it shows.
EmulatedCall emulatedCall(const compile::Compilation& compilation, std::size_t executable = 0);

/// Ticks of one call of the run. Errors: those of compileFixed.
base::Result<base::Ticks> callTicks(const compile::FixedRun& run);
/// Ticks of such a call of an executable.
base::Ticks callTicks(const compile::Compilation& compilation, std::size_t executable = 0);
/// Ticks of such a call, from two shorter ones where it has many micro-batches: once a pipeline is full, each
/// further micro-batch takes as long as those before it. It serves for comparing devices, because what
/// it misses is nearly the same on each of them.
double steadyCallTicks(const compile::Compilation& compilation, std::size_t executable = 0);

}  // namespace pipescope::plan
