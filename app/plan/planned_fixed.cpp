#include "app/plan/planned_fixed.h"

#include <fmt/format.h>

#include "engine/config/key.h"
#include "profiler/base/files/file_kind.h"

namespace pipescope::app {
namespace {

/// The text without line ends, for a comment.
std::string commentOf(std::string text) {
  for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  return text;
}

}  // namespace

std::string plannedToml(const plan::CostPlan& plan, const plan::LayerProfile& layers,
                        const std::string& source) {
  std::string text = fmt::format(
      "{} from {}; a unit is a millisecond.\n\n"
      "[system]\nname = \"fixed\"\n\n"
      "[execution]\nschedule = \"{}\"\n",
      base::kPlanTitle, commentOf(source), plan.run.schedule);
  if (plan.run.chunks > 0) text += fmt::format("chunks = {}\n", plan.run.chunks);
  text += fmt::format("\n[training]\ngradient_accumulation = {}\n", plan.run.microBatches);
  if (plan.run.bandwidth > 0)
    text += fmt::format("\n[fixed]\nbandwidth = {}\n", config::toToml(plan.run.bandwidth));
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::StageCost& stage = plan.stages[s];
    const compile::FixedRun::Stage& costs = plan.run.stages[s];
    text += fmt::format("\n# {} layer{}: {} … {}\n[[fixed.stages]]\nforward = {}\nbackward = {}\n",
                        stage.count, stage.count == 1 ? "" : "s", commentOf(layers.layers[stage.first].id),
                        commentOf(layers.layers[stage.first + stage.count - 1].id),
                        config::toToml(costs.forward), config::toToml(costs.backward));
    if (costs.sends > 0) text += fmt::format("sends = {}\n", costs.sends);
  }
  return text;
}

}  // namespace pipescope::app
