#pragma once
// A trace prepared for drawing: the index of the widest for each of its lists. Made once, on a worker.
#include <memory>
#include <set>
#include <vector>

#include "profiler/analysis/pipeline/counters.h"
#include "profiler/analysis/timeline/tile_times.h"
#include "profiler/analysis/timeline/trace.h"
#include "profiler/geometry/folding.h"

namespace pipescope::geometry {

struct TrackIndex {
  WidestIndex activities, placements;
};

struct SegmentIndex {
  std::vector<std::vector<WidestIndex>> flame;  ///< as TraceSegment::flame
  std::vector<WidestIndex> flat;                ///< as TraceSegment::flat
  /// Steps that follow each other, whatever their lane: what the block of tiles shows.
  analysis::FlameRow tileRow;
  WidestIndex tileIndex;
  /// For each box of tileRow kTileBands numbers from 0 to 255: what share of the step the tiles of that band
  /// work. Empty where no tiles were recorded.
  std::vector<std::uint8_t> tileBands;
};

inline constexpr int kTileBands = 64;
/// Share of `length` that units work, by band: mean over the units of the band. 0 … 1.
std::vector<double> tileShares(const std::vector<analysis::UnitRun>& spans, std::int64_t units,
                               base::Ticks length, int bands);

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
  /// What single tiles do; null: not asked for.
  std::shared_ptr<const analysis::TileTimes> tiles;

  /// What there is, for a legend.
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
