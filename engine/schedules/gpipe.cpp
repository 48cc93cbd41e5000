// GPipe (Huang et al. 2019): all forwards in order, then all backwards, here in ascending order of
// micro-batch; any order of the backwards takes equally long.
#include "engine/schedules/schedule.h"

namespace pipescope::schedules {
namespace {

base::Result<Order> makeGpipe(const Shape& shape) {
  Order order;
  order.devices.resize(static_cast<std::size_t>(deviceCount(shape)));
  const auto add = [&](int stage, model::Pass pass) {
    auto& tasks =
        order.devices[static_cast<std::size_t>(shape.deviceOfStage[static_cast<std::size_t>(stage)])];
    for (int k = 0; k < shape.microBatches; ++k) tasks.push_back({stage, pass, k});
  };
  // A device with several stages finishes one before it begins the next: its stages' inputs arrive in that
  // order.
  for (int s = 0; s < shape.stages; ++s) add(s, model::Pass::forward);
  for (int s = shape.stages - 1; shape.training && s >= 0; --s) add(s, model::Pass::backward);
  order.stashEntries.assign(static_cast<std::size_t>(shape.stages),
                            shape.training && shape.microBatches > 1 ? shape.microBatches : 0);
  return order;
}

}  // namespace

PIPESCOPE_REGISTER_SCHEDULE(gpipe) {
  registry.add({"gpipe",
                "GPipe: all forwards, then all backwards; a task starts when its inputs have arrived",
                makeGpipe});
}

}  // namespace pipescope::schedules
