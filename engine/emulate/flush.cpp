#include "engine/emulate/flush.h"

namespace pipescope::emulate {

void FlushBase::placeTasks(int device, std::size_t first, std::size_t end, int iteration) {
  const std::vector<schedules::Task>& all = tasks(device);
  for (std::size_t i = first; i < end; ++i) {
    if (all[i].pass == model::Pass::forward)
      writer_.place(device, segments(all[i].stage).hostIn, where(all[i], iteration));
  }
  for (std::size_t i = first; i < end; ++i) placeCompute(device, all[i], iteration);
  const ExecutableFacts& facts = executable_.facts;
  for (std::size_t i = first; i < end; ++i) {
    if (all[i].pass != model::Pass::forward) continue;
    if (facts.output.returns(iteration, all[i].microBatch, facts.iterations, facts.microBatches))
      writer_.place(device, segments(all[i].stage).hostOut, where(all[i], iteration));
  }
}

void FlushBase::placeCompute(int device, const schedules::Task& task, int iteration) {
  const Where at = where(task, iteration);
  const StageSegments& stage = segments(task.stage);
  if (task.pass == model::Pass::forward) {
    live_.enter(device, task.stage);
    live_.during(device, task.stage, model::Pass::forward);
    writer_.place(device, stage.forward, at);
  } else if (task.pass == model::Pass::backward) {
    if (!stage.recompute.empty()) live_.during(device, task.stage, model::Pass::recompute);
    writer_.place(device, stage.recompute, at);
    live_.during(device, task.stage, model::Pass::backward);
    writer_.place(device, stage.backward, at);
  } else {
    live_.during(device, task.stage, model::Pass::weightGradient);
    writer_.place(device, stage.weight, at);
  }
  const model::Pass last =
      executable_.order.splitBackward ? model::Pass::weightGradient : model::Pass::backward;
  if (task.pass == last) live_.leave(device, task.stage);
  live_.after(device);
}

}  // namespace pipescope::emulate
