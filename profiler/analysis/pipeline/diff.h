#pragma once
// Changes between two profiles: options and versions, the time of a step, memory.
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/option_changes.h"

namespace pipescope::analysis {

/// A part of a call's time on its critical path. The parts follow each other without a gap from the call's
/// start to its end. They therefore add up to the call's length, and their differences to the difference of
/// the lengths, exactly.
struct TimePart {
  std::string kind;       ///< placement (a step of an operation), between_steps, transfer or call
  std::string operation;  ///< name path; empty for the other kinds
  std::string pass;       ///< pass of placements
  std::int32_t stage = -1;
  std::int64_t device = -1;
  /// Number of micro-batches for which the critical path crosses this part.
  std::int64_t microBatchesBefore = 0, microBatchesAfter = 0;
  std::int64_t before = 0, after = 0;  ///< times in Diff::ticksPerSecond
  std::int64_t delta() const { return after - before; }
};

/// Time of the critical path that one micro-batch takes, over all iterations of the call.
struct MicroBatchPart {
  std::int32_t microBatch = -1;  ///< −1: time that belongs to no micro-batch
  std::int64_t before = 0, after = 0;
  std::int64_t delta() const { return after - before; }
};

/// Time of the critical path by pass, over all stages and devices. Transfers and the call are parts too.
struct PassPart {
  std::string kind;  ///< a pass, "transfer", "call" or "rounding"
  std::int64_t before = 0, after = 0;
  std::int64_t delta() const { return after - before; }
};

struct MemoryChange {
  std::string device, category;
  std::int64_t index = -1;             ///< index of the device; −1: the host
  std::int64_t before = 0, after = 0;  ///< bytes, sum over units
  std::int64_t delta() const { return after - before; }
};

struct Diff {
  std::vector<ChangedOption> versions;  ///< properties: tool and device model
  std::vector<ChangedOption> options;
  std::int64_t ticksPerSecond = 1;
  /// Lengths of the last calls. If the timebases differ, both are in picoseconds, rounded down.
  std::int64_t before = 0, after = 0;
  std::int64_t samplesBefore = 0, samplesAfter = 0;  ///< samples of these calls, all replicas; 0: not known
  std::int64_t devicesBefore = 0, devicesAfter = 0;  ///< devices that hold a stage
  /// The devices are of different families. Their stages and devices have no counterparts, so parts are
  /// matched by operator alone.
  bool families = false;
  /// The stages hold other blocks or lie on other devices. Parts are then matched wherever they run.
  bool splits = false;
  /// True when the calls have different numbers of samples; times are then compared per sample.
  bool perSample() const { return samplesBefore > 0 && samplesAfter > 0 && samplesBefore != samplesAfter; }
  double secondsPerSampleBefore(std::int64_t ticks) const { return perSampleOf(ticks, samplesBefore); }
  double secondsPerSampleAfter(std::int64_t ticks) const { return perSampleOf(ticks, samplesAfter); }
  template <class Part>
  double changePerSample(const Part& part) const {
    return secondsPerSampleAfter(part.after) - secondsPerSampleBefore(part.before);
  }

  std::vector<PassPart> passes;  ///< parts of the critical path by pass
  /// Parts that differ, largest change first (per sample if perSample()). Deltas add up to after − before.
  std::vector<TimePart> time;
  std::vector<MicroBatchPart> microBatches;  ///< deltas add up to after − before
  std::vector<MemoryChange> memory;          ///< all memory, excluding gaps

 private:
  double perSampleOf(std::int64_t ticks, std::int64_t samples) const {
    return samples > 0 ? static_cast<double>(ticks) / static_cast<double>(ticksPerSecond) /
                             static_cast<double>(samples)
                       : 0;
  }
};

struct CriticalLink;  // waits.h

struct DiffSide {
  const model::ProfileSource& source;
  const Catalog& catalog;
  model::ExecutableId executable;
  const std::vector<CriticalLink>* path = nullptr;  ///< path of the last call, if it is known already
};

/// Compares everything that needs no rows of calls: all but the parts of time and memory.
Result<Diff> diffOfCalls(const DiffSide& before, const DiffSide& after);

/// Compares the last calls of two executables. Parts are matched by kind, name path of the operation, pass,
/// stage and device; without stage and device if the splits differ, and devices of different families only by
/// operator and pass. A part that lies on one
/// critical path alone counts as 0 on the other.
Result<Diff> diff(const DiffSide& before, const DiffSide& after);

}  // namespace pipescope::analysis
