#pragma once
// Content of a timeline: the runs of an executable as sorted lists for each device. Steps are stored once for
// each segment.
//
// A trace holds placements, waits and transfers, never expanded steps: a step of a placement is drawn by
// adding the placement's start to the step's offset in its segment. Times of a trace are ticks of its axis,
// which is the timebase of device 0; rows of devices with another timebase are converted when they are loaded
// (rounded up, in 128 bits). Offsets within a segment stay in ticks of the segment's device: see
// DeviceTrace::axisTicksPerTick.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/iterations.h"
#include "profiler/analysis/segment_use.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

/// A box of a flame row: a step, or a part of the name path that neighbouring steps share.
struct FlameBox {
  Ticks offset, end;       ///< times within the segment, in device ticks
  std::int32_t name = 0;   ///< index into Trace::names
  std::int32_t step = -1;  ///< index into TraceSegment::steps; −1: a group of steps
  model::StepKind kind = model::StepKind::compute;  ///< kind with most of a group's time
};

/// Boxes that do not overlap, ascending.
struct FlameRow {
  std::vector<FlameBox> boxes;
  /// Index of the longest box: its colour stands for the row when it is too narrow.
  std::int32_t widest = -1;
};

/// A segment with its steps; shared by all its placements.
struct TraceSegment {
  model::SegmentId id;
  std::string name;
  model::Pass pass = model::Pass::forward;
  std::int32_t stage = -1;
  model::LaneId lane;
  Ticks ticks;
  std::vector<model::Step> steps;            ///< sorted by offset
  std::vector<std::int32_t> stepNames;       ///< name path of each step, index into Trace::names
  std::vector<std::int32_t> stepPrograms;    ///< kind of program of each step, index into Trace::names
  std::vector<std::vector<FlameRow>> flame;  ///< [TraceTrack::flameLanes][level]
  std::vector<FlameRow> flat;                ///< [TraceTrack::flatLanes]
  SegmentUse use;                            ///< sums of `steps`
  /// True when the segment has each of its steps. Otherwise it has those of the window, or boxes that stand
  /// for many.
  bool whole = true;
};

/// Neighbouring placements of one pass of one micro-batch: the box labelled F3.
struct PassSpan {
  Ticks start, end;
  std::int32_t firstPlacement = 0, placements = 0;  ///< range of TraceTrack::placements
};

struct TracePlacement {
  model::PlacementId id;
  Ticks start, end;
  std::int32_t segment = -1;  ///< index into Trace::segments
  model::RunId run;
  std::int32_t replica = 0, stage = -1, microBatch = -1, iteration = -1, slot = -1;
  model::Pass pass = model::Pass::forward;
};

/// Activity of a track: a pass, a wait, or only transfers. Activities ascend and do not overlap.
struct Activity {
  enum class Kind : std::uint8_t { pass, wait, transfer, far };
  Ticks start, end;
  Kind kind = Kind::pass;
  /// Index into TraceTrack::passes, waits or far; of transfers: index of the longest one in Trace::transfers.
  std::int32_t index = 0;
};

/// Stands for many neighbouring placements in a trace that is shown from afar.
struct FarSpan {
  model::Pass pass = model::Pass::forward;  ///< the pass with most of their time
  bool waits = false;                       ///< true if the device waits for more than half of the time
  model::WaitCause cause = model::WaitCause::slowerStage;
  std::int64_t rows = 0;  ///< placements
  double busy = 0;        ///< share of the time that the placements fill
};

struct FlameLane {
  model::LaneId lane;  ///< none: all lanes of the track, because its steps follow each other
  std::int32_t depth = 0;
};

/// Placements of a device that do not overlap: all of them, or those of one lane if some overlap. A lane
/// whose own placements overlap has several tracks.
struct TraceTrack {
  model::LaneId lane;  ///< none: all lanes of the device
  std::string name;
  std::vector<TracePlacement> placements;
  std::vector<PassSpan> passes;
  std::vector<model::Wait> waits;  ///< empty on all tracks but the first
  std::vector<Activity> activities;
  std::vector<FarSpan> far;  ///< spans of a trace that is far
  std::vector<FlameLane> flameLanes;
  std::vector<model::LaneId> flatLanes;  ///< lanes that have steps, in the order of their ids
};

/// Transfers between a device and one other device, in one direction. Transfers that overlap lie on different
/// lanes.
struct TransferLane {
  static constexpr int kMost = 8;  ///< lanes of one peer and direction
  model::DeviceId peer;            ///< none: the host
  bool outgoing = true;
  std::vector<std::int32_t> transfers;  ///< indices into Trace::transfers, by start
};

struct DeviceTrace {
  model::DeviceId id;
  std::string name, kind, unitName;
  std::string shortName;  ///< name without what the names of all devices have in common
  std::int64_t units = 1, ticksPerSecond = 1'000'000;
  double axisTicksPerTick = 1;
  std::vector<std::int32_t> stages;
  std::int32_t replica = -1;  ///< −1: the executable does not use the device
  std::int32_t rank = 0;      ///< number among the ranks of the place; the first stands for all
  /// False: the profile leaves out its replica, which does the same at the same time as a recorded one.
  bool recorded = true;
  std::int32_t alike = -1;         ///< index of an earlier device that does the same (see alikeDevices)
  std::vector<TraceTrack> tracks;  ///< tracks, at least one; those of a lane follow each other
  /// Placements of a large trace that overlap others of their lane. They count and are not drawn, because
  /// another track would move all rows below it.
  std::vector<TracePlacement> crowded;
  std::vector<TransferLane> transferLanes;
  /// Transfers for which there is no lane: too many overlap, or the rows of a large trace are fixed. They
  /// count and are not drawn. Those of one entry may overlap.
  std::vector<TransferLane> crowdedTransfers;
};

/// Place of a placement in the trace.
struct PlacementPlace {
  std::int32_t device = 0, track = 0, index = 0;
};

struct Trace {
  model::ExecutableId executable;
  std::int64_t ticksPerSecond = 1'000'000;
  Ticks start, end;  ///< ends of the runs that were loaded
  std::vector<model::Run> runs;
  std::vector<IterationSpan> iterations;  ///< sorted by start
  /// True if these are training steps that the host of a recorded run marks, with the numbers that it states.
  bool stepsMarked = false;
  std::vector<DeviceTrace> devices;        ///< devices of the target, in their order
  std::vector<model::Transfer> transfers;  ///< sorted by start, in axis ticks
  std::vector<model::Transfer> launches;   ///< arrows from launches to kernels, sorted by end, in axis ticks
  std::vector<TraceSegment> segments;
  std::vector<std::string> names;
  std::int64_t damagedRows = 0;  ///< rows that were left out because they contradict others
  std::int64_t replicas = 1;     ///< replicas of the executable
  std::int64_t ranks = 1;        ///< chips that share the work of a place
  /// Recorded ranks of a place. The replica of a device is that of its data × these + its rank.
  std::int64_t recordedRanks = 1;
  std::vector<std::int32_t> recordedReplicas;  ///< ascending; the others do the same as one of these
  /// The times whose rows were read one by one: the whole runs, or the window of the request.
  Ticks loadedFrom, loadedTo;
  /// True if there are too many placements to read one by one. Activities are far, and there are no waits or
  /// transfers.
  bool far = false;
  /// True if there are too many steps, so some segments have boxes that stand for many.
  bool farSteps = false;
  /// True if the runs are too long to read at once. Tracks and rows then do not depend on the window, so that
  /// the picture keeps its rows when the window moves.
  bool large = false;

  /// Operators that chips of several ranks or replicas do together.
  std::unordered_map<model::OperatorId, model::Collective> collectives;

  std::optional<PlacementPlace> find(model::PlacementId id) const;
  const TracePlacement& at(const PlacementPlace& place) const {
    return devices[static_cast<std::size_t>(place.device)]
        .tracks[static_cast<std::size_t>(place.track)]
        .placements[static_cast<std::size_t>(place.index)];
  }
  /// The segment of a placement; null if the file has lost it.
  const TraceSegment* segmentOf(const TracePlacement& placement) const {
    return placement.segment < 0 ? nullptr : &segments[static_cast<std::size_t>(placement.segment)];
  }
  /// Index into `devices` of the device of a lane or id; −1: the host, or unknown.
  std::int32_t deviceIndex(model::DeviceId id) const;
  std::int32_t deviceOfLane(model::LaneId lane) const;
  base::Timebase timebase() const { return {ticksPerSecond}; }

  std::vector<std::pair<model::PlacementId, PlacementPlace>> places;  ///< sorted by id
  std::unordered_map<model::LaneId, std::int32_t> lanes;              ///< device index by lane
  std::unordered_map<model::LaneId, std::string> laneNames;
};

/// The runs of an executable to read: from firstRun to lastRun, or its last run if both are none.
struct TraceRequest {
  static constexpr std::int64_t kUnbounded = std::int64_t{1} << 62;
  model::ExecutableId executable;
  model::RunId firstRun, lastRun;
  /// Most placements, waits and transfers (together), and most steps, that may be read one by one. If there
  /// are more, the profile's LevelNodes stand for them.
  std::int64_t mostRows = kUnbounded, mostSteps = kUnbounded;
  /// The trace that an earlier request without a window gave, if its runs were too large. This request then
  /// reads only [from, to), in ticks of the axis, and takes complete segments from the earlier trace.
  std::shared_ptr<const Trace> large;
  Ticks from, to;
};

/// Reads the runs' blocks and the steps of the executable's segments. An error says what could not be read. A
/// run without placements gives a trace without placements.
Result<std::shared_ptr<const Trace>> loadTrace(const model::ProfileSource& source, const Catalog& catalog,
                                               const TraceRequest& request, base::Progress& progress);

/// Index of the first element that ends after `time`, in a list that ascends and does not overlap.
template <class List>
std::size_t firstEndingAfter(const List& list, Ticks time) {
  std::size_t low = 0, high = list.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (list[middle].end > time) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Sums of one device over [from, to). Every moment counts once.
struct RangeStatistics {
  std::int32_t device = 0;  ///< index into Trace::devices
  Ticks total;              ///< length of the range, to − from, in axis ticks
  TicksByKind byKind{};     ///< axis ticks; transfers between placements count as global exchange
  Ticks idle;               ///< the rest
  Bytes streamIn, streamOut, globalIn, globalOut;  ///< bytes of steps and transfers that end in the range
  double tileBalance = 0;  ///< mean over compute steps of mean ÷ slowest unit; 0: none
  /// Ticks of computing units ÷ (units × total). For a device without units: time in which it computes ÷
  /// total.
  double parallelEfficiency = 0;
};

/// One row for each recorded device of an emulated run. The cost grows with the placements in the range.
std::vector<RangeStatistics> rangeStatistics(const Trace& trace, Ticks from, Ticks to);

}  // namespace pipescope::analysis
