#include "profiler/analysis/iterations.h"

#include <algorithm>

namespace pipescope::analysis {

std::vector<IterationSpan> IterationEnds::spansOf(const std::vector<model::Run>& runs,
                                                  std::optional<std::int32_t> last) const {
  std::vector<IterationSpan> spans;
  for (const model::Run& run : runs) {
    const auto recorded = starts_.find(run.id);
    Ticks from = recorded == starts_.end() ? run.start : std::max(run.start, recorded->second);
    const std::size_t first = spans.size();
    for (auto next = known_.lower_bound({run.id, 0}); next != known_.end() && next->first.first == run.id;
         ++next) {
      const Ticks end = std::clamp(next->second.end, from, std::max(from, run.end));
      spans.push_back({run.id, next->first.second, from, end, next->second.placements});
      from = end;
    }
    if (spans.size() > first && recorded == starts_.end() && (!last || spans.back().iteration == *last))
      spans.back().end = std::max(from, run.end);
  }
  std::ranges::stable_sort(spans, {}, &IterationSpan::start);
  return spans;
}

std::vector<IterationSpan> iterationsOf(const Catalog& catalog,
                                        const std::vector<model::Placement>& placements,
                                        const model::Run& run) {
  IterationEnds ends;
  const bool bounded = !catalog.iterationsFillCalls();
  for (const model::Placement& p : placements) {
    if (bounded && p.replica != 0) continue;
    ends.add(p.run, p.iteration, catalog.toAxis(p.device, p.end));
    if (bounded) ends.addStart(p.run, p.iteration, catalog.toAxis(p.device, p.start));
  }
  return ends.spansOf({run});
}

const IterationSpan* findIteration(const std::vector<IterationSpan>& spans, std::int32_t iteration) {
  const auto found = std::ranges::find(spans, iteration, &IterationSpan::iteration);
  return found == spans.end() ? nullptr : &*found;
}

std::size_t mainIteration(const std::vector<IterationSpan>& spans) {
  if (spans.empty()) return 0;
  const auto medianOf = [&](const auto& figure) {
    std::vector<std::int64_t> figures;
    for (const IterationSpan& span : spans) figures.push_back(figure(span));
    const auto middle = figures.begin() + static_cast<std::ptrdiff_t>((figures.size() - 1) / 2);
    std::ranges::nth_element(figures, middle);
    return *middle;
  };
  const std::int64_t length = medianOf([](const IterationSpan&span) { return span.length().count; }),
                     placements = medianOf([](const IterationSpan&span) { return span.placements; });
  const auto whole = std::ranges::find_if(spans, [=](const IterationSpan& span) {
    return span.length().count >= length / 2 && span.placements >= placements - placements / 10;
  });
  // The longest iteration may be the one with the fewest placements.
  return whole == spans.end() ? 0 : static_cast<std::size_t>(whole - spans.begin());
}

double meanStepTime(const std::vector<IterationSpan>& spans) {
  double sum = 0;
  for (const IterationSpan& span : spans) sum += static_cast<double>(span.length().count);
  return spans.empty() ? 0 : sum / static_cast<double>(spans.size());
}

}  // namespace pipescope::analysis
