// Sharded execution (PopTorch ShardedExecution): one micro-batch at a time, one device at a time. Step time
// is D·(G·Σ(F+B) + ΣU).
#include "engine/schedules/schedule.h"

namespace pipescope::schedules {
namespace {

base::Result<Order> makeSharded(const Shape& shape) {
  Order order;
  order.update = UpdateOrder::serial;
  order.devices.resize(static_cast<std::size_t>(deviceCount(shape)));
  const auto tasksOf = [&](int stage) -> std::vector<Task>& {
    return order.devices[static_cast<std::size_t>(shape.deviceOfStage[static_cast<std::size_t>(stage)])];
  };
  order.oneAtATime = true;
  for (int k = 0; k < shape.microBatches; ++k) {
    for (int s = 0; s < shape.stages; ++s) tasksOf(s).push_back({s, model::Pass::forward, k});
    for (int s = shape.stages - 1; shape.training && s >= 0; --s)
      tasksOf(s).push_back({s, model::Pass::backward, k});
  }
  order.stashEntries.assign(static_cast<std::size_t>(shape.stages), 0);
  return order;
}

}  // namespace

PIPESCOPE_REGISTER_SCHEDULE(sharded) {
  registry.add(
      {"sharded", "One micro-batch and one device at a time (the sharded strategy)", makeSharded, false});
}

}  // namespace pipescope::schedules
