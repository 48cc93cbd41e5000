#pragma once
// The bubble: the share of a flush in which devices that hold a stage do not compute.
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "profiler/analysis/pipeline/replica_rows.h"
#include "profiler/analysis/placements_by_id.h"

namespace pipescope::analysis {

/// Finds the steady part of a flush from the compute passes of the first replica. With pipeline cycles, it
/// lasts from the first to the last cycle in which every device does each kind of pass that it ever does.
/// Without such cycles, it begins when the last device has begun and ends when the first device has finished.
/// The time before it is the ramp-up, and the time after it the ramp-down.
class SteadyPart {
 public:
  void add(const model::Placement& pass);
  TimeSpan find();

 private:
  using Kind = std::pair<int, bool>;  ///< stage, forward
  using Kinds = std::map<model::DeviceId, std::set<Kind>>;
  void addKind(model::DeviceId device, const Kind& kind);
  TimeSpan steadySlots() const;

  TimeSpan flush_;
  PerDevice<TimeSpan> devices_;
  PerDevice<std::vector<Kind>> seen_;  ///< first few kinds of each device, which are found at once
  Kinds kinds_;
  std::map<int, Kinds> slots_;
  std::map<int, TimeSpan> slotSpans_;
};
/// The steady part of these passes.
TimeSpan steadyPart(std::span<const model::Placement> passes);

/// Shares of (length of the flush × devices that hold a stage).
struct Bubble {
  double rampUp = 0, steady = 0, rampDown = 0;  ///< shares before, during and after the steady part
  double exchange = 0;  ///< part of the bubble in which devices exchange data or synchronise
  double fraction() const { return rampUp + steady + rampDown; }
};
/// Mean over the iterations of the run.
Bubble meanBubble(const ReplicaRows& rows, const Catalog& catalog);

}  // namespace pipescope::analysis
