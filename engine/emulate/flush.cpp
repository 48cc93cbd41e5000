#include "engine/emulate/flush.h"

#include <algorithm>
#include <cmath>

namespace pipescope::emulate {

Ticks HostLoader::prepared(std::int64_t microBatches) const {
  return start +
         Ticks(static_cast<std::int64_t>(std::ceil(static_cast<double>(microBatches) * ticksPerMicroBatch)));
}

Ticks FlushBase::prepared(const schedules::Task& task, int iteration) const {
  return loader_.prepared(iteration * executable_.facts.microBatches + task.microBatch + 1);
}

void FlushBase::placeTasks(int device, std::size_t first, std::size_t end, int iteration) {
  const std::vector<schedules::Task>& all = tasks(device);
  const ExecutableFacts& facts = executable_.facts;
  DeviceClock& clock = writer_.clock(device);
  clock.ready = clock.free;  // needed if a task takes no time
  clock.readyBy = clock.last;
  for (std::size_t i = first; i < end; ++i) {
    if (all[i].pass != model::Pass::forward) continue;
    if (facts.overlapIo) {
      loadBeside(device, all[i], iteration);
    } else {
      if (loader_.ticksPerMicroBatch > 0 && !segments(all[i]).hostIn.empty()) {
        writer_.wait(device, prepared(all[i], iteration), model::WaitCause::host, {}, -1,
                     where(all[i], iteration));
      }
      writer_.place(device, segments(all[i]).hostIn, where(all[i], iteration));
    }
  }
  for (std::size_t i = first; i < end; ++i) placeCompute(device, all[i], iteration);
  for (std::size_t i = first; i < end; ++i) {
    if (all[i].pass != model::Pass::forward ||
        !facts.output.returns(iteration, all[i].microBatch, facts.iterations, facts.microBatches))
      continue;
    if (facts.overlapIo) {
      storeBeside(device, all[i], iteration);
    } else {
      writer_.place(device, segments(all[i]).hostOut, where(all[i], iteration));
    }
  }
}

void FlushBase::loadBeside(int device, const schedules::Task& task, int iteration) {
  const SegmentRefs& loads = segments(task).hostIn;
  if (loads.empty()) return;
  const auto d = static_cast<std::size_t>(device);
  // There is room for one micro-batch besides the one in computation.
  const Ticks room = room_[d].count < 0 ? writer_.clock(device).free : room_[d];
  Ticks start = std::max(loading_[d], room);
  if (loader_.ticksPerMicroBatch > 0) start = std::max(start, prepared(task, iteration));
  model::PlacementId last;
  for (const SegmentRef& load : loads) {
    last = writer_.placeOnOwnLane(device, load, start, where(task, iteration));
    start += load.ticks;
  }
  loading_[d] = start;
  writer_.wait(device, start, model::WaitCause::host, last, device, where(task, iteration));
  room_[d] = writer_.clock(device).free;
}

void FlushBase::storeBeside(int device, const schedules::Task& task, int iteration) {
  const auto d = static_cast<std::size_t>(device);
  Ticks start = std::max(storing_[d], writer_.clock(device).free);
  for (const SegmentRef& store : segments(task).hostOut) {
    lastStore_[d] = writer_.placeOnOwnLane(device, store, start, where(task, iteration));
    start += store.ticks;
  }
  storing_[d] = start;
}

void FlushBase::finishStores(int iteration) {
  if (!executable_.facts.overlapIo) return;
  for (int d = 0; d < devices(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    writer_.wait(d, storing_[at], model::WaitCause::host, lastStore_[at], d, {.iteration = iteration});
  }
}

void FlushBase::placeLoads(int device, std::size_t index, int iteration) {
  const schedules::Task& task = tasks(device)[index];
  const StageSegments& stage = segments(task);
  const SegmentRefs& first = task.pass == model::Pass::forward          ? stage.forward
                             : task.pass == model::Pass::weightGradient ? stage.weight
                             : stage.recompute.empty()                  ? stage.backward
                                                                        : stage.recompute;
  std::size_t& loaded = loaded_[static_cast<std::size_t>(device)];
  for (loaded = 0; loaded < first.size() && first[loaded].pass == model::Pass::remote; ++loaded)
    writer_.place(device, first[loaded], where(task, iteration));
}

void FlushBase::placeRest(int device, const SegmentRefs& segments, const WorkPlace& where) {
  std::size_t& loaded = loaded_[static_cast<std::size_t>(device)];
  for (std::size_t i = loaded; i < segments.size(); ++i) {
    if (model::isComputePass(segments[i].pass)) live_.during(device, where.stage, segments[i].pass);
    writer_.place(device, segments[i], where);
  }
  loaded = 0;
}

void FlushBase::placeCompute(int device, const schedules::Task& task, int iteration) {
  const WorkPlace at = where(task, iteration);
  const StageSegments& stage = segments(task);
  if (task.pass == model::Pass::forward) {
    live_.enter(device, task.stage);
    placeRest(device, stage.forward, at);
  } else if (task.pass == model::Pass::backward) {
    if (!stage.recompute.empty()) placeRest(device, stage.recompute, at);
    backwardStart_[static_cast<std::size_t>(task.stage)] = writer_.clock(device).free;
    placeRest(device, stage.backward, at);
  } else {
    placeRest(device, stage.weight, at);
  }
  const model::Pass last =
      executable_.order.splitBackward ? model::Pass::weightGradient : model::Pass::backward;
  if (task.pass == last) live_.leave(device, task.stage);
  live_.after(device);
}

}  // namespace pipescope::emulate
