#include "app/run/request/configuration_checks.h"

#include <fmt/format.h>

#include "app/run/request/model_choice.h"
#include "engine/compile/model/stage_layout.h"

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

base::Status checkOverlap(const Configuration& c) {
  if (!c.boolean("execution.overlap_io")) return {};
  if (c.integer("execution.io_tiles") == 0) {
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

base::Status checkConfiguration(const Configuration& c) {
  PIPESCOPE_TRY(checkModelChoice(c));
  PIPESCOPE_TRY(c.checkApplies());
  PIPESCOPE_TRY(checkCounts(c));
  PIPESCOPE_TRY(checkPhaseKeys(c));
  PIPESCOPE_TRY(checkRecompute(c));
  return checkOverlap(c);
}

}  // namespace pipescope::app
