#pragma once
// A trace prepared for drawing: the index of the widest for each of its lists. Made once, on a worker.
#include <memory>
#include <set>
#include <vector>

#include "profiler/analysis/counters.h"
#include "profiler/analysis/trace.h"
#include "profiler/geometry/folding.h"

namespace pipescope::geometry {

struct TrackIndex {
  WidestIndex activities, placements;
};

struct SegmentIndex {
  std::vector<std::vector<WidestIndex>> flame;  ///< as TraceSegment::flame
  std::vector<WidestIndex> flat;                ///< as TraceSegment::flat
};

/// A micro-batch of one device iteration.
struct MicroBatchKey {
  std::int64_t run = -1;
  std::int32_t iteration = -1, microBatch = -1;
  friend auto operator<=>(const MicroBatchKey&, const MicroBatchKey&) = default;
};

/// Immutable and shared.
struct TimelineModel {
  std::shared_ptr<const analysis::Trace> trace;
  std::vector<std::vector<TrackIndex>> tracks;      ///< [device][track]
  std::vector<std::vector<WidestIndex>> transfers;  ///< [device][transfer lane]
  std::vector<SegmentIndex> segments;               ///< as Trace::segments
  /// Transfers of a micro-batch: by run, iteration and micro-batch, with the index into Trace::transfers.
  std::vector<std::pair<MicroBatchKey, std::int32_t>> transfersOf;

  /// Values over time, drawn below the device they belong to, those of the whole run at the end.
  std::shared_ptr<const std::vector<analysis::CounterSeries>> counters;

  /// What there is, for a legend.
  std::set<model::Pass> passes;
  std::set<model::StepKind> kinds;
  std::set<model::WaitCause> causes;
  std::set<model::TransferKind> transferKinds;

  static std::shared_ptr<const TimelineModel> make(
      std::shared_ptr<const analysis::Trace> trace,
      std::shared_ptr<const std::vector<analysis::CounterSeries>> counters = {});
};

}  // namespace pipescope::geometry
