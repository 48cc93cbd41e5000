// The slotted schedules of TensorFlow for IPU. Source: graphcore/tensorflow, pipeline schedules. There are 2N
// stages, because the last stage has separate forward and backward passes. A barrier and all copies follow
// every slot.
//   grouped:     F(k) of stage i in slot k + i,  B(k) in slot k + 2N − 1 − i;  G + 2N − 1 slots
//   interleaved: F(k) of stage i in slot 2k + i, B(k) in slot 2k + 2N − 1 − i; 2(G + N − 1) slots
// Within a slot a device runs its backward passes and then its forward passes (grouped), or one of them
// (interleaved).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/schedules/schedule.h"

namespace pipescope::schedules {
namespace {

base::Status checkMultiple(const Shape& shape, const char* name, int multiple, const char* rule) {
  if (shape.stages < 2)
    return base::badInput(fmt::format("The {} schedule needs at least 2 stages, but there is 1.", name));
  if (shape.microBatches % multiple == 0) return {};
  return base::badInput(fmt::format(
      "The {} schedule over {} stages needs {} that is a multiple of {} ({}), but it is {}: use {}, or the "
      "1f1b schedule.",
      name, shape.stages, shape.training ? "a gradient_accumulation" : "device_iterations", multiple, rule,
      shape.microBatches, (shape.microBatches / multiple + 1) * multiple));
}

/// A micro-batch enters every `period` slots. F(k) of stage i is in slot period·k + i.
Order slotted(const Shape& shape, int period) {
  const int n = shape.stages, g = shape.microBatches;
  Order order;
  order.places.resize(static_cast<std::size_t>(placeCount(shape)));
  order.stashEntries.assign(static_cast<std::size_t>(n), 0);
  const int last = period * (g - 1);
  order.slots = last + (shape.training ? 2 * n : n);
  // The 2N stages of a slot run in descending order, so that backward passes come first.
  for (int slot = 0; slot < order.slots; ++slot) {
    for (int numbered = (shape.training ? 2 * n : n) - 1; numbered >= 0; --numbered) {
      const int since = slot - numbered;
      if (since < 0 || since > last || since % period != 0) continue;
      const bool forward = numbered < n;
      const int stage = forward ? numbered : 2 * n - 1 - numbered;
      const auto device = static_cast<std::size_t>(shape.placeOfStage[static_cast<std::size_t>(stage)]);
      order.places[device].push_back({.stage = stage,
                                      .microBatch = since / period,
                                      .slot = slot,
                                      .pass = forward ? model::Pass::forward : model::Pass::backward});
    }
  }
  // The depth of the FIFO is the number of forward passes of the stage between the forward and the backward
  // pass of a micro-batch.
  for (int i = 0; shape.training && i < n; ++i)
    order.stashEntries[static_cast<std::size_t>(i)] = 2 * (n - 1 - i) / period;
  return order;
}

base::Result<Order> makeGrouped(const Shape& shape) {
  const int multiple = shape.training ? 2 * shape.stages : shape.stages;
  PIPESCOPE_TRY(checkMultiple(shape, "tf-grouped", multiple,
                              shape.training ? "twice the stages" : "the number of stages"));
  return slotted(shape, 1);
}

base::Result<Order> makeInterleaved(const Shape& shape) {
  PIPESCOPE_TRY(checkMultiple(shape, "tf-interleaved", shape.stages, "the number of stages"));
  const std::set<int> devices(shape.placeOfStage.begin(), shape.placeOfStage.end());
  if (shape.training && static_cast<int>(devices.size()) < shape.stages) {
    return base::badInput(
        fmt::format("Training with the tf-interleaved schedule cannot have two stages on one device, but {} "
                    "stages share {} devices: give each its own, or use tf-grouped.",
                    shape.stages, devices.size()));
  }
  return slotted(shape, 2);
}

}  // namespace

PIPESCOPE_REGISTER_SCHEDULE(tf_grouped) {
  registry.add({.name = "tf-grouped",
                .doc = "TensorFlow for IPU, grouped: as popart, but the barrier follows the forward half",
                .make = makeGrouped,
                .progression = model::ScheduleKind::barrier});
}

PIPESCOPE_REGISTER_SCHEDULE(tf_interleaved) {
  registry.add(
      {.name = "tf-interleaved",
       .doc = "TensorFlow for IPU, interleaved: a device does forward or backward in a slot; half the stash",
       .make = makeInterleaved,
       .progression = model::ScheduleKind::barrier});
}

}  // namespace pipescope::schedules
