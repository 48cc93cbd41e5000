#pragma once
#include <cstdint>
#include <vector>

#include "profiler/import/recorded_passes.h"

namespace pipescope::importing {

/// How far the clock of each trace must be moved so that no pass begins before its input was made.
struct ClockAlignment {
  /// Picoseconds to add to the times of each trace; the first trace keeps its clock.
  std::vector<std::int64_t> offsets;
  /// Half of the widest range of offsets that the passes allow between two traces, along the pipeline. The
  /// true offset lies within it if the clocks do not drift.
  std::int64_t uncertainty = 0;
  /// Number of passes whose input comes from another trace, and of those that begin before it was made even
  /// with these offsets.
  std::int64_t pairs = 0, contradictions = 0;
  /// False if some trace has no pass in common with the others; its clock is left as it is.
  bool complete = true;
};

/// Aligns the clocks of traces by their passes. A forward pass begins after the same micro-batch's forward
/// pass of the stage before has ended, which bounds the difference of two clocks from one side; a backward
/// pass bounds it from the other side. The middle of the range is taken. With several ranges around a circle
/// of traces the offsets are those of least squares, weighted by 1 ÷ width².
///
/// `passes` holds those of each trace, in the trace's own clock, with their steps.
ClockAlignment alignClocks(const std::vector<std::vector<RecordedPass>>& passes);

}  // namespace pipescope::importing
