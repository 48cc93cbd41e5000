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
  std::int32_t last = 0;
  for (const analysis::IterationSpan& other : trace.iterations)
    last = other.run == step.run ? std::max(last, other.iteration) : last;
  return stepOf(step.iteration, last);
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
