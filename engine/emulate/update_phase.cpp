#include "engine/emulate/update_phase.h"

#include <algorithm>

namespace pipescope::emulate {

RunningPart::RunningPart(const EmulatedExecutable& executable, const ReplicaPart& own,
                         const devices::System& system, record::Recorder& recorder, const SystemIds& ids,
                         RecordLevel level, model::RunId run, Ticks now)
    : part(own), clocks(executable.order.devices.size()), writer(recorder, ids, level, run, own, clocks) {
  for (std::size_t s = executable.deviceOfStage.size(); s-- > 0;)
    clocks[static_cast<std::size_t>(executable.deviceOfStage[s])].stage = static_cast<int>(s);
  for (DeviceClock& clock : clocks) clock.free = now;
  if (executable.order.progression == schedules::Progression::barrier) {
    barrier = std::make_unique<BarrierFlush>(executable, own, system, writer);
  } else {
    dependency = std::make_unique<DependencyFlush>(executable, own, system, writer);
  }
}

void RunningPart::setLoader(const HostLoader& loader) {
  if (barrier) barrier->setLoader(loader);
  if (dependency) dependency->setLoader(loader);
}

int RunningPart::slowest() const {
  const auto last = std::max_element(clocks.begin(), clocks.end(),
                                     [](const auto& a, const auto& b) { return a.free < b.free; });
  return static_cast<int>(last - clocks.begin());
}

void RunningPart::align(model::WaitCause cause, const WorkPlace& where) {
  const int device = slowest();
  const DeviceClock last = clock(device);
  for (int d = 0; d < static_cast<int>(clocks.size()); ++d)
    writer.wait(d, last.free, cause, last.last, device, where);
}

void UpdatePhase::run(int iteration) {
  const WorkPlace where{.iteration = iteration};
  const bool serial = executable_.order.update == schedules::UpdateOrder::serial;
  if (serial) {
    for (const auto& part : parts_) part->align(model::WaitCause::drain, where);
  }
  const int count = static_cast<int>(executable_.order.devices.size());
  if (executable_.mirrored && executable_.training) meetMirrored(iteration);
  for (int device = 0; device < count; ++device) {
    const bool any = updateDevice(device, iteration);
    if (!serial || !any) continue;
    for (const auto& part : parts_) {
      const DeviceClock last = part->clock(device);
      for (int d = 0; d < count; ++d)
        part->writer.wait(d, last.free, model::WaitCause::update, last.last, device, where);
    }
  }
}

void UpdatePhase::meetMirrored(int iteration) {
  const int count = static_cast<int>(executable_.order.devices.size());
  for (int device = 0; 2 * device < count; ++device) {
    // The device of the two that is done last, in any replica.
    RunningPart* last = parts_.front().get();
    int slowest = device;
    for (const auto& part : parts_) {
      for (const int place : {device, count - 1 - device}) {
        if (part->clock(place).free <= last->clock(slowest).free) continue;
        last = part.get();
        slowest = place;
      }
    }
    const DeviceClock end = last->clock(slowest);
    for (const auto& part : parts_) {
      for (const int place : {device, count - 1 - device}) {
        part->writer.waitForReplica(place, end.free, model::WaitCause::collective, end.last,
                                    last->systemDevice(slowest), {.iteration = iteration});
      }
    }
  }
}

bool UpdatePhase::updateDevice(int device, int iteration) {
  bool any = false;
  finishOverlapped(device, iteration);
  for (std::size_t s = 0; s < executable_.deviceOfStage.size(); ++s) {
    if (executable_.deviceOfStage[s] != device) continue;
    const int stage = static_cast<int>(s);
    const WorkPlace where{.stage = stage, .iteration = iteration, .chunk = executable_.chunkOfStage[s]};
    const std::size_t count = segments(*parts_.front(), stage).update.size();
    for (std::size_t i = 0; i < count; ++i) placeAll(device, stage, i, where);
    any = any || count > 0;
  }
  return any;
}

std::vector<UpdatePhase::Overlapped> UpdatePhase::overlappedOf(int device) const {
  std::vector<Overlapped> all;
  for (std::size_t s = 0; s < executable_.deviceOfStage.size(); ++s) {
    if (executable_.deviceOfStage[s] != device) continue;
    const int stage = static_cast<int>(s);
    const std::size_t count = segments(*parts_.front(), stage).overlapped.size();
    for (std::size_t k = 0; k < count; ++k) {
      // A collective is as slow as the slowest of its links, so it takes equally long in all replicas.
      const Ticks ticks = segments(*parts_.front(), stage).overlapped[k].ticks;
      Overlapped one{.stage = stage, .index = k, .ready = Ticks(INT64_MIN), .ticks = ticks, .late = nullptr};
      for (const auto& part : parts_) {
        const SegmentRefs& backward = lastBackward(*part, stage);
        const int after = segments(*part, stage).overlapped[k].after;
        Ticks ready = part->flush().backwardStart(stage);
        for (int i = 0; i <= after && i < static_cast<int>(backward.size()); ++i)
          ready += backward[static_cast<std::size_t>(i)].ticks;
        if (ready > one.ready) {
          one.ready = ready;
          one.late = part.get();
        }
      }
      all.push_back(one);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Overlapped& a, const Overlapped& b) { return a.ready < b.ready; });
  return all;
}

void UpdatePhase::finishOverlapped(int device, int iteration) {
  const std::vector<Overlapped> all = overlappedOf(device);
  if (all.empty()) return;
  Ticks free{INT64_MIN}, bound{INT64_MIN};
  RunningPart* late = nullptr;  // whose gradients came last, at `bound`
  std::vector<model::PlacementId> last(parts_.size());
  const auto whereOf = [&](int stage) {
    return WorkPlace{.stage = stage,
                     .iteration = iteration,
                     .chunk = executable_.chunkOfStage[static_cast<std::size_t>(stage)]};
  };
  for (const Overlapped& one : all) {
    Ticks start = free;
    if (one.ready > start) {
      start = bound = one.ready;
      late = one.late;
    }
    free = start + one.ticks;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const SegmentRef& segment = segments(*parts_[p], one.stage).overlapped[one.index];
      last[p] = parts_[p]->writer.placeOnOwnLane(device, segment, start, whereOf(one.stage));
    }
  }
  const WorkPlace where = whereOf(all.back().stage);
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    if (late && late != parts_[p].get()) {
      parts_[p]->writer.waitForReplica(device, bound, model::WaitCause::collective, late->clock(device).last,
                                       late->systemDevice(device), where);
    }
    parts_[p]->writer.wait(device, free, model::WaitCause::collective, last[p], device, where);
  }
}

void UpdatePhase::placeAll(int device, int stage, std::size_t index, const WorkPlace& where) {
  const auto ref = [&](const RunningPart& part) { return segments(part, stage).update[index]; };
  if (ref(*parts_.front()).pass == model::Pass::collective) {
    RunningPart& last = **std::max_element(parts_.begin(), parts_.end(), [&](const auto& a, const auto& b) {
      return a->clock(device).free < b->clock(device).free;
    });
    const DeviceClock slowest = last.clock(device);
    for (const auto& part : parts_) {
      part->writer.waitForReplica(device, slowest.free, model::WaitCause::collective, slowest.last,
                                  last.systemDevice(device), where);
    }
  }
  for (const auto& part : parts_) part->writer.place(device, ref(*part), where);
}

}  // namespace pipescope::emulate
