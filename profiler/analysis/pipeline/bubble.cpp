#include "profiler/analysis/pipeline/bubble.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "profiler/base/intervals.h"

namespace pipescope::analysis {
namespace {

double at(Ticks ticks) {
  return static_cast<double>(ticks.count);
}

Bubble bubbleIn(const ReplicaRows& rows, int iteration, std::span<const model::Placement> placements,
                const std::set<model::DeviceId>& devices, bool measured) {
  Bubble bubble;
  const TimeSpan whole = flushOf(placements);
  if (whole.end <= whole.start || devices.empty()) return bubble;
  const auto computes = [&](const model::Placement& p) {
    return model::isComputePass(p.pass) && devices.contains(p.device);
  };
  std::vector<model::Placement> passes;  // passes alone, if there are other placements
  const bool all = std::ranges::all_of(placements, computes);
  if (!all) std::ranges::copy_if(placements, std::back_inserter(passes), computes);
  const TimeSpan steady = steadyPart(all ? placements : std::span<const model::Placement>(passes));
  double up = 0, mid = 0, down = 0, exchange = 0;
  const auto addBusy = [&](const TimeSpan& span) {
    up += span.overlap(whole.start, steady.start);
    mid += span.overlap(steady.start, steady.end);
    down += span.overlap(steady.end, whole.end);
  };
  std::map<model::DeviceId, base::Intervals> recorded;  // passes of a recorded run may overlap
  for (const model::Placement& p : placements) {
    const TimeSpan span{at(p.start), at(p.end)};
    if (p.pass == model::Pass::sync) exchange += span.overlap(whole.start, whole.end);
    if (!model::isComputePass(p.pass)) continue;
    if (measured) {
      recorded[p.device].add(p.start, p.end);
    } else {
      addBusy(span);
    }
  }
  for (const auto& [device, busy] : recorded)
    for (const auto& [start, end] : busy.joined()) addBusy({at(start), at(end)});
  // A device that waits for exchange does not compute, because copies are in progress. So does one whose
  // collectives in a pass are longer because of them.
  std::vector<model::PlacementId> computed;  // ascending; made for the first wait that needs it
  const auto slowed = [&](const model::Wait& w) {
    if (w.cause != model::WaitCause::collective || w.waitedForDevice != w.device || measured) return false;
    if (computed.empty()) {
      for (const model::Placement& p : placements)
        if (model::isComputePass(p.pass)) computed.push_back(p.id);
      std::ranges::sort(computed);
    }
    return std::ranges::binary_search(computed, w.waitedFor);
  };
  for (const model::Wait& w : rows.waits) {
    if (w.iteration == iteration && (w.cause == model::WaitCause::exchange || slowed(w)))
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
  std::map<model::DeviceId, base::Intervals> busy;
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

void SteadyPart::add(const model::Placement& pass) {
  const Kind kind{pass.stage, pass.pass == model::Pass::forward};
  addKind(pass.device, kind);
  devices_[pass.device].widen(pass);
  flush_.widen(pass);
  if (pass.slot < 0) return;
  slots_[pass.slot][pass.device].insert(kind);
  slotSpans_[pass.slot].widen(pass);
}

void SteadyPart::addKind(model::DeviceId device, const Kind& kind) {
  constexpr std::size_t kMostAtOnce = 16;
  std::vector<Kind>& seen = seen_[device];
  if (std::ranges::find(seen, kind) != seen.end()) return;
  if (seen.size() < kMostAtOnce) seen.push_back(kind);
  kinds_[device].insert(kind);
}

/// The time in which each slot's devices do all that they ever do; empty: there are no such slots.
TimeSpan SteadyPart::steadySlots() const {
  TimeSpan steady;
  for (const auto& [slot, doing] : slots_) {
    if (doing != kinds_) continue;
    const TimeSpan& span = slotSpans_.at(slot);
    steady.start = std::min(steady.start, span.start);
    steady.end = std::max(steady.end, span.end);
  }
  return steady;
}

TimeSpan SteadyPart::find() {
  TimeSpan steady = steadySlots();
  if (!steady.empty() || kinds_.empty()) return steady;
  steady = flush_;
  devices_.forEach([&steady](const TimeSpan& span) {
    if (span.start > span.end) return;  // nothing runs there
    steady.start = std::max(steady.start, span.start);
    steady.end = std::min(steady.end, span.end);
  });
  if (steady.end < steady.start) steady.start = steady.end = (steady.start + steady.end) / 2;
  return steady;
}

TimeSpan steadyPart(std::span<const model::Placement> passes) {
  SteadyPart steady;
  for (const model::Placement& pass : passes) steady.add(pass);
  return steady.find();
}

Bubble meanBubble(const ReplicaRows& rows, const Catalog& catalog) {
  const std::set<model::DeviceId> devices = rows.devices();
  const double n = static_cast<double>(rows.iterations.size());
  Bubble mean;
  for (const auto& [iteration, placements] : rows.iterations) {
    const Bubble bubble = bubbleIn(rows, iteration, placements, devices, catalog.measured());
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
