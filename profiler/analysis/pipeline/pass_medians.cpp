#include "profiler/analysis/pipeline/pass_medians.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "profiler/analysis/rows_of_run.h"

namespace pipescope::analysis {
namespace {

std::optional<double> medianOf(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

Result<std::map<int, PassMedians>> passMedians(const model::ProfileSource& source, const Catalog& catalog,
                                               model::ExecutableId executable) {
  std::map<int, PassMedians> medians;
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return medians;
  PIPESCOPE_ASSIGN(const std::vector<model::Placement> placements, rowsOfRun<model::Placement>(source, *run));
  // A pass may consist of several placements: stage, forward, iteration, micro-batch → ticks.
  std::map<std::tuple<int, bool, int, int>, double> passes;
  for (const model::Placement& p : placements) {
    const bool forward = p.pass == model::Pass::forward;
    const bool backward = p.pass == model::Pass::backward || p.pass == model::Pass::weightGradient;
    if (p.replica == 0 && p.stage >= 0 && p.microBatch >= 0 && (forward || backward))
      passes[{p.stage, forward, p.iteration, p.microBatch}] += static_cast<double>((p.end - p.start).count);
  }
  std::map<int, std::pair<std::vector<double>, std::vector<double>>> lengths;
  for (const auto& [key, ticks] : passes) {
    auto& [forward, backward] = lengths[std::get<0>(key)];
    (std::get<1>(key) ? forward : backward).push_back(ticks);
  }
  for (auto& [stage, both] : lengths)
    medians[stage] = {medianOf(std::move(both.first)), medianOf(std::move(both.second))};
  return medians;
}

}  // namespace pipescope::analysis
