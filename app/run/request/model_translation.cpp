#include "app/run/request/model_translation.h"

#include <fmt/format.h>

#include <set>

#include "app/run/request/float8_request.h"
#include "app/run/request/generation.h"
#include "app/run/request/host_defaults.h"
#include "app/run/request/model_choice.h"
#include "app/run/request/optimizer_choice.h"
#include "app/run/request/training_options.h"
#include "app/run/request/user_folders.h"
#include "engine/compile/passes/pass.h"
#include "engine/devices/system_registry.h"
#include "engine/emulate/micro_batch_costs.h"

namespace pipescope::app {
namespace {

using config::Configuration;

std::variant<double, std::string> settingValue(const config::Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1.0 : 0.0;
  return std::get<std::string>(value);
}

/// The settings in an entry of [[stages]] for the device that holds the stage.
std::vector<devices::FamilySetting> deviceSettings(const config::Settings& stage) {
  constexpr const char* kProportion = "available_memory_proportion";
  if (stage.real(kProportion) <= 0) return {};
  return {{kProportion, stage.real(kProportion)}};
}

compile::LayoutRequest layoutRequest(const Configuration& c) {
  compile::LayoutRequest layout;
  layout.strategy = compile::strategyOf(c.text("execution.strategy"));
  layout.schedule = c.text("execution.schedule");
  layout.scheduleAsked = c.origin("execution.schedule") > config::Origin::derived;
  layout.layersPerStage = c.integers("execution.layers_per_stage");
  layout.splitInto = static_cast<int>(c.integer("execution.stages"));
  layout.cuts = c.texts("execution.cuts");
  layout.cutDevices = c.integers("execution.cut_devices");
  layout.whole = c.tables("model.layers").empty() && c.tables("model.blocks").empty();
  layout.chunks = static_cast<int>(c.integer("execution.chunks"));
  layout.separateBackwardPhase = c.boolean("execution.separate_backward_phase");
  for (const config::Settings& stage : c.tables("stages")) {
    layout.stages.push_back({stage.texts("blocks"), static_cast<int>(stage.integer("device")),
                             static_cast<int>(stage.integer("phase")), deviceSettings(stage)});
  }
  return layout;
}

base::Result<compile::RecomputeRequest> recomputeRequest(const Configuration& c) {
  if (!c.texts("execution.recompute_operators").empty() && c.text("execution.recompute") != "selective")
    return base::badInput(
        "execution.recompute_operators needs execution.recompute selective: set that, or leave this out.");
  using Mode = compile::RecomputeRequest::Mode;
  compile::RecomputeRequest recompute;
  const std::string& asked = c.text("execution.recompute");
  if (asked != "auto") {
    recompute.mode = asked == "none" ? Mode::never : asked == "selective" ? Mode::selective : Mode::always;
  }
  recompute.checkpoints = c.texts("execution.checkpoints");
  recompute.operators = c.texts("execution.recompute_operators");
  return recompute;
}

/// Phased strategies keep all kinds of tensors off the chip unless a key says otherwise.
compile::TensorLocations tensorLocations(const Configuration& c) {
  const bool phased = compile::isPhased(compile::strategyOf(c.text("execution.strategy")));
  const auto location = [&](const char* kind, bool shards) {
    const std::string key = std::string("execution.offload_") + kind;
    compile::TensorLocation at;
    at.offChip = c.given(key) || !phased ? c.boolean(key) : true;
    at.sharded = shards && c.boolean(std::string("execution.shard_") + kind);
    at.leastOffChip = c.integer("execution.offload_least_elements");
    at.leastSharded = c.integer("execution.shard_least_elements");
    return at;
  };
  compile::TensorLocations where;
  where.weights = location("weights", true);
  where.optimizerState = location("optimizer", true);
  where.accumulators = location("accumulators", true);
  where.activations = location("activations", false);
  return where;
}

emulate::OutputRule outputRule(const std::string& mode, std::int64_t period) {
  using Mode = emulate::OutputRule::Mode;
  if (mode == "final") return {Mode::final, 1};
  if (mode == "sum") return {Mode::sum, 1};
  if (mode == "every_n") return {Mode::everyN, period};
  return {Mode::all, 1};
}

base::Result<compile::ExecutableRequest> executableRequest(const Configuration& c,
                                                           model::ExecutableKind kind) {
  const bool training = kind == model::ExecutableKind::training;
  const std::string table = training ? "training." : "inference.";
  compile::ExecutableRequest executable;
  executable.kind = kind;
  PIPESCOPE_ASSIGN(graph::Graph forward, buildGraph(c, training));
  executable.forward = std::make_shared<const graph::Graph>(std::move(forward));
  if (repeatedKeys(c) || repeatedHeads(c)) {
    PIPESCOPE_ASSIGN(graph::Graph ofRanks, buildGraphOfRanks(c, training));
    executable.forwardOfRanks = std::make_shared<const graph::Graph>(std::move(ofRanks));
  }
  executable.microBatchSize = c.integer(table + "micro_batch_size");
  executable.deviceIterations = c.integer(table + "device_iterations");
  executable.replicas = replicaRequest(c, training);
  if (!training) executable.cacheRoom = cacheRoomOf(c);
  // Validation counts all its predictions; only calls of an executable that infers return less.
  if (kind != model::ExecutableKind::validation) {
    executable.output = outputRule(c.text(table + "output_mode"), c.integer(table + "output_period"));
  }
  if (!training) return executable;
  executable.microBatches = c.integer("training.gradient_accumulation");
  PIPESCOPE_ASSIGN(executable.microBatchCosts, costsOfMicroBatches(c));
  return executable;
}

/// The executables of a generation, all of which infer.
base::Result<std::vector<compile::ExecutableRequest>> generationRequests(const Configuration& c,
                                                                         const Generation& generation) {
  std::vector<compile::ExecutableRequest> executables;
  PIPESCOPE_ASSIGN(const std::vector<GenerationPart> parts, generationParts(c, generation));
  for (const GenerationPart& part : parts) {
    PIPESCOPE_ASSIGN(compile::ExecutableRequest executable,
                     executableRequest(part.configuration, model::ExecutableKind::inference));
    executable.name = part.name;
    executables.push_back(std::move(executable));
  }
  return executables;
}

/// The executables that execution.mode asks for. Validation between epochs needs one that infers.
std::vector<model::ExecutableKind> executableKinds(const Configuration& c) {
  using enum model::ExecutableKind;
  const std::string& mode = c.text("execution.mode");
  if (mode == "inference") return {inference};
  if (mode == "all") return {training, inference};
  if (c.integer("training.validation_interval") > 0) return {training, validation};
  return {training};
}

emulate::HostModel hostModel(const Configuration& c) {
  emulate::HostModel host;
  host.secondsPerStep = c.real("host.seconds_per_step");
  host.secondsPerSample = c.real("host.seconds_per_sample");
  host.secondsPerCall = c.real("host.seconds_per_call");
  host.readsResults = c.boolean("host.reads_results");
  host.secondsPerLoad = c.real("host.seconds_per_load");
  host.loaderWorkers = c.integer("host.loader_workers");
  host.loaderRate = c.real("data.loader_rate");
  host.cores = c.integer("host.cores");
  host.processes = c.integer("host.processes");
  host.memory = base::Bytes(c.integer("host.memory"));
  return host;
}

base::Status addTraining(const Configuration& c, compile::ModelRequest& request) {
  PIPESCOPE_ASSIGN(request.update.optimizer, chooseOptimizer(c));
  PIPESCOPE_ASSIGN(request.update.numbers, trainingOptions(c));
  request.update.normReplicas = c.integer("training.norm_replicas");
  if (const std::string& buffers = c.text("training.gradient_buffers"); buffers != "auto")
    request.update.gradientBuffers = buffers == "true";
  request.update.mergeCollectives = c.boolean("training.merge_collectives");
  request.update.returnedGradients = c.texts("training.returned_gradients");
  request.update.reduceScatter = c.boolean("training.reduce_scatter");
  request.update.overlapCollectives = c.boolean("training.overlap_collectives");
  return {};
}

}  // namespace

devices::SystemOptions systemOptions(const Configuration& c) {
  devices::SystemOptions options;
  options.userFolder = userConfigurationFolder();
  for (const devices::Accelerator& accelerator : devices::accelerators()) {
    for (const std::string& name : accelerator.settings) {
      const std::string key = "execution." + name;
      if (c.given(key)) options.settings.push_back({name, settingValue(c.value(key))});
    }
  }
  return options;
}

compile::ReplicaRequest replicaRequest(const Configuration& c, bool training) {
  const char* key = training ? "training.replication_factor" : "inference.replication_factor";
  compile::ReplicaRequest replicas;
  replicas.count = static_cast<int>(c.integer(key));
  const bool fills = training || c.text("execution.mode") == "inference";
  replicas.fillsDevices = fills && !c.given(key);
  replicas.inputGroup =
      c.integer(training ? "training.input_replica_grouping" : "inference.input_replica_grouping");
  if (!training) return replicas;
  replicas.compares = c.boolean("training.check_replicas");
  return replicas;
}

base::Result<std::vector<double>> costsOfMicroBatches(const Configuration& c) {
  return emulate::microBatchCosts(c.text("training.micro_batch_costs"),
                                  c.integer("training.gradient_accumulation"),
                                  static_cast<std::uint64_t>(c.integer("execution.seed")));
}

base::Result<std::vector<emulate::DeviceScale>> deviceScales(const Configuration& c) {
  std::vector<emulate::DeviceScale> scales;
  std::set<std::int64_t> seen;
  for (const config::Settings& entry : c.tables("device_scale")) {
    const std::int64_t device = entry.integer("device");
    if (!seen.insert(device).second)
      return base::badInput(fmt::format("[[device_scale]] names device {} twice: leave one out.", device));
    scales.push_back({static_cast<int>(device), entry.real("compute"), entry.real("link")});
  }
  return scales;
}

base::Result<compile::ModelRequest> modelRequest(const Configuration& c) {
  compile::ModelRequest request;
  PIPESCOPE_ASSIGN(const std::optional<Generation> generation, generationOf(c));
  if (generation) {
    PIPESCOPE_ASSIGN(request.executables, generationRequests(c, *generation));
  }
  for (const model::ExecutableKind kind :
       generation ? std::vector<model::ExecutableKind>() : executableKinds(c)) {
    PIPESCOPE_ASSIGN(compile::ExecutableRequest executable, executableRequest(c, kind));
    if (kind == model::ExecutableKind::training) PIPESCOPE_TRY(addTraining(c, request));
    request.executables.push_back(std::move(executable));
  }
  request.layout = layoutRequest(c);
  request.precision = precisionOf(c);
  PIPESCOPE_ASSIGN(request.float8, float8Request(c));
  PIPESCOPE_ASSIGN(request.float32Operators, keptInFloat32(c));
  request.stochasticRounding = c.boolean("execution.stochastic_rounding");
  request.ranks.tensor = static_cast<int>(c.integer("execution.tensor_parallel"));
  request.ranks.sequence = c.boolean("execution.sequence_parallel");
  for (const config::Settings& shard : c.tables("model.shard"))
    request.ranks.shards.push_back({shard.text("weights"), shard.integer("axis")});
  if (const std::optional<RepeatedKeys> keys = repeatedKeys(c)) {
    request.ranks.keyHeads = keys->heads;
    request.ranks.keyRepeats = keys->repeats;
  }
  if (const std::optional<RepeatedHeads> repeated = repeatedHeads(c)) {
    request.ranks.heads = repeated->heads;
    request.ranks.headRanks = static_cast<int>(repeated->ranks);
  }
  request.ranks.context = static_cast<int>(c.integer("execution.context_parallel"));
  request.ranks.exchangesHeads = c.text("execution.context_exchange") == "heads";
  request.ranks.ring = c.text("execution.context_exchange") == "ring";
  request.ranks.paired = c.text("execution.context_layout") == "paired";
  const std::string& order = c.text("execution.axis_order");
  if (order != "auto") request.ranks.placesOutermost = order == "tp-cp-ep-dp-pp";
  request.ranks.expert = static_cast<int>(c.integer("execution.expert_parallel"));
  PIPESCOPE_ASSIGN(request.ranks.expertLoad, compile::parseExpertLoad(c.text("execution.expert_load")));
  PIPESCOPE_ASSIGN(request.recompute, recomputeRequest(c));
  request.locations = tensorLocations(c);
  request.sharesIfReplicated = c.integer("execution.zero") > 0;
  for (const compile::PassDefinition& pass : compile::passRegistry().all()) {
    if (!c.boolean("compile." + pass.name)) request.passesOff.insert(pass.name);
  }
  request.overlapIo = c.boolean("execution.overlap_io");
  const std::string& attention = c.text("execution.fused_attention");
  if (attention != "auto") request.fusedAttention = attention == "true";
  request.host = hostModel(c);
  if (!c.text("inference.host").empty()) {
    PIPESCOPE_ASSIGN(const Configuration inferring, withInferenceHost(c));
    request.inferenceHost = hostModel(inferring);
  }
  if (c.text("host.copies") == "overlapped") request.overlapIo = true;
  request.recordAllReplicas = c.text("execution.record_replicas") == "all";
  request.processes = static_cast<int>(c.integer("execution.instances"));
  request.computesNumbers = c.boolean("execution.numerics");
  request.system = c.text("system.name");
  request.systemOptions = systemOptions(c);
  request.devices = c.integer("system.devices");
  PIPESCOPE_ASSIGN(request.scales, deviceScales(c));
  return request;
}

std::map<std::string, emulate::OutputRule> ownOutputRules(const Configuration& c) {
  std::map<std::string, emulate::OutputRule> rules;
  for (const config::Settings& each : c.tables("model.returned"))
    rules[each.text("output")] = outputRule(each.text("mode"), each.integer("period"));
  return rules;
}

}  // namespace pipescope::app
