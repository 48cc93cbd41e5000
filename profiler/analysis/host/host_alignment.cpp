#include "profiler/analysis/host/host_alignment.h"

#include <algorithm>

namespace pipescope::analysis {
namespace {

__extension__ using WideTime = __int128;  // products of two times

/// The value at `at` on the line from (fromA, fromB) to (toA, toB).
std::int64_t between(std::int64_t at, std::int64_t fromA, std::int64_t toA, std::int64_t fromB,
                     std::int64_t toB) {
  if (toA <= fromA) return fromB;
  const WideTime part = (static_cast<WideTime>(at) - fromA) * (static_cast<WideTime>(toB) - fromB);
  return static_cast<std::int64_t>(fromB + part / (static_cast<WideTime>(toA) - fromA));
}

}  // namespace

HostAlignment::HostAlignment(std::vector<model::Run> calls, std::int64_t zero) {
  std::ranges::stable_sort(calls, {}, &model::Run::wallStartNs);
  for (const model::Run& call : calls) {
    std::int64_t start = 0, end = 0;
    if (call.wallEndNs <= call.wallStartNs || call.end <= call.start ||
        __builtin_sub_overflow(call.wallStartNs, zero, &start) ||
        __builtin_sub_overflow(call.wallEndNs, zero, &end))
      continue;
    if (!knots_.empty() && (start < knots_.back().wall || call.start.count < knots_.back().device)) continue;
    knots_.push_back({start, call.start.count});
    knots_.push_back({end, call.end.count});
  }
}

std::optional<std::pair<Ticks, Ticks>> HostAlignment::onDevices(Ticks start, Ticks end) const {
  if (empty() || end < start || end.count < knots_.front().wall || start.count > knots_.back().wall)
    return {};
  // The last knot at or before the moment; of a moment at a knot, the part of the time that follows.
  const auto at = [&](std::int64_t wall, bool isEnd) {
    wall = std::clamp(wall, knots_.front().wall, knots_.back().wall);
    // The end of a span belongs to the part before it, the start to the part after it.
    const auto next = isEnd ? std::ranges::lower_bound(knots_, wall, {}, &Knot::wall)
                            : std::ranges::upper_bound(knots_, wall, {}, &Knot::wall);
    if (next == knots_.begin()) return knots_.front().device;
    if (next == knots_.end()) return knots_.back().device;
    const Knot &from = *(next - 1), &to = *next;
    return between(wall, from.wall, to.wall, from.device, to.device);
  };
  const Ticks from(at(start.count, false)), to(at(end.count, true));
  if (start == end) return std::pair(from, from);
  if (to <= from) return {};
  return std::pair(from, to);
}

Ticks HostAlignment::onHost(Ticks time) const {
  if (empty()) return {};
  if (time.count <= knots_.front().device) return Ticks(knots_.front().wall);
  if (time.count >= knots_.back().device) return Ticks(knots_.back().wall);
  const auto next = std::ranges::upper_bound(knots_, time.count, {}, &Knot::device);
  const Knot &from = *(next - 1), &to = *next;
  return Ticks(between(time.count, from.device, to.device, from.wall, to.wall));
}

Ticks HostAlignment::endOnHost(Ticks time) const {
  if (empty()) return {};
  if (time.count <= knots_.front().device) return Ticks(knots_.front().wall);
  const auto next = std::ranges::lower_bound(knots_, time.count, {}, &Knot::device);
  if (next == knots_.end()) return Ticks(knots_.back().wall);
  const Knot &from = *(next - 1), &to = *next;
  return Ticks(between(time.count, from.device, to.device, from.wall, to.wall));
}

}  // namespace pipescope::analysis
