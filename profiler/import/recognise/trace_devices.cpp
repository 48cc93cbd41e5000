#include "profiler/import/recognise/trace_devices.h"

#include <algorithm>
#include <regex>

namespace pipescope::importing {

TraceDevices::TraceDevices(const TraceData& trace)
    : trace_(trace), used_(trace.tables.processes.size()), owners_(used_.size()) {
  const auto count = static_cast<std::int64_t>(trace.tables.processes.size());
  for (ProcessId id(0); id.value < count; ++id.value)
    if (trace.isAccelerator(id)) accelerators_.push_back(id);
  findNpu();
}

/// Ascend's profiler shows the collectives of a device as a process beside it. A trace is of one rank, which
/// has one device.
void TraceDevices::findNpu() {
  static const std::regex kCollectives("(?:Communication ?)?\\(?HCCL\\)?|Communication");
  std::vector<ProcessId> found;
  for (ProcessId id(0); id.value < static_cast<std::int64_t>(used_.size()); ++id.value) {
    const std::string& name = trace_.tables.processes[id].name;
    if (name.starts_with("Ascend Hardware")) found.push_back(id);
    if (std::regex_match(name, kCollectives)) collectivesOfNpu_.push_back(id);
  }
  if (found.size() == 1) npu_ = found.front();
}

ProcessId TraceDevices::ownerOf(ProcessId id) const {
  if (npu_ && std::ranges::find(collectivesOfNpu_, id) != collectivesOfNpu_.end()) return *npu_;
  if (trace_.isAccelerator(id) || accelerators_.empty()) return id;
  if (accelerators_.size() == 1) return accelerators_.front();
  // A merged trace holds the host and the accelerator of each rank.
  if (const auto rank = trace_.mergedRankOf(id)) {
    const auto ofRank = [&](ProcessId other) { return trace_.mergedRankOf(other) == rank; };
    if (std::ranges::count_if(accelerators_, ofRank) == 1)
      return *std::ranges::find_if(accelerators_, ofRank);
  }
  for (const ProcessId accelerator : accelerators_)
    if (trace_.tables.processes[id].name == trace_.tables.processes[accelerator].name + ", host")
      return accelerator;
  return id;
}

model::DeviceId TraceDevices::deviceOf(const TraceEvent& event, const Meaning& meaning) {
  if (meaning.device.empty()) {
    std::optional<ProcessId>& owner = owners_[static_cast<std::size_t>(event.process.value)];
    if (!owner) owner = ownerOf(event.process);
    used_[static_cast<std::size_t>(owner->value)] = true;
    return model::DeviceId(owner->value);
  }
  const auto next = model::DeviceId(static_cast<std::int64_t>(used_.size() + names_.size()));
  const auto [named, isNew] = namedIds_.try_emplace(meaning.device, next);
  if (isNew) names_.push_back(meaning.device);
  return named->second;
}

std::vector<model::DeviceId> TraceDevices::acceleratorDevices() const {
  std::vector<model::DeviceId> devices;
  for (const ProcessId accelerator : accelerators_)
    if (used_[static_cast<std::size_t>(accelerator.value)]) devices.emplace_back(accelerator.value);
  return devices;
}

std::optional<ProcessId> TraceDevices::processOf(model::DeviceId device) const {
  if (device.value >= static_cast<std::int64_t>(used_.size())) return std::nullopt;
  return ProcessId(device.value);
}

const std::string& TraceDevices::nameOf(model::DeviceId device) const {
  return names_[static_cast<std::size_t>(device.value) - used_.size()];
}

model::LaneId TraceDevices::laneOf(const TraceEvent& event, std::size_t level, model::DeviceId device,
                                   const Meaning& meaning) {
  // Slices come thread by thread, and most rules name no lane.
  const std::tuple usual(event.thread, level, device);
  if (meaning.lane.empty() && usualLane_ && usual == usual_) return *usualLane_;
  const auto next = model::LaneId(static_cast<std::int64_t>(lanes_.size()));
  const auto [lane, isNew] = laneIds_.try_emplace({event.thread, level, device, meaning.lane}, next);
  if (isNew) lanes_.push_back(&lane->first);
  if (meaning.lane.empty()) {
    usual_ = usual;
    usualLane_ = lane->second;
  }
  return lane->second;
}

std::optional<model::LaneId> TraceDevices::firstLane(ThreadId thread, std::size_t level) const {
  const auto lane = laneIds_.lower_bound({thread, level, model::DeviceId(), std::string()});
  if (lane == laneIds_.end() || lane->first.thread != thread || lane->first.level != level)
    return std::nullopt;
  return lane->second;
}

}  // namespace pipescope::importing
