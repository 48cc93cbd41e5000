// Communication is not hidden by other work.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

/// The advice against collectives along an axis that no computation hides.
std::string adviceFor(model::MeshAxis axis, const InsightInput& input) {
  switch (axis) {
    case model::MeshAxis::tensor:
      return "Tensor ranks sum their results in every layer. Compare with fewer tensor ranks and more stages "
             "or "
             "replicas, or with larger micro-batches.";
    case model::MeshAxis::context:
      return "The ranks of a sample exchange keys and values in every layer. Compare with fewer of them "
             "(execution.context_parallel), or with another execution.context_exchange.";
    case model::MeshAxis::expert:
      return "Tokens go to their experts and back in every layer. Compare with fewer ranks of experts "
             "(execution.expert_parallel) within one box, or with execution.overlap_experts.";
    case model::MeshAxis::data:
    case model::MeshAxis::pipe:
      break;
  }
  if (!input.training())
    return "Each pass gathers the weights that the replicas share out. Let each replica hold them whole, or "
           "divide them among tensor ranks or stages.";
  return "Sum gradients less often, or give the devices more work between the sums.";
}

std::vector<Insight> findExposedCommunication(const InsightInput& input, const InsightRule& rule) {
  Insight found;
  const DeviceExecution* worst = nullptr;
  for (const DeviceExecution& device : input.execution.devices) {
    // Only devices whose network works beside the other engines can hide communication.
    if (!device.byLane.contains(model::LaneRole::network) || device.total.count <= 0) continue;
    const double share = static_cast<double>(device.exposed.count) / static_cast<double>(device.total.count);
    if (share <= found.figure) continue;
    found.figure = share;
    worst = &device;
  }
  if (worst == nullptr || !rule.exceeds(found.figure)) return {};
  found.share = found.figure;
  const auto longest =
      std::ranges::max_element(input.exposedByAxis, {}, [](const auto& each) { return each.second; });
  const bool known = longest != input.exposedByAxis.end();
  const model::MeshAxis axis = known ? longest->first : model::MeshAxis::data;
  found.what = fmt::format("For {} of the call, {} only communicates: no engine computes meanwhile{}.",
                           insightPercent(found.figure), worst->name,
                           known ? fmt::format(", most of it along axis {}", model::toString(axis)) : "");
  found.page = "engines";
  found.device = worst->index;
  found.lane = input.laneTitle(model::LaneRole::network);
  found.advice = adviceFor(axis, input);
  if (axis == model::MeshAxis::data && input.training() && input.executable.replicas > 1) {
    found.alternatives = {
        {{"training.gradient_accumulation", fmt::format("{}", 2 * input.executable.microBatches)}}};
  }
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(exposed_communication) {
  registry.add({"exposed_communication", "time in which a device only communicates ÷ length of the call", 0.1,
                false, findExposedCommunication});
}

}  // namespace pipescope::analysis
