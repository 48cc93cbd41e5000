// GPipe (Huang et al. 2019): all forward passes, then all backward passes. The backward passes here take
// micro-batches in ascending order; any other order takes the same time.
#include "engine/schedules/chunks.h"

namespace pipescope::schedules {
namespace {

base::Result<Order> makeGpipe(const Shape& shape) {
  TaskList tasks(shape);
  // A device with several stages finishes one before it begins the next, because inputs arrive in that order.
  for (int s = 0; s < shape.stages; ++s) {
    const Chunk stage{shape.placeOfStage[static_cast<std::size_t>(s)], {s}};
    for (int k = 0; k < shape.microBatches; ++k) tasks.forward(stage, k);
  }
  for (int s = shape.stages - 1; shape.training && s >= 0; --s) {
    const Chunk stage{shape.placeOfStage[static_cast<std::size_t>(s)], {s}};
    for (int k = 0; k < shape.microBatches; ++k) tasks.backward(stage, k);
  }
  return tasks.take();
}

}  // namespace

PIPESCOPE_REGISTER_SCHEDULE(gpipe) {
  registry.add({.name = "gpipe",
                .doc = "GPipe: all forwards, then all backwards; a task starts when its inputs have arrived",
                .make = makeGpipe});
}

}  // namespace pipescope::schedules
