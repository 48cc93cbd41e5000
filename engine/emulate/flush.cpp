#include "engine/emulate/flush.h"

namespace pipescope::emulate {

void FlushBase::countLive(int device, int change) {
  if (executable_.liveMicroBatches.empty()) return;
  const auto d = static_cast<std::size_t>(device);
  live_[d] += change;
  writer_.count(executable_.liveMicroBatches[d], writer_.clock(device).free, live_[d]);
}

void FlushBase::placeCompute(int device, const schedules::Task& task, int iteration) {
  const Where where{task.stage, task.microBatch, iteration, task.slot};
  const StageSegments& stage = segments(task.stage);
  if (task.pass == model::Pass::forward) {
    countLive(device, 1);
    writer_.place(device, stage.forward, where);
  } else {
    writer_.place(device, stage.recompute, where);
    writer_.place(device, stage.backward, where);
    countLive(device, -1);
  }
}

void FlushBase::placeHostIn(int device, const schedules::Task& task, int iteration) {
  if (task.pass != model::Pass::forward) return;
  writer_.place(device, segments(task.stage).hostIn, {task.stage, task.microBatch, iteration, task.slot});
}

void FlushBase::placeHostOut(int device, const schedules::Task& task, int iteration) {
  const ExecutableFacts& facts = executable_.facts;
  if (task.pass != model::Pass::forward) return;
  if (!facts.output.returns(iteration, task.microBatch, facts.iterations, facts.microBatches)) return;
  writer_.place(device, segments(task.stage).hostOut, {task.stage, task.microBatch, iteration, task.slot});
}

}  // namespace pipescope::emulate
