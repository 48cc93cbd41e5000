#include "profiler/geometry/timeline/found_steps.h"

#include <algorithm>

#include "profiler/geometry/element.h"

namespace pipescope::geometry {

FoundSteps::FoundSteps(const analysis::Trace& trace, const analysis::NameQuery& query) : trace_(trace) {
  std::vector<char> matches;
  matches.reserve(trace.names.size());
  for (const std::string& name : trace.names) matches.push_back(query.matches(name) ? 1 : 0);
  counts_.resize(trace.segments.size());
  for (std::size_t s = 0; s < trace.segments.size(); ++s) {
    const std::vector<std::int32_t>& names = trace.segments[s].stepNames;
    std::vector<std::uint32_t> counts(names.size() + 1, 0);
    for (std::size_t i = 0; i < names.size(); ++i)
      counts[i + 1] = counts[i] + static_cast<std::uint32_t>(at(matches, names[i]));
    if (counts.back() > 0) counts_[s] = std::move(counts);
  }
}

bool FoundSteps::any(std::int32_t segment) const {
  return segment >= 0 && !at(counts_, segment).empty();
}

bool FoundSteps::step(std::int32_t segment, std::int32_t step) const {
  if (!any(segment) || step < 0) return false;
  const std::vector<std::uint32_t>& counts = at(counts_, segment);
  return at(counts, step + 1) > at(counts, step);
}

bool FoundSteps::any(std::int32_t segment, model::LaneId lane, base::Ticks from, base::Ticks to) const {
  if (!any(segment)) return false;
  const std::vector<model::Step>& steps = at(trace_.segments, segment).steps;
  const auto indexOf = [&](base::Ticks time) {
    return static_cast<std::int32_t>(
        std::partition_point(steps.begin(), steps.end(),
                             [&](const model::Step& one) { return one.offset < time; }) -
        steps.begin());
  };
  const std::int32_t first = indexOf(from), end = indexOf(to);
  const std::vector<std::uint32_t>& counts = at(counts_, segment);
  if (end <= first || at(counts, end) == at(counts, first)) return false;
  if (!lane.valid()) return true;
  for (std::int32_t i = first; i < end; ++i) {
    if (step(segment, i) && at(steps, i).lane == lane) return true;
  }
  return false;
}

}  // namespace pipescope::geometry
