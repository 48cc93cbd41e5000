// Sharded execution (PopTorch ShardedExecution) and TensorFlow's sequential pipeline: one micro-batch at a
// time and one device at a time. The step time is D·(G·Σ(F+B) + ΣU).
#include "engine/schedules/chunks.h"

namespace pipescope::schedules {
namespace {

base::Result<Order> makeSharded(const Shape& shape) {
  TaskList tasks(shape);
  const std::vector<Chunk> chunks = chunksOf(shape);
  for (int k = 0; k < shape.microBatches; ++k) {
    for (const Chunk& chunk : chunks) tasks.forward(chunk, k);
    for (auto chunk = chunks.rbegin(); shape.training && chunk != chunks.rend(); ++chunk)
      tasks.backward(*chunk, k);
  }
  Order order = tasks.take();
  order.serialUpdate = true;
  return order;
}

base::Result<Order> makeTfSequential(const Shape& shape) {
  if (shape.stages < 2)
    return base::badInput("The tf-sequential schedule needs at least 2 stages, but there is 1.");
  return makeSharded(shape);
}

}  // namespace

PIPESCOPE_REGISTER_SCHEDULE(sharded) {
  registry.add({.name = "sharded",
                .doc = "One micro-batch and one device at a time (the sharded strategy)",
                .make = makeSharded,
                .progression = model::ScheduleKind::oneAtATime,
                .pipelined = false});
}

PIPESCOPE_REGISTER_SCHEDULE(tf_sequential) {
  registry.add(
      {.name = "tf-sequential",
       .doc = "TensorFlow for IPU, sequential: one micro-batch and one device at a time, nothing stashed",
       .make = makeTfSequential,
       .progression = model::ScheduleKind::oneAtATime});
}

}  // namespace pipescope::schedules
