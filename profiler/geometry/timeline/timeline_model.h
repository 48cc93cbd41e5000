#pragma once
// A trace with an index of the widest item for each of its lists. It is made once, on a worker.
#include <memory>
#include <set>
#include <vector>

#include "profiler/analysis/pipeline/counters.h"
#include "profiler/analysis/timeline/tile_times.h"
#include "profiler/analysis/timeline/trace.h"
#include "profiler/geometry/timeline/folding.h"

namespace pipescope::geometry {

struct TrackIndex {
  WidestIndex activities, placements;
};

struct SegmentIndex {
  std::vector<std::vector<WidestIndex>> flame;  ///< indices of TraceSegment::flame
  std::vector<WidestIndex> flat;                ///< indices of TraceSegment::flat
  /// The steps of all lanes that follow each other without overlap. The rows of tiles show these.
  analysis::FlameRow tileRow;
  WidestIndex tileIndex;
  /// Shares with kTileBands numbers for each box of tileRow: the share of the step, from 0 to 255, during
  /// which the tiles of a band work. Empty if no tiles were recorded.
  std::vector<std::uint8_t> tileBands;
};

inline constexpr int kTileBands = 64;
/// Returns for each band of units the mean share of `length` during which its units work, from 0 to 1.
std::vector<double> tileShares(const std::vector<analysis::UnitTicks>& spans, std::int64_t units,
                               base::Ticks length, int bands);

/// Identifies a micro-batch of one device iteration.
struct MicroBatchKey {
  std::int64_t run = -1;
  std::int32_t iteration = -1, microBatch = -1;
  friend auto operator<=>(const MicroBatchKey&, const MicroBatchKey&) = default;
};

/// A trace and its indices, immutable and shared.
struct TimelineModel {
  std::shared_ptr<const analysis::Trace> trace;
  std::vector<std::vector<TrackIndex>> tracks;      ///< [device][track]
  std::vector<std::vector<WidestIndex>> transfers;  ///< [device][transfer lane]
  std::vector<SegmentIndex> segments;               ///< indices of Trace::segments
  /// Transfers sorted by run, iteration and micro-batch; the number is an index into Trace::transfers.
  std::vector<std::pair<MicroBatchKey, std::int32_t>> transfersOf;

  /// Values over time. A device's counters are drawn below the device, those of the whole run at the end.
  std::shared_ptr<const std::vector<analysis::CounterSeries>> counters;
  /// Times of single tiles; null: nobody asked for them.
  std::shared_ptr<const analysis::TileTimes> tiles;

  /// Kinds that occur in the trace, for the legend.
  std::set<model::Pass> passes;
  std::set<model::StepKind> kinds;
  std::set<model::WaitCause> causes;
  std::set<model::TransferKind> transferKinds;

  static std::shared_ptr<const TimelineModel> make(
      std::shared_ptr<const analysis::Trace> trace,
      std::shared_ptr<const std::vector<analysis::CounterSeries>> counters = {},
      std::shared_ptr<const analysis::TileTimes> tiles = {});
};

}  // namespace pipescope::geometry
