#include "profiler/import/recognise/thread_devices.h"

#include <algorithm>
#include <set>
#include <utility>

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::LaneId;

/// True for a computation of a stage that a thread of a host makes.
bool isOfThread(const RecordedPass& pass) {
  return model::isComputePass(pass.pass) && pass.stage >= 0 && pass.queue < 0;
}

/// The workers of one process. A worker has stages of its own, and one or more lanes.
class Workers {
 public:
  void add(const RecordedPass& pass) {
    const std::size_t own = workerOf_.try_emplace(pass.stage, count_).first->second;
    if (own == count_) ++count_;
    const auto [lane, isNew] = laneOf_.try_emplace(pass.lane, own);
    if (!isNew && lane->second != own) join(lane->second, own);
  }
  /// -1: none.
  std::ptrdiff_t of(std::int32_t stage, LaneId lane) const {
    if (const auto own = workerOf_.find(stage); own != workerOf_.end())
      return static_cast<std::ptrdiff_t>(own->second);
    const auto own = laneOf_.find(lane);
    return stage >= 0 || own == laneOf_.end() ? -1 : static_cast<std::ptrdiff_t>(own->second);
  }
  /// The first lane of each worker.
  std::map<std::ptrdiff_t, LaneId> lanes() const {
    std::map<std::ptrdiff_t, LaneId> first;
    for (const auto& [lane, worker] : laneOf_) first.try_emplace(static_cast<std::ptrdiff_t>(worker), lane);
    return first;
  }

 private:
  void join(std::size_t from, std::size_t to) {
    for (auto& [stage, worker] : workerOf_) worker = worker == from ? to : worker;
    for (auto& [lane, worker] : laneOf_) worker = worker == from ? to : worker;
  }

  std::map<std::int32_t, std::size_t> workerOf_;  // worker of each stage
  std::map<LaneId, std::size_t> laneOf_;
  std::size_t count_ = 0;
};

/// True if two workers compute at the same time. `passes` are those of the process, ordered by start.
bool overlap(const std::vector<const RecordedPass*>& passes, const Workers& workers) {
  std::ptrdiff_t latest = -1;  // worker of the pass that ends last so far
  Ticks latestEnd(INT64_MIN);
  for (const RecordedPass* pass : passes) {
    const std::ptrdiff_t own = workers.of(pass->stage, pass->lane);
    if (own != latest && latest >= 0 && pass->start + kTimeResolution < latestEnd) return true;
    if (pass->end <= latestEnd) continue;
    latest = own;
    latestEnd = pass->end;
  }
  return false;
}

}  // namespace

void splitThreads(RecordedEvents& events, const NamedPlaces& places,
                  const std::function<DeviceId(const std::string& name, DeviceId process)>& addDevice) {
  std::map<DeviceId, Workers> workersOf;
  for (const RecordedPass& pass : events.passes)
    if (isOfThread(pass)) workersOf[pass.device].add(pass);
  std::map<DeviceId, std::vector<const RecordedPass*>> passesOf;
  std::erase_if(workersOf, [](const auto& entry) { return entry.second.lanes().size() < 2; });
  for (const RecordedPass& pass : events.passes)
    if (isOfThread(pass) && workersOf.contains(pass.device)) passesOf[pass.device].push_back(&pass);
  std::map<std::pair<DeviceId, std::ptrdiff_t>, DeviceId> deviceOf;
  for (auto& [process, passes] : passesOf) {
    std::ranges::stable_sort(passes, {}, &RecordedPass::start);
    if (!overlap(passes, workersOf[process])) continue;
    const auto named = places.devices.find(process);
    for (const auto& [worker, lane] : workersOf[process].lanes()) {
      const auto thread = places.threads.find(lane);
      deviceOf[{process, worker}] =
          addDevice((named == places.devices.end() ? std::string() : named->second + " ") +
                        (thread == places.threads.end() ? std::to_string(worker) : thread->second),
                    process);
    }
  }
  if (deviceOf.empty()) return;
  std::vector<RecordedStep> steps;
  for (const RecordedStep& step : events.steps)
    for (const auto& [place, device] : deviceOf)
      if (place.first == step.device) steps.push_back({device, step.start, step.end, step.step});
  events.steps.insert(events.steps.end(), steps.begin(), steps.end());
  for (auto* list : {&events.passes, &events.sends, &events.receives}) {
    for (RecordedPass& row : *list) {
      const auto workers = workersOf.find(row.device);
      if (workers == workersOf.end()) continue;
      const auto device = deviceOf.find({row.device, workers->second.of(row.stage, row.lane)});
      if (device != deviceOf.end()) row.device = device->second;
    }
  }
}

}  // namespace pipescope::importing
