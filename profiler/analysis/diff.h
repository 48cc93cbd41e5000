#pragma once
// What changed between two profiles: options and versions, the time of a step, memory.
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct ChangedOption {
  std::string path, before, after;  ///< empty: the profile does not have it
};

/// A part of a call's time on its critical path. Parts follow each other without gap from the call's start to its end,
/// so their sums are the call's span, and the differences add up to the difference of the spans, exactly.
struct TimePart {
  std::string kind;       ///< placement (a step of an operation), between_steps, transfer or call
  std::string operation;  ///< name path; empty for the other kinds
  std::string pass;       ///< of placements
  std::int32_t stage = -1;
  std::int64_t device = -1;
  std::int64_t microBatchesBefore = 0, microBatchesAfter = 0;  ///< that pass through it on the critical path
  std::int64_t before = 0, after = 0;                          ///< in Diff::ticksPerSecond
  std::int64_t delta() const { return after - before; }
};

/// The same time by micro-batch of the critical path's placements and transfers, over all iterations of the call.
struct MicroBatchPart {
  std::int32_t microBatch = -1;  ///< −1: what belongs to none
  std::int64_t before = 0, after = 0;
  std::int64_t delta() const { return after - before; }
};

struct MemoryPart {
  std::string device, category;
  std::int64_t before = 0, after = 0;  ///< bytes, sum over units
  std::int64_t delta() const { return after - before; }
};

struct Diff {
  std::vector<ChangedOption> versions;  ///< properties: tool and device model
  std::vector<ChangedOption> options;
  std::int64_t ticksPerSecond = 1;
  /// Spans of the last calls; with different timebases both in picoseconds, rounded down.
  std::int64_t before = 0, after = 0;
  std::vector<TimePart> time;      ///< parts that differ, largest change first; deltas add up to after − before
  std::vector<MicroBatchPart> microBatches;  ///< likewise: deltas add up to after − before
  std::vector<MemoryPart> memory;            ///< likewise of all memory without gaps
};

struct DiffSide {
  const model::ProfileSource& source;
  const Catalog& catalog;
  model::ExecutableId executable;
};

/// Over the last call of each executable. Parts are matched by kind, operator path, pass, stage and device,
/// micro-batches by number: what only one critical path goes through counts as nothing on the other.
Result<Diff> diff(const DiffSide& before, const DiffSide& after);

}  // namespace pipescope::analysis
