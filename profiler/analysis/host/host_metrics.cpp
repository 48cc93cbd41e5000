#include "profiler/analysis/host/host_metrics.h"

#include <algorithm>

#include "profiler/analysis/host/host_alignment.h"
#include "profiler/analysis/pipeline/counters.h"

namespace pipescope::analysis {

base::Result<std::shared_ptr<const HostTimeline>> withMetrics(
    std::shared_ptr<const HostTimeline> timeline, const model::ProfileSource& source, const Catalog& catalog,
    model::ExecutableId executable, const std::vector<std::string>& names, base::Progress& progress) {
  constexpr std::size_t kMostPoints = 20'000;
  const HostAlignment clocks(std::vector<model::Run>(catalog.runs.begin(), catalog.runs.end()),
                             timeline->zero);
  if (timeline->empty() || clocks.empty() || names.empty()) return timeline;
  CounterRequest request;
  request.executable = executable;
  request.mostPoints = kMostPoints;
  request.ofDevices = false;
  PIPESCOPE_ASSIGN(const std::vector<CounterSeries> series,
                   counterSeries(source, catalog, request, progress));
  std::shared_ptr<HostTimeline> made;
  for (const CounterSeries& one : series) {
    if (std::ranges::find(names, one.counter.name) == names.end() || one.points.empty()) continue;
    if (!made) made = std::make_shared<HostTimeline>(*timeline);
    HostCurve& curve = made->curves.emplace_back();
    curve.pinned = true;
    curve.name = one.counter.name;
    std::ranges::replace(curve.name, '_', ' ');
    curve.unit = one.counter.unit;
    curve.smallest = one.smallest;
    curve.largest = one.largest;
    for (const CounterPoint& point : one.points) {
      curve.points.push_back({clocks.endOnHost(point.time), point.last});
      curve.mean += point.last / static_cast<double>(one.points.size());
    }
  }
  if (!made) return timeline;
  return std::shared_ptr<const HostTimeline>(std::move(made));
}

}  // namespace pipescope::analysis
