#include "app/run/request/fixed/fixed_configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "app/run/request/configuration_checks.h"
#include "app/run/request/fixed/fixed_layers.h"
#include "app/run/request/model_translation.h"
#include "engine/compiler/replica_count.h"
#include "engine/devices/system_registry.h"

namespace pipescope::app {
namespace {

using config::Configuration;
using config::Settings;

/// True for a key that given costs leave to choose: the system, the order of the work, and how much of it
/// there is.
bool fixedConfigurationReads(std::string_view path) {
  static constexpr std::string_view kRead[] = {"model.name",
                                               "execution.strategy",
                                               "execution.schedule",
                                               "execution.chunks",
                                               "execution.mode",
                                               "execution.numerics",
                                               "execution.record",
                                               "execution.record_replicas",
                                               "execution.seed",
                                               "execution.threads",
                                               "training.gradient_accumulation",
                                               "training.device_iterations",
                                               "training.micro_batch_costs",
                                               "training.replication_factor",
                                               "inference.device_iterations",
                                               "inference.gradient_accumulation",
                                               "inference.replication_factor"};
  return path.starts_with("system.") || path.starts_with("fixed.") || path.find("[]") != path.npos ||
         std::ranges::find(kRead, path) != std::end(kRead);
}

/// Refuses what only a model can have.
base::Status checkTensorKeys(const Configuration& c) {
  std::string first;
  for (const config::Key& key : c.keys().all()) {
    if (first.empty() && !fixedConfigurationReads(key.path) && c.given(key.path)) first = key.path;
  }
  for (const char* table : {"model.layers", "model.blocks", "model.multi_convs"}) {
    if (first.empty() && !c.tables(table).empty()) first = fmt::format("[[{}]]", table);
  }
  if (!first.empty()) {
    return base::badInput(
        fmt::format("{} is for models, but system {} has costs that are given and no tensors: leave it out.",
                    first, c.text("system.name")));
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
        "There are {} [[stages]] but {} stages with costs: give one of each, or leave out [[stages]].",
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
  if (c.tables("fixed.layers").empty()) {
    for (const Settings& stage : c.tables("fixed.stages")) run.stages.push_back(fixedCosts(stage));
  } else {
    PIPESCOPE_ASSIGN(run.stages, stagesOfLayers(c, run.schedule));
  }
  run.chunks = static_cast<int>(c.integer("execution.chunks"));
  run.exchange = c.real("fixed.exchange");
  run.call = c.real("fixed.call");
  run.blockingSends = c.boolean("fixed.blocking_sends");
  run.sharedCompute = c.real("fixed.shared_compute");
  run.launch = c.real("fixed.launch");
  run.receive = c.real("fixed.receive");
  const std::string unit = c.text("fixed.unit");
  run.unitSeconds = unit == "s" ? 1 : unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : 0;
  run.memory = c.integer("fixed.memory");
  run.bandwidth = c.real("fixed.bandwidth");
  run.collective = c.real("fixed.collective");
  PIPESCOPE_ASSIGN(run.placeOfStage, devicesOfStages(c, run.stages.size()));
  run.recordAllReplicas = c.text("execution.record_replicas") == "all";
  PIPESCOPE_TRY(addReplicas(c, run));
  return run;
}

}  // namespace pipescope::app
