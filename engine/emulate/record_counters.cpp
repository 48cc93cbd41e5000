#include "engine/emulate/record_counters.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

namespace pipescope::emulate {
namespace {

/// The bytes of a stage's stash that are always live.
Bytes waitingEntries(const devices::LoweredMemory& memory, int stage) {
  Bytes sum;
  for (const devices::LoweredVariable& variable : memory.variables) {
    if (variable.alwaysLive && variable.stage == stage && variable.category == "stash") sum += variable.bytes;
  }
  return sum;
}

LiveBytes liveBytesOf(const devices::LoweredDevice& device, const EmulatedExecutable& executable,
                      const ReplicaPart& part) {
  LiveBytes live;
  std::map<model::Pass, std::unordered_map<std::string_view, int>> stageOfStep;
  for (const devices::LoweredPass& pass : device.passes) {
    for (const devices::LoweredSegment& segment : pass.segments) {
      const model::Pass kind = segment.pass == model::Pass::recompute ? *segment.pass : pass.pass;
      for (const devices::LoweredStep& step : segment.steps) stageOfStep[kind][step.name] = pass.stage;
    }
  }
  const devices::LoweredMemory& memory = device.memory.front();
  for (const devices::LoweredVariable& variable : memory.variables) {
    if (variable.alwaysLive) live.always += variable.bytes;
  }
  for (std::size_t s = 0; s < executable.stashEntries.size(); ++s) {
    if (part.deviceOf(executable.call.placeOfStage[s]) != device.device) continue;
    const int stage = static_cast<int>(s);
    const Bytes ring = executable.stashBytesPerEntry[s] * executable.stashEntries[s],
                waiting = waitingEntries(memory, stage);
    // Values that stay in place are always live in all entries but the one that runs.
    if (waiting < ring && waiting + executable.stashBytesPerEntry[s] >= ring) live.inPlace.insert(stage);
    live.always -= live.inPlace.contains(stage) ? waiting : ring;
  }
  for (const devices::LoweredStepMemory& step : memory.steps) {
    const std::unordered_map<std::string_view, int>& steps = stageOfStep[step.pass];
    const auto stage = steps.find(step.name);
    if (stage == steps.end()) continue;
    Bytes& peak = live.peak[{stage->second, step.pass}];
    peak = std::max(peak, step.notAlwaysLive);
  }
  return live;
}

}  // namespace

void recordCounters(record::Recorder& recorder, const SystemIds& ids, const EmulatedExecutable& executable,
                    const std::vector<devices::LoweredDevice>& lowered, ReplicaPart& part) {
  const auto counter = [&](std::size_t device, const char* name, const char* unit) {
    const int index = part.deviceOf(static_cast<int>(device));
    return recorder.add(
        model::Counter{{}, executable.id, ids.devices[static_cast<std::size_t>(index)], name, unit});
  };
  const std::size_t count = executable.order().places.size();
  part.stashCounters.resize(count);
  part.liveBytesCounters.resize(count);
  for (std::size_t d = 0; d < count; ++d)
    part.liveMicroBatches.push_back(counter(d, "live_micro_batches", "micro-batches"));
  for (std::size_t s = 0; s < executable.stashEntries.size(); ++s) {
    const auto d = static_cast<std::size_t>(executable.call.placeOfStage[s]);
    if (executable.stashEntries[s] > 0 && !part.stashCounters[d].valid())
      part.stashCounters[d] = counter(d, "stash_entries", "micro-batches");
  }
  for (const devices::LoweredDevice& device : lowered) {
    if (device.memory.empty()) continue;
    const auto d = static_cast<std::size_t>((device.device - part.firstDevice) / part.placeStride);
    part.liveBytesCounters[d] = counter(d, "live_bytes", "B");
    part.liveBytes[d] = liveBytesOf(device, executable, part);
  }
}

}  // namespace pipescope::emulate
