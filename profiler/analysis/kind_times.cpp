#include "profiler/analysis/kind_times.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

using base::Ticks;

/// The kind that counts when several steps run at the same time, most important first.
constexpr std::array<std::size_t, kStepKinds> kPriority = {kindIndex(model::StepKind::compute),
                                                           kindIndex(model::StepKind::globalExchange),
                                                           kindIndex(model::StepKind::remoteCopy),
                                                           kindIndex(model::StepKind::streamCopy),
                                                           kindIndex(model::StepKind::exchange),
                                                           kindIndex(model::StepKind::sync),
                                                           kStepKinds - 1,
                                                           kindIndex(model::StepKind::control)};

Ticks endOfStep(const model::Step& step) {
  return step.offset + step.ticks;
}

/// Adds the time of each kind. Steps may overlap, so it visits their starts and ends in order of time.
void sweepKinds(std::span<const model::Step> steps, Ticks from, Ticks to, TicksByKind& sums) {
  std::vector<std::pair<Ticks, int>> edges;  // time, kind + 1 for a start, −(kind + 1) for an end
  for (const model::Step& step : steps) {
    const Ticks start = std::max(step.offset, from), end = std::min(endOfStep(step), to);
    if (end <= start) continue;
    const int code = static_cast<int>(kindIndex(step.kind)) + 1;
    edges.emplace_back(start, code);
    edges.emplace_back(end, -code);
  }
  std::sort(edges.begin(), edges.end());
  std::array<int, kStepKinds> running{};
  Ticks at = from;
  for (const auto& [time, code] : edges) {
    for (const std::size_t kind : kPriority) {
      if (running[kind] == 0) continue;
      base::addWrapped(sums[kind], (time - at).count);
      break;
    }
    at = time;
    running[static_cast<std::size_t>((code > 0 ? code : -code) - 1)] += code > 0 ? 1 : -1;
  }
}

}  // namespace

std::size_t placeOfKind(model::StepKind kind) {
  return static_cast<std::size_t>(std::ranges::find(kPriority, kindIndex(kind)) - kPriority.begin());
}

bool isSequential(std::span<const model::Step> steps) {
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].offset < endOfStep(steps[i - 1])) return false;
  }
  return true;
}

TicksByKind exclusiveTicks(std::span<const model::Step> steps, model::Pass pass, Ticks length, Ticks from,
                           Ticks to) {
  TicksByKind sums{};
  from = std::max(from, Ticks(0));
  to = std::min(to, length);
  if (to <= from) return sums;
  if (steps.empty()) {
    sums[kindIndex(kindOfPass(pass))] = (to - from).count;
    return sums;
  }
  if (isSequential(steps)) {
    for (const model::Step& step : steps) {
      const Ticks start = std::max(step.offset, from), end = std::min(endOfStep(step), to);
      if (end > start) base::addWrapped(sums[kindIndex(step.kind)], (end - start).count);
    }
  } else {
    sweepKinds(steps, from, to, sums);
  }
  std::int64_t covered = 0;
  for (const std::int64_t ticks : sums) base::addWrapped(covered, ticks);
  base::addWrapped(sums[kindIndex(model::StepKind::control)],
                   base::wrappedDifference((to - from).count, covered));
  return sums;
}

}  // namespace pipescope::analysis
