#include "profiler/analysis/pipeline/recorded/measured_waits.h"

#include <algorithm>

namespace pipescope::analysis {

using model::Pass;
using model::WaitCause;

MeasuredWaits::MeasuredWaits(const std::vector<model::Placement>& placements) {
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, Pass>;
  std::map<Key, const model::Placement*> made;
  for (const model::Placement& p : placements) {
    byId_[p.id] = &p;
    if (p.stage < 0 || !(model::isComputePass(p.pass) || p.pass == Pass::update)) continue;
    byDevice_[p.device].push_back({&p, Ticks(INT64_MAX)});
    made[{p.replica, p.iteration, p.microBatch, p.stage, p.pass}] = &p;
  }
  const auto ready = [&](const model::Placement& p) {
    if (p.pass != Pass::forward && p.pass != Pass::backward) return Ticks(INT64_MAX);
    const auto found = made.find(
        {p.replica, p.iteration, p.microBatch, p.stage + (p.pass == Pass::forward ? -1 : 1), p.pass});
    return found == made.end() || found->second->device == p.device ? Ticks(INT64_MAX) : found->second->end;
  };
  for (auto& [device, passes] : byDevice_) {
    std::stable_sort(passes.begin(), passes.end(),
                     [](const Following& a, const Following& b) { return a.pass->start < b.pass->start; });
    for (std::size_t i = passes.size(); i-- > 1;)
      if (passes[i].pass->iteration == passes[i - 1].pass->iteration)
        passes[i - 1].laterReady = std::min(passes[i].laterReady, ready(*passes[i].pass));
  }
}

const MeasuredWaits::Following* MeasuredWaits::following(const model::Wait& wait) const {
  const auto device = byDevice_.find(wait.device);
  if (device == byDevice_.end()) return nullptr;
  const auto next = std::partition_point(device->second.begin(), device->second.end(),
                                         [&](const Following& f) { return f.pass->start < wait.end; });
  return next == device->second.end() ? nullptr : &*next;
}

std::string MeasuredWaits::reasonOf(const model::Wait& wait) const {
  const Following* const next = following(wait);
  const auto waitedFor = byId_.find(wait.waitedFor);
  switch (wait.cause) {
    case WaitCause::fill:
    case WaitCause::slowerStage:
      // A late sender is the pass that makes the input; of a late receiver only the device is known.
      if (waitedFor == byId_.end() && wait.waitedForDevice.valid()) return "late receiver";
      return "late sender";
    case WaitCause::exchange:
      return wait.waitedForDevice.valid() || waitedFor != byId_.end() ? "transfer"
                                                                      : "other side not recorded";
    case WaitCause::collective:
      return waitedFor == byId_.end() ? "collective" : "collective straggler";
    case WaitCause::host:
      return next != nullptr && next->pass->pass == Pass::forward && next->pass->stage == 0 ? "input pipeline"
                                                                                            : "host launch";
    default:
      return model::toString(wait.cause);
  }
}

Ticks MeasuredWaits::blockedDuring(const model::Wait& wait) const {
  const bool message = wait.cause == WaitCause::fill || wait.cause == WaitCause::slowerStage ||
                       wait.cause == WaitCause::exchange;
  const Following* const next = message && wait.waitedFor.valid() ? following(wait) : nullptr;
  if (next == nullptr || next->laterReady >= wait.end) return Ticks(0);
  return wait.end - std::max(wait.start, next->laterReady);
}

}  // namespace pipescope::analysis
