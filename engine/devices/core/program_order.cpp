#include "engine/devices/core/program_order.h"

namespace pipescope::devices {

using compile::PassPlan;
using compile::StagePlan;
using model::Pass;

std::vector<OrderedPass> programOrder(const std::vector<const StagePlan*>& stages) {
  std::vector<OrderedPass> order;
  const auto take = [&](const StagePlan* stage, auto wanted) {
    for (const PassPlan& pass : stage->passes) {
      if (wanted(pass.pass)) order.push_back({stage, &pass});
    }
  };
  const auto ascending = [&](Pass kind) {
    for (const StagePlan* stage : stages) take(stage, [kind](Pass pass) { return pass == kind; });
  };
  ascending(Pass::hostIn);
  ascending(Pass::forward);
  for (auto it = stages.rbegin(); it != stages.rend(); ++it) {
    take(*it, [](Pass pass) { return pass == Pass::backward || pass == Pass::weightGradient; });
  }
  for (const Pass other : {Pass::collective, Pass::update, Pass::sync, Pass::remote}) ascending(other);
  ascending(Pass::hostOut);
  return order;
}

}  // namespace pipescope::devices
