#include "views/pages/parts/trace/trace_steps.h"

#include <algorithm>

#include "profiler/geometry/element.h"
#include "views/pages/parts/layout/run_toolbar.h"

namespace pipescope::pages {

int stepAt(const analysis::Trace& trace, base::Ticks time) {
  const auto& steps = trace.iterations;
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time,
                       [](base::Ticks at, const analysis::IterationSpan& step) { return at < step.start; });
  if (after == steps.begin()) return steps.empty() ? -1 : 0;
  return static_cast<int>(after - steps.begin()) - 1;
}

QString stepText(const analysis::Trace& trace, int index) {
  const analysis::IterationSpan& step = geometry::at(trace.iterations, index);
  if (trace.stepsMarked) {
    const QString own = QObject::tr("Training step %1").arg(step.iteration);
    return trace.iterations.size() == 1 ? own
                                        : QObject::tr("%1 of %2–%3")
                                              .arg(own)
                                              .arg(trace.iterations.front().iteration)
                                              .arg(trace.iterations.back().iteration);
  }
  std::int32_t last = 0;
  for (const analysis::IterationSpan& other : trace.iterations)
    last = other.run == step.run ? std::max(last, other.iteration) : last;
  return stepOf(step.iteration, last);
}

QString stepsText(const analysis::Trace& trace, base::Ticks from, base::Ticks to) {
  constexpr std::int64_t kLeastPart = 100;
  const auto& steps = trace.iterations;
  int first = -1, last = -1;
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    const analysis::IterationSpan& step = geometry::at(steps, i);
    const base::Ticks visible = std::min(step.end, to) - std::max(step.start, from);
    if (visible * kLeastPart <= to - from) continue;
    if (first < 0) first = i;
    last = i;
  }
  if (first < 0) return {};
  if (first == last) return stepText(trace, first);
  if (first == 0 && last + 1 == static_cast<int>(steps.size())) return {};
  return (trace.stepsMarked ? QObject::tr("Training steps %1–%2 of %3–%4")
                            : QObject::tr("Iterations %1–%2 of %3–%4"))
      .arg(geometry::at(steps, first).iteration)
      .arg(geometry::at(steps, last).iteration)
      .arg(steps.front().iteration)
      .arg(steps.back().iteration);
}

std::optional<model::RunId> neighbourCall(const std::vector<const model::Run*>& runs, model::RunId of,
                                          int direction) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i]->id != of) continue;
    const auto next = static_cast<std::ptrdiff_t>(i) + direction;
    if (next < 0 || next >= static_cast<std::ptrdiff_t>(runs.size())) return std::nullopt;
    return runs[static_cast<std::size_t>(next)]->id;
  }
  return std::nullopt;
}

}  // namespace pipescope::pages
