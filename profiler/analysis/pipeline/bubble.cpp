#include "profiler/analysis/pipeline/bubble.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "profiler/analysis/intervals.h"
#include "profiler/analysis/placements_by_id.h"

namespace pipescope::analysis {
namespace {

double at(Ticks ticks) {
  return static_cast<double>(ticks.count);
}

Bubble bubbleIn(const ReplicaRows& rows, int iteration, std::span<const model::Placement> placements,
                const std::set<model::DeviceId>& devices) {
  Bubble bubble;
  const TimeSpan whole = flushOf(placements);
  if (whole.end <= whole.start || devices.empty()) return bubble;
  const auto computes = [&](const model::Placement& p) {
    return model::isComputePass(p.pass) && devices.contains(p.device);
  };
  std::vector<model::Placement> passes;  // if not all are
  const bool all = std::ranges::all_of(placements, computes);
  if (!all) std::ranges::copy_if(placements, std::back_inserter(passes), computes);
  const TimeSpan steady = steadyPart(all ? placements : std::span<const model::Placement>(passes));
  double up = 0, mid = 0, down = 0, exchange = 0;
  for (const model::Placement& p : placements) {
    const TimeSpan span{at(p.start), at(p.end)};
    if (p.pass == model::Pass::sync) exchange += span.overlap(whole.start, whole.end);
    if (!model::isComputePass(p.pass)) continue;
    up += span.overlap(whole.start, steady.start);
    mid += span.overlap(steady.start, steady.end);
    down += span.overlap(steady.end, whole.end);
  }
  // A device that waits for exchange does not compute, because copies are in progress.
  for (const model::Wait& w : rows.waits) {
    if (w.cause == model::WaitCause::exchange && w.iteration == iteration)
      exchange += TimeSpan{at(w.start), at(w.end)}.overlap(whole.start, whole.end);
  }
  const double deviceTime = (whole.end - whole.start) * static_cast<double>(devices.size());
  const auto lost = [&](double from, double to, double busy) {
    return ((to - from) * static_cast<double>(devices.size()) - busy) / deviceTime;
  };
  bubble.rampUp = lost(whole.start, steady.start, up);
  bubble.steady = lost(steady.start, steady.end, mid);
  bubble.rampDown = lost(steady.end, whole.end, down);
  bubble.exchange = exchange / deviceTime;
  return bubble;
}

/// Ticks within the flush in which transfers occupy the devices; incoming and outgoing ones may overlap.
double transferTicks(const ReplicaRows& rows, const Catalog& catalog, int iteration,
                     const std::set<model::DeviceId>& devices, const TimeSpan& flush) {
  std::map<model::DeviceId, Intervals> busy;
  const Ticks from(std::llround(flush.start)), to(std::llround(flush.end));
  for (const model::Transfer& t : rows.transfers) {
    if (t.iteration != iteration) continue;
    for (const model::LaneId lane : {t.fromLane, t.toLane})
      busy[catalog.deviceOf(lane)].add(std::max(t.start, from), std::min(t.end, to));
  }
  double sum = 0;
  for (const auto& [device, transfers] : busy) {
    if (devices.contains(device)) sum += at(transfers.unionLength());
  }
  return sum;
}

}  // namespace

namespace {

/// The time in which each slot's devices do all that they ever do; empty: there are no slots.
TimeSpan steadySlots(std::span<const model::Placement> passes) {
  TimeSpan steady;
  if (std::ranges::none_of(passes, [](const model::Placement& p) { return p.slot >= 0; })) return steady;
  std::map<model::DeviceId, std::set<std::pair<int, bool>>> kinds;  // device → (stage, forward)
  std::map<int, std::map<model::DeviceId, std::set<std::pair<int, bool>>>> slots;
  std::map<int, TimeSpan> slotSpans;
  for (const model::Placement& p : passes) {
    const std::pair kind{p.stage, p.pass == model::Pass::forward};
    kinds[p.device].insert(kind);
    if (p.slot < 0) continue;
    slots[p.slot][p.device].insert(kind);
    slotSpans[p.slot].widen(p);
  }
  for (const auto& [slot, doing] : slots) {
    if (doing != kinds) continue;
    steady.start = std::min(steady.start, slotSpans[slot].start);
    steady.end = std::max(steady.end, slotSpans[slot].end);
  }
  return steady;
}

}  // namespace

TimeSpan steadyPart(std::span<const model::Placement> passes) {
  TimeSpan steady = steadySlots(passes);
  if (!steady.empty() || passes.empty()) return steady;
  PerDevice<TimeSpan> deviceSpans;
  for (const model::Placement& p : passes) deviceSpans[p.device].widen(p);
  steady = flushOf(passes);
  deviceSpans.forEach([&steady](const TimeSpan& span) {
    if (span.start > span.end) return;  // nothing runs there
    steady.start = std::max(steady.start, span.start);
    steady.end = std::min(steady.end, span.end);
  });
  if (steady.end < steady.start) steady.start = steady.end = (steady.start + steady.end) / 2;
  return steady;
}

Bubble meanBubble(const ReplicaRows& rows, const Catalog& catalog) {
  const std::set<model::DeviceId> devices = rows.devices();
  const double n = static_cast<double>(rows.iterations.size());
  Bubble mean;
  for (const auto& [iteration, placements] : rows.iterations) {
    const Bubble bubble = bubbleIn(rows, iteration, placements, devices);
    mean.rampUp += bubble.rampUp / n;
    mean.steady += bubble.steady / n;
    mean.rampDown += bubble.rampDown / n;
    mean.exchange += bubble.exchange / n;
    const TimeSpan flush = flushOf(placements);
    if (rows.executable->scheduleKind == model::ScheduleKind::barrier && !flush.empty()) {
      mean.exchange += transferTicks(rows, catalog, iteration, devices, flush) /
                       (flush.length() * static_cast<double>(devices.size())) / n;
    }
  }
  mean.exchange = std::min(mean.exchange, mean.fraction());
  return mean;
}

}  // namespace pipescope::analysis
