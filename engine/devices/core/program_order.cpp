#include "engine/devices/core/program_order.h"

namespace pipescope::devices {

using compile::PassIr;
using compile::StageIr;
using model::Pass;

std::vector<OrderedPass> programOrder(const std::vector<const StageIr*>& stages) {
  std::vector<OrderedPass> order;
  const auto take = [&](const StageIr* stage, auto wanted) {
    for (const PassIr& pass : stage->passes) {
      if (wanted(pass.pass)) order.push_back({stage, &pass});
    }
  };
  const auto ascending = [&](Pass kind) {
    for (const StageIr* stage : stages) take(stage, [kind](Pass pass) { return pass == kind; });
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
