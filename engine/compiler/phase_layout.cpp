// Phased strategies: which phase each stage belongs to, and on which device it is.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/compiler/stage_layout.h"

namespace pipescope::compile {

std::vector<int> phaseOfStages(const LayoutRequest& layout, int stages) {
  std::vector<int> phases;
  for (const StageRequest& stage : layout.stages) phases.push_back(stage.phase);
  for (int s = 0; s < stages; ++s) {
    if (s >= static_cast<int>(phases.size())) phases.push_back(-1);
    int& phase = phases[static_cast<std::size_t>(s)];
    if (phase < 0) phase = s;
  }
  return phases;
}

namespace {

/// Refuses phases that do not count up from 0 in steps of one.
base::Status checkPhaseOrder(const std::vector<int>& phases) {
  for (std::size_t s = 0; s < phases.size(); ++s) {
    const int phase = phases[s], before = s == 0 ? 0 : phases[s - 1];
    if (phase >= before && phase <= before + 1 && (s != 0 || phase == 0)) continue;
    return base::badInput(
        fmt::format("Stage {} is in phase {} after one in phase {}: phases count up from 0, and their "
                    "stages follow each other.",
                    s, phase, s == 0 ? -1 : before));
  }
  return {};
}

bool nameTheirDevices(const std::vector<StageSpec>& stages) {
  return std::ranges::all_of(stages, [](const StageSpec& stage) { return stage.place >= 0; });
}

/// The most devices of a phase. Stages that do not name theirs have one each, and phases then have equally
/// many.
base::Result<int> devicesPerPhase(const LayoutRequest& layout, const std::vector<int>& phases,
                                  const std::vector<StageSpec>& stages) {
  const auto given = std::ranges::count_if(layout.stages, [](const auto& stage) { return stage.phase >= 0; });
  if (given != 0 && given != std::ssize(stages)) {
    return base::badInput(fmt::format(
        "stages[].phase is given for {} of {} stages: give it for all, or for none.", given, stages.size()));
  }
  PIPESCOPE_TRY(checkPhaseOrder(phases));
  std::vector<std::set<int>> devices(static_cast<std::size_t>(phases.back()) + 1);
  for (std::size_t s = 0; s < stages.size(); ++s)
    devices[static_cast<std::size_t>(phases[s])].insert(stages[s].place);
  const auto most = std::ranges::max_element(devices, {}, [](const auto& of) { return of.size(); });
  if (nameTheirDevices(stages)) return static_cast<int>(most->size());
  const auto width = static_cast<int>(std::ranges::count(phases, 0));
  for (int phase = 0; phase <= phases.back(); ++phase) {
    const auto own = std::ranges::count(phases, phase);
    if (own == width) continue;
    return base::badInput(
        fmt::format("Phase {} has {} stage{}, but phase 0 has {}: all phases have equally many.", phase, own,
                    own == 1 ? "" : "s", width));
  }
  return width;
}

base::Status checkSerialDevice(int phase, int device, int width) {
  if (device < width) return {};
  const std::string group = width == 1 ? "device 0" : fmt::format("devices 0 to {}", width - 1);
  return base::badInput(
      fmt::format("Phase {} is on device {}, but with serial_phased all phases take turns on {}: leave the "
                  "device out.",
                  phase, device, group));
}

base::Status checkParallelDevice(int phase, int device) {
  if (device % 2 == phase % 2) return {};
  return base::badInput(
      fmt::format("Phase {} is on device {}: with parallel_phased phases of even number are on devices of "
                  "even number, and odd ones on odd ones.",
                  phase, device));
}

/// A phase may return to a device after a stage on another one, if all stages name their devices.
base::Status placeOnGroups(bool parallel, int width, const std::vector<int>& phases,
                           std::vector<StageSpec>& stages) {
  const bool mayReturn = nameTheirDevices(stages);
  std::set<int> used;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const int phase = phases[s];
    const bool begins = s == 0 || phases[s - 1] != phase;
    if (begins || mayReturn) used.clear();
    if (!begins && mayReturn) used.insert(stages[s - 1].place);
    int& device = stages[s].place;
    const auto position = static_cast<int>(s) % width;
    if (device < 0) device = parallel ? position * 2 + phase % 2 : position;
    PIPESCOPE_TRY(parallel ? checkParallelDevice(phase, device) : checkSerialDevice(phase, device, width));
    if (!used.insert(device).second) {
      return base::badInput(fmt::format(
          "Phase {} has two stages on device {}: its stages are on devices of their own.", phase, device));
    }
  }
  return {};
}

}  // namespace

base::Status placePhases(const LayoutRequest& layout, std::vector<StageSpec>& stages) {
  if (stages.empty()) {
    return base::badInput(
        fmt::format("execution.strategy {} needs its phases listed: give a [[stages]] entry for each, "
                    "or their number as execution.stages.",
                    toString(layout.strategy)));
  }
  if (layout.chunks != 0) {
    return base::badInput(
        "execution.chunks is for schedules of pipelines, but the strategy is phased: leave it out.");
  }
  const std::vector<int> phases = phaseOfStages(layout, static_cast<int>(stages.size()));
  PIPESCOPE_ASSIGN(const int width, devicesPerPhase(layout, phases, stages));
  return placeOnGroups(layout.strategy == Strategy::parallelPhased, width, phases, stages);
}

}  // namespace pipescope::compile
