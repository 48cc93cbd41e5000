#include "app/run/request/fixed_configuration.h"

#include <fmt/format.h>

#include "app/run/request/configuration_checks.h"
#include "app/run/request/model_translation.h"
#include "engine/compile/model/replica_count.h"
#include "engine/devices/system_registry.h"

namespace pipescope::app {
namespace {

using config::Configuration;
using config::Settings;

base::Status checkTensorKeys(const Configuration& c) {
  for (const char* key : {"execution.offload_optimizer",
                          "execution.offload_weights",
                          "execution.offload_activations",
                          "execution.offload_accumulators",
                          "execution.shard_optimizer",
                          "execution.shard_weights",
                          "execution.shard_accumulators",
                          "execution.stages",
                          "execution.cuts",
                          "execution.cut_devices",
                          "execution.checkpoints",
                          "execution.overlap_io",
                          "data.loader_rate",
                          "host.seconds_per_step",
                          "host.seconds_per_sample",
                          "host.reads_results",
                          "host.seconds_per_load",
                          "host.loader_workers",
                          "host.cores",
                          "host.processes",
                          "host.copies",
                          "training.norm_replicas",
                          "training.merge_collectives",
                          "training.check_replicas",
                          "training.input_replica_grouping",
                          "execution.metrics",
                          "execution.metrics_prometheus",
                          "execution.metrics_tensorboard",
                          "execution.load_weights",
                          "execution.save_weights"}) {
    if (c.given(key)) {
      return base::badInput(fmt::format(
          "{} is for models, but system {} has costs that are given and no tensors: leave it out.", key,
          c.text("system.name")));
    }
  }
  if (compile::isPhased(compile::strategyOf(c.text("execution.strategy")))) {
    return base::badInput(
        "The phased strategies load and store tensors, which given costs do not have: use a model, or "
        "another strategy.");
  }
  return {};
}

/// The devices that [[stages]] names; empty if it names none.
base::Result<std::vector<int>> devicesOfStages(const Configuration& c, std::size_t stages) {
  const std::vector<Settings>& tables = c.tables("stages");
  if (!tables.empty() && tables.size() != stages) {
    return base::badInput(fmt::format(
        "There are {} [[stages]] but {} [[fixed.stages]]: give one of each, or leave out [[stages]].",
        tables.size(), stages));
  }
  std::vector<int> devices;
  bool named = false;
  for (const Settings& stage : tables) {
    const auto device = static_cast<int>(stage.integer("device"));
    named = named || device >= 0;
    devices.push_back(device >= 0 ? device : static_cast<int>(devices.size()));
  }
  return named ? devices : std::vector<int>();
}

/// Sets the number of replicas from the same keys as for a model.
base::Status addReplicas(const Configuration& c, compile::FixedRun& run) {
  compile::ModelRequest request;
  request.devices = c.integer("system.devices");
  request.computesNumbers = c.boolean("execution.numerics");
  PIPESCOPE_ASSIGN(request.scales, deviceScales(c));
  compile::ExecutableRequest executable;
  if (!run.training) executable.kind = model::ExecutableKind::inference;
  executable.replicas = replicaRequest(c, run.training);
  PIPESCOPE_ASSIGN(const int devices, compile::devicesOf(run));
  PIPESCOPE_ASSIGN(run.replicas, compile::countReplicas(request, executable, devices));
  PIPESCOPE_TRY(compile::checkScales(request.scales, devices * run.replicas));
  run.scales = request.scales;
  return {};
}

}  // namespace

base::Result<compile::FixedRun> fixedRun(const Configuration& c) {
  PIPESCOPE_TRY(devices::checkSettings(c.text("system.name"), systemOptions(c)));
  PIPESCOPE_TRY(checkTensorKeys(c));
  PIPESCOPE_TRY(checkScheduleKeys(c));
  compile::FixedRun run;
  const bool pipelined = compile::strategyOf(c.text("execution.strategy")) == compile::Strategy::pipelined;
  run.schedule = pipelined ? c.text("execution.schedule") : "sharded";
  run.training = c.text("execution.mode") != "inference";
  run.microBatches = static_cast<int>(
      c.integer(run.training ? "training.gradient_accumulation" : "inference.device_iterations"));
  run.deviceIterations = static_cast<int>(c.integer("training.device_iterations"));
  if (run.training) {
    PIPESCOPE_ASSIGN(run.microBatchCosts, costsOfMicroBatches(c));
  }
  for (const Settings& stage : c.tables("fixed.stages")) {
    run.stages.push_back({stage.real("forward"), stage.real("recompute"), stage.real("backward"),
                          stage.real("update"), stage.real("weight"), stage.integer("sends")});
  }
  run.chunks = static_cast<int>(c.integer("execution.chunks"));
  run.exchange = c.real("fixed.exchange");
  run.call = c.real("fixed.call");
  run.bandwidth = c.real("fixed.bandwidth");
  run.collective = c.real("fixed.collective");
  PIPESCOPE_ASSIGN(run.deviceOfStage, devicesOfStages(c, run.stages.size()));
  run.recordAllReplicas = c.text("execution.record_replicas") == "all";
  PIPESCOPE_TRY(addReplicas(c, run));
  return run;
}

}  // namespace pipescope::app
