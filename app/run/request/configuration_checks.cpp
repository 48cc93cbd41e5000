#include "app/run/request/configuration_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/run/request/model_choice.h"
#include "app/run/request/user_folders.h"
#include "engine/compile/model/stage_layout.h"
#include "engine/devices/system_registry.h"

namespace pipescope::app {
namespace {

using config::Configuration;

base::Status checkCounts(const Configuration& c) {
  if (c.integer("inference.gradient_accumulation") != 1) {
    return base::badInput(
        "inference.gradient_accumulation must be 1: inference has no gradients. To run more micro-batches "
        "per call raise inference.device_iterations.");
  }
  if (c.integer("data.instance") >= c.integer("data.instances")) {
    return base::badInput(
        fmt::format("data.instance is {}, but data.instances is {}: parts are counted from 0.",
                    c.integer("data.instance"), c.integer("data.instances")));
  }
  if (const double rate = c.real("data.loader_rate"); rate > 0 && rate < 0.001) {
    return base::badInput(
        fmt::format("data.loader_rate is {} samples/s; give at least 0.001, or 0 for a pipeline that never "
                    "holds devices up.",
                    rate));
  }
  if (c.given("training.output_period") && c.text("training.output_mode") != "every_n") {
    return base::badInput(
        "training.output_period is given, but training.output_mode is not every_n: set the mode or leave "
        "out the period.");
  }
  return {};
}

base::Status checkPhaseKeys(const Configuration& c) {
  const std::string& strategy = c.text("execution.strategy");
  if (compile::isPhased(compile::strategyOf(strategy))) return {};
  if (c.boolean("execution.separate_backward_phase")) {
    return base::badInput(
        fmt::format("execution.separate_backward_phase belongs to the phased strategies, but "
                    "execution.strategy is {}: leave it out.",
                    strategy));
  }
  for (const config::Settings& stage : c.tables("stages")) {
    if (stage.integer("phase") < 0) continue;
    return base::badInput(fmt::format(
        "stages[].phase belongs to the phased strategies, but execution.strategy is {}: leave it out.",
        strategy));
  }
  return {};
}

base::Status checkRecompute(const Configuration& c) {
  const std::string& recompute = c.text("execution.recompute");
  const bool named = !c.texts("execution.checkpoints").empty();
  if (named && recompute == "none") {
    return base::badInput(
        "execution.checkpoints names results to keep, but execution.recompute is none, which keeps them all: "
        "leave one of them out.");
  }
  if (!named && recompute == "checkpoints") {
    return base::badInput(
        "execution.recompute is checkpoints, but execution.checkpoints names none: list operators whose "
        "results are kept.");
  }
  return {};
}

base::Status checkIoTiles(const Configuration& c) {
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
  if (compile::strategyOf(c.text("execution.strategy")) == compile::Strategy::pipelined) {
    return base::badInput(
        "execution.overlap_io does not go together with pipelined execution, whose cycles have their host "
        "copies at the begin and end: leave it out, or choose another strategy.");
  }
  return {};
}

}  // namespace

base::Status checkDeviceOptions(const Configuration& c) {
  const std::string& name = c.text("system.name");
  devices::Accelerator own;
  if (!devices::costsAreGiven(name)) {
    devices::SystemOptions options;
    options.userFolder = userConfigurationFolder();
    PIPESCOPE_ASSIGN(const auto system, devices::makeSystem(name, options));
    own = devices::acceleratorOf(*system);
  }
  for (const devices::Accelerator& other : devices::accelerators()) {
    for (const std::string& option : other.options) {
      const std::string key = "execution." + option;
      if (!c.given(key) || std::ranges::find(own.options, option) != own.options.end()) continue;
      return base::badInput(
          fmt::format("{} is for accelerator {}, but system {} has none: leave it out, or choose another "
                      "system.",
                      key, other.name, name));
    }
  }
  return {};
}

base::Status checkConfiguration(const Configuration& c) {
  PIPESCOPE_TRY(checkModelChoice(c));
  PIPESCOPE_TRY(c.checkApplies());
  PIPESCOPE_TRY(checkCounts(c));
  PIPESCOPE_TRY(checkPhaseKeys(c));
  PIPESCOPE_TRY(checkRecompute(c));
  PIPESCOPE_TRY(checkIoTiles(c));
  return checkDeviceOptions(c);
}

}  // namespace pipescope::app
