#pragma once
// Sums of one device's work in a run. Rows of the device are added in any order; then place() and finish()
// follow.
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/segment_use.h"
#include "profiler/base/intervals.h"

namespace pipescope::analysis {

/// Part of a device that counts in its sums. A trace may state less of a device than its passes.
enum class Counted : std::uint8_t {
  passes,  ///< placements of stages, and what lies outside them
  slices,  ///< recorded steps of its lanes, if none of its passes was recognised
  host,    ///< work of host threads, if nothing else is known
};
/// Finds what counts on each device, by all segments of the executable, so that the sums of the parts of a
/// run add up to those of the whole run.
base::IdVector<model::DeviceId, Counted> countedOf(const Catalog& catalog, model::ExecutableId executable);

class DeviceSums {
 public:
  /// Starts the sums. Only what the device does between the start and the end of a run counts, if another
  /// tool recorded the run. A part of such a run is a run that starts later and ends earlier.
  DeviceSums(const Catalog& catalog, const model::Device& device, const model::Run& run, Counted counted);

  /// `use` stays alive until finish().
  void add(const model::Placement& placement, const model::Segment& segment, const SegmentUse& use,
           const Catalog& catalog);
  void add(const model::Transfer& transfer, bool incoming, model::LaneRole role);
  void add(const model::Wait& wait);

  /// A step of a recorded accelerator on the clock of its device.
  struct RecordedStep {
    Ticks start, end;
    model::StepKind kind;
    model::LaneRole role;  ///< role of the step's lane
  };
  struct RecordedSegment {
    model::LaneId lane;
    model::SegmentId segment;
    Ticks start, end;   ///< times of the segment; its end at most that of the run
    bool host = false;  ///< true: a host thread's
  };
  /// The times within which steps count.
  std::pair<Ticks, Ticks> bounds() const { return {from_, to_}; }
  /// The segments that addRecorded() shall have, by start, if the slices or the host threads of the device
  /// count. Nothing relates their steps, so the time between them is idle.
  std::vector<RecordedSegment> recordedSegments() const;
  /// The recognised passes of a device whose host threads count, such as a weight update, which no step
  /// stands for: their parts between two times.
  std::vector<RecordedStep> hostPasses(Ticks from, Ticks to, const Catalog& catalog) const;
  /// False if waits or transfers are compared with the steps, for which all of them must be known together.
  bool mayDivideRecorded() const { return waits_.empty() && transfers_.empty(); }
  /// Counts the steps of all lanes. A moment in which several of them work counts as one kind (placeOfKind).
  void addRecorded(std::vector<RecordedStep> steps);
  /// Ends a stretch of time: keeps only the sums of the recorded steps, so that memory does not grow with
  /// their number. No later step begins in this stretch.
  void foldRecorded();

  /// True when nothing of the run happened on the device.
  bool unused() const;

  /// A stretch of a segment, in ticks from its start.
  struct Stretch {
    model::SegmentId segment;
    Ticks from, to;
  };
  /// Adds the time by kind of placements that count as a whole (see CountedOnce). Returns what is left of the
  /// other placements, whose times by kind addKinds() takes.
  std::vector<Stretch> place();
  void addKinds(const TicksByKind& ticks);

  /// Recorded slices that began before the run or go on after it, so that only some of their steps end in it.
  struct CutSlices {
    model::SegmentId segment;
    Ticks start;     ///< start of the segment
    Ticks from, to;  ///< times of the run
  };
  const std::vector<CutSlices>& cutSlices() const { return cutSlices_; }
  /// Adds the bytes and the balance of steps, but not their times.
  void addSteps(const SegmentUse& steps);

  /// Call place() first.
  DeviceExecution finish();

 private:
  struct Placed {
    Ticks start, end;  ///< the part within the run
    Ticks origin;      ///< start of the segment
    bool whole;
    const SegmentUse* use;
    model::SegmentId segment;
  };

  bool isOutside(Ticks start, Ticks end) const { return start > to_ || (end <= from_ && start < from_); }

  /// Lanes of one role work no longer than the placements last that use them. Their sums are longer where
  /// placements overlap, as the nested rows of an imported thread do.
  void limitLanes();

  /// Sums to which the placements of a segment are added.
  struct Target {
    const SegmentUse* use = nullptr;
    model::Pass pass = model::Pass::forward;
    bool staged = false, beside = false;
    std::vector<Placed>* placed = nullptr;
    base::Intervals* work = nullptr;
    std::vector<std::pair<Ticks*, Ticks>> byLane;  ///< a sum, and what each placement adds to it
    std::vector<base::Intervals*> used;
  };
  const Target& targetOf(const model::Placement& placement, const model::Segment& segment,
                         const SegmentUse& use, const Catalog& catalog);

  DeviceExecution result_;
  /// Targets of the last segments that differ, by their segments and passes. Empty: nothing was added, as to
  /// most devices of a large system.
  std::vector<Target> targets_;
  std::map<model::LaneId, std::vector<Placed>> placements_, others_, hosts_;
  struct Used {
    std::set<model::LaneId> lanes;
    base::Intervals placements;  ///< placements with work on one of the lanes
  };
  std::map<model::LaneRole, Used> used_;
  std::vector<base::Intervals::Interval> placed_;  ///< union of the placements
  base::Intervals working_, otherWork_, hostWork_, collectives_, transfers_;
  std::map<model::LaneRole, base::Intervals> transfersByLane_;
  std::map<model::WaitCause, base::Intervals> waits_;
  std::map<model::LaneRole, base::Intervals> recordedByRole_;
  struct Folded {
    Ticks placed, communicating, exposed;
    std::map<model::LaneRole, Ticks> byRole;
  };
  Folded folded_;          ///< sums of the stretches before
  bool recorded_ = false;  ///< addRecorded() was called
  const bool measured_;
  const Counted counted_;
  Ticks from_{INT64_MIN}, to_{INT64_MAX};  ///< times of the run; unbounded for emulated runs
  std::vector<CutSlices> cutSlices_;
  std::int64_t units_ = 1;
  double balanceSum_ = 0, computeMean_ = 0;
  std::int64_t computeSteps_ = 0;
};

}  // namespace pipescope::analysis
