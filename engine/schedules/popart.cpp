// The implicit pipelining of PopART. Source: graphcore/popart, pipeline transform. Stage s (0 … S−1, where S
// = 2N−1 in training and the loss stage holds forward and backward) runs in cycle c if e(s) ≤ c < e(s) + G,
// on micro-batch c − e(s). e numbers the stages after neighbours on the same device are merged. Within a
// cycle a device runs its stages in ascending order.
//
// The minimum number of micro-batches is the one that PopTorch checks: it counts forward stages as 1 + the
// changes of device in program order, starting from device 0. Training needs 2·forward − 1 micro-batches,
// inference needs forward.
#include <fmt/format.h>

#include "engine/schedules/schedule.h"

namespace pipescope::schedules {
namespace {

struct NumberedStage {
  int stage = 0;
  model::Pass pass = model::Pass::forward;
  int start = 0;  ///< e(s): the cycle of micro-batch 0
};

/// Stages as PopART numbers them: forward 0 … N−1, then, in training, the gradients of N−1 … 0. Merging
/// neighbours on one device gives both passes of the loss stage the same number.
std::vector<NumberedStage> numberedStages(const Shape& shape) {
  std::vector<NumberedStage> all;
  for (int s = 0; s < shape.stages; ++s) all.push_back({s, model::Pass::forward});
  if (shape.training) {
    for (int s = shape.stages - 1; s >= 0; --s) all.push_back({s, model::Pass::backward});
  }
  for (std::size_t i = 1; i < all.size(); ++i) {
    const auto device = [&](std::size_t j) {
      return shape.placeOfStage[static_cast<std::size_t>(all[j].stage)];
    };
    all[i].start = all[i - 1].start + (device(i) == device(i - 1) ? 0 : 1);
  }
  return all;
}

base::Status checkMicroBatches(const Shape& shape) {
  int forward = 1, device = 0;
  for (const int next : shape.placeOfStage) {
    forward += next != device ? 1 : 0;
    device = next;
  }
  if (forward == 1) return {};  // One device needs no pipeline.
  const int needed = shape.training ? 2 * forward - 1 : forward;
  if (shape.microBatches >= needed) return {};
  if (shape.training) {
    return base::badInput(
        fmt::format("Pipelined training with the popart schedule over {} forward stages ({} pipeline stages "
                    "with their gradients) needs "
                    "gradient_accumulation of at least {}, but it is {}. Raise it, use fewer stages, or use "
                    "the gpipe schedule.",
                    forward, needed, needed, shape.microBatches));
  }
  return base::badInput(
      fmt::format("Pipelined inference with the popart schedule over {} stages needs device_iterations of at "
                  "least {}, but it is {}. "
                  "Raise it or use fewer stages.",
                  forward, needed, shape.microBatches));
}

base::Result<Order> makePopart(const Shape& shape) {
  PIPESCOPE_TRY(checkMicroBatches(shape));
  const std::vector<NumberedStage> stages = numberedStages(shape);
  Order order;
  order.serialUpdate = true;
  order.slots = shape.microBatches + stages.back().start;
  order.places.resize(static_cast<std::size_t>(placeCount(shape)));
  order.stashEntries.assign(static_cast<std::size_t>(shape.stages), 0);
  for (int cycle = 0; cycle < order.slots; ++cycle) {
    for (const NumberedStage& s : stages) {
      const int microBatch = cycle - s.start;
      if (microBatch < 0 || microBatch >= shape.microBatches) continue;
      const auto device = static_cast<std::size_t>(shape.placeOfStage[static_cast<std::size_t>(s.stage)]);
      order.places[device].push_back(
          {.stage = s.stage, .microBatch = microBatch, .slot = cycle, .pass = s.pass});
    }
  }
  if (shape.training) {
    for (int s = 0; s < shape.stages; ++s) {
      const int apart = stages[stages.size() - 1 - static_cast<std::size_t>(s)].start -
                        stages[static_cast<std::size_t>(s)].start;
      // The count includes both cycles.
      order.stashEntries[static_cast<std::size_t>(s)] = apart == 0 ? 0 : apart + 1;
    }
  }
  return order;
}

}  // namespace

PIPESCOPE_REGISTER_SCHEDULE(popart) {
  registry.add({.name = "popart",
                .doc = "PopART/PopTorch pipelining: a barrier and all inter-device copies after every cycle",
                .make = makePopart,
                .progression = model::ScheduleKind::barrier});
}

}  // namespace pipescope::schedules
