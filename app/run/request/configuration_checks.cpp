#include "app/run/request/configuration_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/run/request/model_choice.h"
#include "app/run/request/model_translation.h"
#include "engine/compiler/stage_layout.h"
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
  for (const char* key :
       {"execution.metrics", "execution.metrics_prometheus", "execution.metrics_tensorboard"}) {
    if (c.text(key).empty() || c.boolean("execution.numerics")) continue;
    return base::badInput(fmt::format(
        "{} needs losses and accuracies, but execution.numerics is off: leave one of the two out.", key));
  }
  for (const std::string table : {"training", "inference"}) {
    if (!c.given(table + ".output_period") || c.text(table + ".output_mode") == "every_n") continue;
    return base::badInput(
        fmt::format("{0}.output_period is given, but {0}.output_mode is not every_n: set the mode or leave "
                    "out the period.",
                    table));
  }
  return {};
}

base::Status checkHost(const Configuration& c) {
  if (c.real("data.loader_rate") > 0 &&
      (c.real("host.seconds_per_load") > 0 || c.given("host.loader_workers"))) {
    return base::badInput(
        "data.loader_rate says how many samples the host's workers prepare, and so do host.seconds_per_load "
        "and host.loader_workers: leave one of them out.");
  }
  if (c.integer("host.loader_workers") > 0 && c.real("host.seconds_per_load") <= 0) {
    return base::badInput(
        "host.loader_workers is given, but host.seconds_per_load is 0, so that workers have nothing to do: "
        "set "
        "the time that a sample takes, or leave the workers out.");
  }
  if (c.text("host.copies") != "overlapped") return {};
  PIPESCOPE_ASSIGN(const auto system, devices::makeSystem(c.text("system.name"), systemOptions(c)));
  for (const devices::Accelerator& accelerator : devices::accelerators()) {
    if (accelerator.name != system->facts().accelerator ||
        std::ranges::find(accelerator.settings, "io_tiles") == accelerator.settings.end())
      continue;
    return base::badInput(
        fmt::format("host.copies is overlapped, but system {} overlaps copies with I/O tiles: set "
                    "execution.overlap_io and execution.io_tiles instead.",
                    c.text("system.name")));
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
  if (named && recompute == "selective") {
    return base::badInput(
        "execution.checkpoints names results to keep, but execution.recompute is selective, which keeps all "
        "but the "
        "scores of attention: leave one of them out.");
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

base::Status checkRanks(const Configuration& c) {
  if (!c.tables("model.shard").empty() && c.integer("execution.tensor_parallel") < 2) {
    return base::badInput(
        "[[model.shard]] divides weights among the ranks of execution.tensor_parallel, which is 1: set it to "
        "2 or "
        "more, or leave the table out.");
  }
  if (!c.boolean("execution.sequence_parallel") || c.integer("execution.tensor_parallel") > 1) return {};
  return base::badInput(
      "execution.sequence_parallel divides rows among the ranks of execution.tensor_parallel, which is 1: "
      "set it to 2 "
      "or more, or leave sequence_parallel out.");
}

base::Status checkExceptions(const Configuration& c) {
  if (!c.boolean("execution.floating_point_exceptions") || c.boolean("execution.numerics")) return {};
  return base::badInput(
      "execution.floating_point_exceptions looks at the numbers, but execution.numerics is off: leave one of "
      "them out.");
}

}  // namespace

base::Status checkScheduleKeys(const Configuration& c) {
  const std::string& strategy = c.text("execution.strategy");
  if (compile::strategyOf(strategy) == compile::Strategy::pipelined) return {};
  // A strategy of a stronger origin replaces what the file says of pipelines.
  if (!c.given("execution.schedule") || c.origin("execution.schedule") < c.origin("execution.strategy"))
    return {};
  return base::badInput(fmt::format(
      "execution.schedule is about pipelines, but execution.strategy is {}, which has an order of "
      "its own: leave one of them out.",
      strategy));
}

base::Status checkConfiguration(const Configuration& c) {
  PIPESCOPE_TRY(checkModelChoice(c));
  PIPESCOPE_TRY(c.checkApplies());
  PIPESCOPE_TRY(checkCounts(c));
  PIPESCOPE_TRY(checkHost(c));
  PIPESCOPE_TRY(checkScheduleKeys(c));
  PIPESCOPE_TRY(checkPhaseKeys(c));
  PIPESCOPE_TRY(checkRecompute(c));
  PIPESCOPE_TRY(checkOverlap(c));
  PIPESCOPE_TRY(checkRanks(c));
  return checkExceptions(c);
}

}  // namespace pipescope::app
