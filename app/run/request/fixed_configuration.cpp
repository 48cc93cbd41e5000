#include "app/run/request/fixed_configuration.h"

#include <fmt/format.h>

#include "app/run/request/phases.h"
#include "app/run/request/replicas.h"
#include "app/run/request/user_folders.h"
#include "engine/devices/system_registry.h"

namespace pipescope::app {

using config::Configuration;
using config::Settings;

std::vector<devices::FamilySetting> deviceSettings(const Configuration& c) {
  std::vector<devices::FamilySetting> settings;
  if (c.given("execution.available_memory_proportion"))
    settings.push_back({"available_memory_proportion", c.real("execution.available_memory_proportion")});
  if (c.given("execution.partials_type"))
    settings.push_back({"partials_type", c.text("execution.partials_type")});
  if (c.given("execution.io_tiles"))
    settings.push_back({"io_tiles", static_cast<double>(c.integer("execution.io_tiles"))});
  return settings;
}

base::Result<Compilation> compileFixedConfiguration(const Configuration& c) {
  devices::SystemOptions options;
  options.userFolder = userConfigurationFolder();
  options.settings = deviceSettings(c);
  PIPESCOPE_TRY(devices::checkSettings(c.text("system.name"), options));
  for (const char* key :
       {"execution.offload_optimizer", "execution.offload_weights", "execution.offload_activations",
        "execution.offload_accumulators", "execution.shard_optimizer", "execution.shard_weights",
        "execution.shard_accumulators", "execution.checkpoints", "execution.overlap_io", "data.loader_rate",
        "training.norm_replicas", "training.check_replicas", "training.input_replica_grouping"}) {
    if (c.given(key)) {
      return base::badInput(fmt::format(
          "{} is for models, but system fixed has costs that are given and no tensors: leave it out.", key));
    }
  }
  if (isPhased(c)) {
    return base::badInput(
        "The phased strategies load and store tensors, which given costs do not have: use a model, or "
        "another "
        "strategy.");
  }
  FixedRun run;
  run.schedule = isPipelined(c) ? c.text("execution.schedule") : "sharded";
  run.microBatches = static_cast<int>(c.integer("training.gradient_accumulation"));
  run.deviceIterations = static_cast<int>(c.integer("training.device_iterations"));
  run.training = c.text("execution.mode") != "inference";
  if (!run.training) run.microBatches = static_cast<int>(c.integer("inference.device_iterations"));
  for (const Settings& stage : c.tables("fixed.stages")) {
    run.stages.push_back({stage.real("forward"), stage.real("recompute"), stage.real("backward"),
                          stage.real("update"), stage.real("weight")});
  }
  run.chunks = static_cast<int>(c.integer("execution.chunks"));
  run.exchange = c.real("fixed.exchange");
  run.call = c.real("fixed.call");
  bool placed = false;
  for (const Settings& stage : c.tables("stages")) {
    run.deviceOfStage.push_back(static_cast<int>(stage.integer("device")));
    placed = placed || run.deviceOfStage.back() >= 0;
  }
  if (!run.deviceOfStage.empty() && run.deviceOfStage.size() != run.stages.size()) {
    return base::badInput(fmt::format(
        "There are {} [[stages]] but {} [[fixed.stages]]: give one of each, or leave out [[stages]].",
        run.deviceOfStage.size(), run.stages.size()));
  }
  for (std::size_t s = 0; s < run.deviceOfStage.size(); ++s) {
    if (run.deviceOfStage[s] < 0) run.deviceOfStage[s] = static_cast<int>(s);
  }
  if (!placed) run.deviceOfStage.clear();
  run.collective = c.real("fixed.collective");
  run.recordAllReplicas = c.text("execution.record_replicas") == "all";
  PIPESCOPE_ASSIGN(const int devices, devicesOf(run));
  PIPESCOPE_ASSIGN(run.replicas, chooseReplicas(c, run.training, devices));
  PIPESCOPE_ASSIGN(run.scales, deviceScales(c, devices * run.replicas));
  return compileFixed(run);
}

}  // namespace pipescope::app
