#include "app/run/phases.h"

#include <fmt/format.h>

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
    return base::badInput(fmt::format(
        "execution.separate_backward_phase belongs to the phased strategies, but execution.strategy is {}: leave it out.",
        c.text("execution.strategy")));
  }
  const std::string& recompute = c.text("execution.recompute");
  const bool named = !c.texts("execution.checkpoints").empty();
  if (named && recompute == "none") {
    return base::badInput(
        "execution.checkpoints names results to keep, but execution.recompute is none, which keeps them all: leave one "
        "of them out.");
  }
  if (!named && recompute == "checkpoints") {
    return base::badInput(
        "execution.recompute is checkpoints, but execution.checkpoints names none: list operators whose results are "
        "kept.");
  }
  const std::int64_t ioTiles = c.integer("execution.io_tiles");
  if (ioTiles != 0 && (ioTiles < 32 || ioTiles > 192 || ioTiles % 2 != 0)) {
    return base::badInput(
        fmt::format("execution.io_tiles is {}, but must be an even number from 32 to 192, or 0 for none.", ioTiles));
  }
  if (!c.boolean("execution.overlap_io")) return {};
  if (ioTiles == 0) {
    return base::badInput(
        "execution.overlap_io needs I/O tiles, which carry data while the others compute: set execution.io_tiles.");
  }
  if (isPipelined(c)) {
    return base::badInput(
        "execution.overlap_io does not go together with pipelined execution, whose cycles have their host copies at "
        "the begin and end: leave it out, or choose another strategy.");
  }
  return {};
}

base::Status placePhases(const Configuration& c, std::vector<compile::StageSpec>& asked) {
  if (asked.empty()) {
    return base::badInput(fmt::format(
        "execution.strategy {} needs its phases listed: give a [[stages]] entry for each.",
        c.text("execution.strategy")));
  }
  if (c.integer("execution.chunks") != 0) {
    return base::badInput(
        "execution.chunks is for schedules of pipelines, but the strategy is phased: leave it out.");
  }
  const bool parallel = c.text("execution.strategy") == "parallel_phased";
  for (std::size_t phase = 0; phase < asked.size(); ++phase) {
    int& device = asked[phase].device;
    const int own = parallel ? static_cast<int>(phase % 2) : 0;
    if (device < 0) device = own;
    if (!parallel && device != 0) {
      return base::badInput(fmt::format(
          "Phase {} is on device {}, but with serial_phased all phases take turns on device 0: leave the device out.",
          phase, device));
    }
    if (device % 2 != own) {
      return base::badInput(fmt::format(
          "Phase {} is on device {}: with parallel_phased phases of even number are on devices of even number, and odd "
          "ones on odd ones.",
          phase, device));
    }
  }
  return {};
}

}  // namespace pipescope::app
