// One replica is slower than the others.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findReplicaSpeeds(const InsightInput& input, const InsightRule& rule) {
  // Fastest and slowest device of each place.
  std::map<int, std::pair<const DeviceExecution*, const DeviceExecution*>> ends;
  std::map<int, int> devicesOf;  // number of devices of each replica
  for (const DeviceExecution& device : input.execution.devices) {
    const auto index = static_cast<std::size_t>(device.index);
    if (index >= input.replicaOfDevice.size() || input.replicaOfDevice[index] < 0 || !device.placed) continue;
    auto& [fast, slow] = ends[devicesOf[input.replicaOfDevice[index]]++];
    const auto computes = [](const DeviceExecution& each) { return each.ofKind(model::StepKind::compute); };
    if (fast == nullptr || computes(device) < computes(*fast)) fast = &device;
    if (slow == nullptr || computes(device) > computes(*slow)) slow = &device;
  }
  Insight found;
  const DeviceExecution* slowest = nullptr;
  for (const auto& [place, pair] : ends) {
    const auto [fast, slow] = pair;
    const auto least = fast->ofKind(model::StepKind::compute).count;
    if (least <= 0) continue;
    const double ratio =
        static_cast<double>(slow->ofKind(model::StepKind::compute).count) / static_cast<double>(least);
    if (ratio <= found.figure) continue;
    found.figure = ratio;
    slowest = slow;
  }
  if (slowest == nullptr || !rule.exceeds(found.figure)) return {};
  const int replica = input.replicaOfDevice[static_cast<std::size_t>(slowest->index)];
  found.share = 1 - 1 / found.figure;
  found.what = fmt::format(
      "{} of replica {} computes {:.3g} times as long as the same device of the fastest replica, "
      "and all replicas wait for it at each weight update.",
      slowest->name, replica, found.figure);
  found.page = "execution";
  found.device = slowest->index;
  found.advice = "Replace the device, or leave its replica out.";
  const std::int64_t replicas = input.executable.replicas;
  // An imported trace has no options to change.
  if (replicas > 1 && !input.options.empty()) {
    found.alternatives = {{{input.table() + "replication_factor", fmt::format("{}", replicas - 1)}}};
  }
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(replica_speeds) {
  registry.add({"replica_speeds", "largest ÷ smallest computing time of a device's copies in all replicas",
                1.02, false, findReplicaSpeeds});
}

}  // namespace pipescope::analysis
