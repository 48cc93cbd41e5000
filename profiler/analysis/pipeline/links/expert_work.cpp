#include "profiler/analysis/pipeline/links/expert_work.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "profiler/analysis/pipeline/placed_steps.h"
#include "profiler/analysis/step_operators.h"
#include "profiler/base/intervals.h"

namespace pipescope::analysis {
namespace {

bool isOfExperts(const std::string& kind) {
  return kind == "ExpertProduct" || kind.starts_with("GradExpertProduct") || kind == "RankScatterExperts" ||
         kind == "RankGatherExperts";
}

}  // namespace

Result<std::optional<ExpertWork>> expertWork(const model::ProfileSource& source, const Catalog& catalog,
                                             model::ExecutableId executable) {
  const std::string own = std::to_string(executable.value);
  const std::string imbalance = catalog.property("expert_imbalance." + own);
  if (imbalance.empty()) return std::optional<ExpertWork>();
  ExpertWork work;
  std::from_chars(imbalance.data(), imbalance.data() + imbalance.size(), work.imbalance);
  const std::string hottest = catalog.property("hottest_expert_rank." + own);
  std::from_chars(hottest.data(), hottest.data() + hottest.size(), work.hottest);
  PIPESCOPE_ASSIGN(const PlacedSteps placed, placedSteps(source, catalog, executable));
  StepOperators operators(source, catalog, executable);
  std::map<model::SegmentId, double> ofSegment;
  for (const auto& [id, list] : placed.steps) {
    base::Intervals busy;
    for (const model::Step& step : list) {
      PIPESCOPE_ASSIGN(const StepOperators::Found found, operators.of(step.program));
      if (catalog.operators.contains(found.id) && isOfExperts(catalog.operators[found.id].kind))
        busy.add(step.offset, step.offset + step.ticks);
    }
    ofSegment[id] = static_cast<double>(busy.unionLength().count);
  }
  for (const model::Placement& p : placed.rows.placements)
    work.ticks += ofSegment[p.segment] / placed.iterations();
  work.excess = work.imbalance > 1 ? work.ticks * (1 - 1 / work.imbalance) : 0;
  return std::optional(work);
}

}  // namespace pipescope::analysis
