#include "app/run/request/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace pipescope::app {

using config::Configuration;

bool isPipelined(const Configuration& c) {
  return c.text("execution.strategy") == "pipelined";
}

bool isPhased(const Configuration& c) {
  return c.text("execution.strategy").ends_with("phased");
}

base::Status checkStrategy(const Configuration& c) {
  if (c.boolean("execution.separate_backward_phase") && !isPhased(c)) {
    return base::badInput(
        fmt::format("execution.separate_backward_phase belongs to the phased strategies, but "
                    "execution.strategy is {}: leave it out.",
                    c.text("execution.strategy")));
  }
  for (const config::Settings& stage : c.tables("stages")) {
    if (stage.integer("phase") < 0 || isPhased(c)) continue;
    return base::badInput(fmt::format(
        "stages[].phase belongs to the phased strategies, but execution.strategy is {}: leave it out.",
        c.text("execution.strategy")));
  }
  const std::string& recompute = c.text("execution.recompute");
  const bool named = !c.texts("execution.checkpoints").empty();
  if (named && recompute == "none") {
    return base::badInput(
        "execution.checkpoints names results to keep, but execution.recompute is none, which keeps them all: "
        "leave one "
        "of them out.");
  }
  if (!named && recompute == "checkpoints") {
    return base::badInput(
        "execution.recompute is checkpoints, but execution.checkpoints names none: list operators whose "
        "results are "
        "kept.");
  }
  const std::int64_t ioTiles = c.integer("execution.io_tiles");
  if (ioTiles != 0 && (ioTiles < 32 || ioTiles > 192 || ioTiles % 2 != 0)) {
    return base::badInput(fmt::format(
        "execution.io_tiles is {}, but must be an even number from 32 to 192, or 0 for none.", ioTiles));
  }
  if (!c.boolean("execution.overlap_io")) return {};
  if (ioTiles == 0) {
    return base::badInput(
        "execution.overlap_io needs I/O tiles, which carry data while the others compute: set "
        "execution.io_tiles.");
  }
  if (isPipelined(c)) {
    return base::badInput(
        "execution.overlap_io does not go together with pipelined execution, whose cycles have their host "
        "copies at "
        "the begin and end: leave it out, or choose another strategy.");
  }
  return {};
}

std::vector<int> phaseOfStages(const Configuration& c, int stages) {
  std::vector<int> phases;
  for (const config::Settings& stage : c.tables("stages"))
    phases.push_back(static_cast<int>(stage.integer("phase")));
  for (int s = 0; s < stages; ++s) {
    if (s >= static_cast<int>(phases.size())) phases.push_back(-1);
    int& phase = phases[static_cast<std::size_t>(s)];
    if (phase < 0) phase = s;
  }
  return phases;
}

namespace {

/// Stages of a phase, which are equally many in all.
base::Result<int> stagesPerPhase(const Configuration& c, int stages) {
  int given = 0;
  for (const config::Settings& stage : c.tables("stages")) given += stage.integer("phase") >= 0 ? 1 : 0;
  if (given != 0 && given != stages) {
    return base::badInput(fmt::format(
        "stages[].phase is given for {} of {} stages: give it for all, or for none.", given, stages));
  }
  const std::vector<int> phases = phaseOfStages(c, stages);
  const auto width = static_cast<int>(std::count(phases.begin(), phases.end(), 0));
  for (int s = 0; s < stages; ++s) {
    const int phase = phases[static_cast<std::size_t>(s)],
              before = s == 0 ? 0 : phases[static_cast<std::size_t>(s) - 1];
    if (phase < before || phase > before + 1 || (s == 0 && phase != 0)) {
      return base::badInput(
          fmt::format("Stage {} is in phase {} after one in phase {}: phases count up from 0, and their "
                      "stages follow each other.",
                      s, phase, s == 0 ? -1 : before));
    }
  }
  for (int phase = 0; phase <= phases.back(); ++phase) {
    const auto own = std::count(phases.begin(), phases.end(), phase);
    if (own == width) continue;
    return base::badInput(
        fmt::format("Phase {} has {} stage{}, but phase 0 has {}: all phases have equally many.", phase, own,
                    own == 1 ? "" : "s", width));
  }
  return width;
}

/// `width` neighbouring stages are a phase.
base::Status placeOnGroups(bool parallel, int width, std::vector<compile::StageSpec>& asked) {
  std::set<int> used;
  for (int s = 0; s < static_cast<int>(asked.size()); ++s) {
    const int phase = s / width, parity = parallel ? phase % 2 : 0;
    int& device = asked[static_cast<std::size_t>(s)].device;
    if (device < 0) device = parallel ? s % width * 2 + parity : s % width;
    if (!parallel && device >= width) {
      return base::badInput(
          width == 1
              ? fmt::format(
                    "Phase {} is on device {}, but with serial_phased all phases take turns on device 0: "
                    "leave the device out.",
                    phase, device)
              : fmt::format(
                    "Phase {} is on device {}, but with serial_phased all phases take turns on devices 0 "
                    "to {}: leave the device out.",
                    phase, device, width - 1));
    }
    if (parallel && device % 2 != parity) {
      return base::badInput(
          fmt::format("Phase {} is on device {}: with parallel_phased phases of even number are on devices "
                      "of even number, and odd "
                      "ones on odd ones.",
                      phase, device));
    }
    if (s % width == 0) used.clear();
    if (!used.insert(device).second) {
      return base::badInput(fmt::format(
          "Phase {} has two stages on device {}: its stages are on devices of their own.", phase, device));
    }
  }
  return {};
}

}  // namespace

base::Status placePhases(const Configuration& c, std::vector<compile::StageSpec>& asked) {
  if (asked.empty()) {
    return base::badInput(
        fmt::format("execution.strategy {} needs its phases listed: give a [[stages]] entry for each.",
                    c.text("execution.strategy")));
  }
  if (c.integer("execution.chunks") != 0) {
    return base::badInput(
        "execution.chunks is for schedules of pipelines, but the strategy is phased: leave it out.");
  }
  PIPESCOPE_ASSIGN(const int width, stagesPerPhase(c, static_cast<int>(asked.size())));
  return placeOnGroups(c.text("execution.strategy") == "parallel_phased", width, asked);
}

}  // namespace pipescope::app
