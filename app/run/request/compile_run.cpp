#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "app/run/request/accelerator.h"
#include "app/run/request/compilation.h"
#include "app/run/request/compiler_passes.h"
#include "app/run/request/data_choice.h"
#include "app/run/request/fixed_configuration.h"
#include "app/run/request/model_choice.h"
#include "app/run/request/optimizer_choice.h"
#include "app/run/request/phases.h"
#include "app/run/request/replicas.h"
#include "app/run/request/stage_choice.h"
#include "app/run/request/tensor_locations.h"
#include "app/run/request/training_options.h"
#include "app/run/request/user_folders.h"
#include "engine/compile/distributed_norm.h"
#include "engine/compile/gradients.h"
#include "engine/compile/loss_scaling.h"
#include "engine/compile/plan_builder.h"
#include "engine/compile/precision.h"
#include "engine/compile/recompute.h"
#include "engine/devices/system_registry.h"
#include "engine/ops/standard_operators.h"
#include "engine/schedules/phases.h"

namespace pipescope::app {
namespace {

using config::Configuration;
using config::Settings;

/// What the executables of one configuration share.
class ModelCompiler {
 public:
  ModelCompiler(const Configuration& c, base::Executor& executor) : c_(c), executor_(executor) {}

  base::Result<Compilation> compile() {
    PIPESCOPE_TRY(checkModelChoice(c_));
    PIPESCOPE_TRY(checkCounts());
    PIPESCOPE_TRY(checkStrategy(c_));
    const std::string& mode = c_.text("execution.mode");
    if (mode != "inference") PIPESCOPE_TRY(addExecutable(model::ExecutableKind::training));
    if (mode != "training") PIPESCOPE_TRY(addExecutable(model::ExecutableKind::inference));
    if (mode == "training" && c_.integer("training.validation_interval") > 0)
      PIPESCOPE_TRY(addExecutable(model::ExecutableKind::validation));
    PIPESCOPE_TRY(scaleDevices());
    notePhases();
    noteIdleDevices();
    noteData();
    return std::move(result_);
  }

 private:
  base::Status checkCounts() const {
    if (c_.integer("inference.gradient_accumulation") != 1) {
      return base::badInput(
          "inference.gradient_accumulation must be 1: inference has no gradients. To run more micro-batches "
          "per call raise inference.device_iterations.");
    }
    if (c_.integer("data.instance") >= c_.integer("data.instances")) {
      return base::badInput(
          fmt::format("data.instance is {}, but data.instances is {}: parts are counted from 0.",
                      c_.integer("data.instance"), c_.integer("data.instances")));
    }
    if (const double rate = c_.real("data.loader_rate"); rate > 0 && rate < 0.001) {
      return base::badInput(
          fmt::format("data.loader_rate is {} samples/s; give at least 0.001, or 0 for a pipeline that never "
                      "holds devices up.",
                      rate));
    }
    if (c_.given("training.output_period") && c_.text("training.output_mode") != "every_n") {
      return base::badInput(
          "training.output_period is given, but training.output_mode is not every_n: set the mode or leave "
          "out the period.");
    }
    return {};
  }

  base::Status makeSystem(const compile::Replication& replication,
                          const std::vector<compile::StageSpec>& stages) {
    result_.devicesUsed = std::max(result_.devicesUsed, replication.replicas * replication.devicesPerReplica);
    if (result_.system) return checkDevices(replication);
    devices::SystemOptions options;
    options.userFolder = userConfigurationFolder();
    options.devices = c_.integer("system.devices");
    options.settings = deviceSettings(c_);
    PIPESCOPE_ASSIGN(const auto proportions, memoryProportions(c_, stages));
    for (const auto& [device, proportion] : proportions)
      options.settings.push_back({"available_memory_proportion", proportion, device});
    options.oneAtATime = scheduleName(c_) == "sharded" && c_.text("execution.strategy") != "parallel_phased";
    PIPESCOPE_ASSIGN(result_.system, devices::makeSystem(c_.text("system.name"), options));
    return checkDevices(replication);
  }

  base::Status checkDevices(const compile::Replication& replication) const {
    const int devicesUsed = replication.replicas * replication.devicesPerReplica;
    const auto available = static_cast<int>(result_.system->devices().size());
    if (devicesUsed <= available) return {};
    if (replication.replicas > 1) {
      return base::badInput(fmt::format(
          "{} replicas of {} devices use {}, but system {} has {}: choose a larger one with --system, or "
          "fewer replicas.",
          replication.replicas, replication.devicesPerReplica, devicesUsed, result_.system->name(),
          available));
    }
    return base::badInput(
        fmt::format("The stages use {} devices, but system {} has {}: choose a larger one with --system, "
                    "or put more blocks into a stage.",
                    devicesUsed, result_.system->name(), available));
  }

  emulate::ExecutableFacts facts(bool training, const std::string& schedule, bool recompute) const {
    emulate::ExecutableFacts facts;
    facts.strategy = c_.text("execution.strategy");
    facts.schedule = schedule;
    const bool named = !c_.texts("execution.checkpoints").empty();
    facts.recompute = !recompute ? "none" : named ? "checkpoints" : "pipeline";
    facts.overlapIo = c_.boolean("execution.overlap_io");
    facts.loaderRate = c_.real("data.loader_rate");
    facts.microBatchSize = c_.integer(training ? "training.micro_batch_size" : "inference.micro_batch_size");
    facts.deviceIterations =
        c_.integer(training ? "training.device_iterations" : "inference.device_iterations");
    facts.microBatches = training ? c_.integer("training.gradient_accumulation") : facts.deviceIterations;
    facts.iterations = training ? facts.deviceIterations : 1;
    if (training) facts.output = outputRule();
    if (training) facts.inputGroup = c_.integer("training.input_replica_grouping");
    facts.recordAllReplicas = c_.text("execution.record_replicas") == "all";
    return facts;
  }

  base::Result<compile::Replication> replication(bool training, const schedules::Shape& shape,
                                                 const schedules::Order& order) const {
    compile::Replication replication;
    replication.devicesPerReplica = schedules::deviceCount(shape);
    PIPESCOPE_ASSIGN(replication.replicas, chooseReplicas(c_, training, replication.devicesPerReplica));
    replication.atOnce = order.update == schedules::UpdateOrder::concurrent;
    replication.mirrored = order.pipes > 1;
    return replication;
  }

  /// Scales hold for all executables, and are checked against the devices of all.
  base::Status scaleDevices() {
    PIPESCOPE_ASSIGN(const std::vector<emulate::DeviceScale> scales, deviceScales(c_, result_.devicesUsed));
    for (CompiledExecutable& executable : result_.executables) executable.facts.scales = scales;
    return {};
  }

  emulate::OutputRule outputRule() const {
    using Mode = emulate::OutputRule::Mode;
    const std::string& mode = c_.text("training.output_mode");
    if (mode == "final") return {Mode::final, 1};
    if (mode == "sum") return {Mode::sum, 1};
    if (mode == "every_n") return {Mode::everyN, c_.integer("training.output_period")};
    return {Mode::all, 1};
  }

  base::Status addExecutable(model::ExecutableKind kind) {
    const bool training = kind == model::ExecutableKind::training;
    PIPESCOPE_ASSIGN(graph::Graph graph, buildGraph(c_, training));
    PIPESCOPE_ASSIGN(const std::vector<std::string> wide, keptInFloat32(c_));
    PIPESCOPE_ASSIGN(graph, compile::withPrecision(graph, precisionOf(c_), ops::standardOperators(), wide));
    std::optional<graph::TensorId> root;
    if (training) {
      PIPESCOPE_ASSIGN(graph, compile::distributeBatchNorm(graph, c_.integer("training.norm_replicas"),
                                                           ops::standardOperators()));
    }
    if (training && scalesLoss(c_)) {
      PIPESCOPE_ASSIGN(compile::ScaledLoss scaled,
                       compile::scaleLoss(graph, c_.real("training.loss_scaling"), ops::standardOperators()));
      graph = std::move(scaled.graph);
      root = scaled.root;
    }
    PIPESCOPE_ASSIGN(const std::vector<compile::StageSpec> stages, chooseStages(c_, graph));
    if (training) {
      PIPESCOPE_ASSIGN(graph, compile::addGradients(graph, ops::standardOperators(), root));
    }
    compile::PassRunner passes = compilerPasses(c_, stages);
    PIPESCOPE_TRY(passes.runOn(graph));
    const std::string schedule = scheduleName(c_);
    if (isPipelined(c_) && schedule == "sharded") {
      return base::badInput(
          "execution.schedule = \"sharded\" belongs to execution.strategy = \"sharded\": set the strategy "
          "instead.");
    }
    schedules::Shape shape;
    shape.stages = static_cast<int>(stages.size());
    shape.training = training;
    for (const compile::StageSpec& stage : stages) shape.deviceOfStage.push_back(stage.device);
    PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* definition, schedules::findSchedule(schedule));
    if (definition->pipes > 1) {
      shape.stages *= definition->pipes;
      PIPESCOPE_ASSIGN(shape.deviceOfStage, schedules::layOut(*definition, shape.stages, 0));
    }
    const bool recompute = training && wantsRecompute(shape.stages);
    CompiledExecutable executable;
    executable.facts = facts(training, schedule, recompute);
    shape.microBatches = static_cast<int>(executable.facts.microBatches);
    PIPESCOPE_ASSIGN(executable.order, schedules::makeOrder(schedule, shape));
    PIPESCOPE_ASSIGN(const compile::Replication replicas, replication(training, shape, executable.order));
    executable.facts.replicas = replicas.replicas;
    PIPESCOPE_TRY(makeSystem(replicas, stages));
    if (recompute) {
      std::vector<bool> stashes;
      for (std::size_t s = 0; s < stages.size(); ++s) stashes.push_back(executable.order.stashEntries[s] > 0);
      PIPESCOPE_ASSIGN(graph,
                       compile::withRecompute(graph, stages, stashes, c_.texts("execution.checkpoints")));
    }
    PIPESCOPE_ASSIGN(compile::PlanOptions options, planOptions(kind, executable));
    PIPESCOPE_ASSIGN(options.locations, tensorLocations(c_, *result_.system, training, replicas.replicas));
    if (!c_.boolean("execution.separate_backward_phase")) {
      const std::vector<int> phases = phaseOfStages(c_, shape.stages);
      options.lastStagesKeep =
          isPhased(c_) ? static_cast<int>(std::count(phases.begin(), phases.end(), phases.back())) : 1;
    }
    options.pipes = definition->pipes;
    options.deviceOfStage = shape.deviceOfStage;
    options.replication = replicas;
    options.gradientBuckets = result_.system->gradientBuckets();
    PIPESCOPE_ASSIGN(executable.plan, compile::buildPlan(graph, stages, options, ops::standardOperators()));
    passes.runOn(executable.plan);
    PIPESCOPE_TRY(lower(executable));
    addSavings(passes, executable.plan, *result_.system, executable.lowered);
    executable.passes = passes.reports();
    executable.graph = std::make_shared<const graph::Graph>(std::move(graph));
    result_.executables.push_back(std::move(executable));
    return {};
  }

  bool wantsRecompute(int stages) const {
    const std::string& asked = c_.text("execution.recompute");
    const bool named = !c_.texts("execution.checkpoints").empty();
    return asked == "pipeline" || named || (asked == "auto" && isPipelined(c_) && stages > 1);
  }

  base::Result<compile::PlanOptions> planOptions(model::ExecutableKind kind,
                                                 const CompiledExecutable& executable) const {
    compile::PlanOptions options;
    options.name = model::toString(kind);
    options.kind = kind;
    options.microBatches = executable.facts.microBatches;
    options.stashEntries = executable.order.stashEntries;
    options.weightEntries = executable.order.weightEntries;
    options.splitBackward = executable.order.splitBackward;
    if (kind != model::ExecutableKind::training) return options;
    PIPESCOPE_ASSIGN(std::shared_ptr<const optimizers::Optimizer> optimizer, chooseOptimizer(c_));
    PIPESCOPE_ASSIGN(const numerics::SessionOptions numbers, trainingOptions(c_));
    const bool divides = numbers.meanGradient && numbers.meanStrategy == numerics::MeanStrategy::post;
    const bool clips = numbers.clipNorm > 0, scales = scalesLoss(c_);
    // Only whether the gradient is multiplied by a factor matters to the Work.
    const auto summed = static_cast<double>(options.microBatches * executable.facts.replicas);
    const double divisor = clips || scales ? 2 : divides ? summed : 1;
    options.accumulator = numbers.accumulator;
    options.optimizer.kind = optimizer->name();
    options.optimizer.states = [optimizer, master = numbers.masterWeights](const graph::TensorType& type) {
      std::vector<compile::OptimizerCost::State> states;
      for (const optimizers::StateTensor& state : optimizer->stateOf(type))
        states.push_back({state.name, state.type});
      if (master && type.element != graph::ElementType::float32)
        states.push_back({"master", {graph::ElementType::float32, type.shape}});
      return states;
    };
    options.optimizer.work = [optimizer, divisor, clips](const graph::TensorType& type) {
      std::vector<ops::Work> work = optimizer->workOf(type, divisor);
      if (clips)
        work.insert(work.begin(),
                    {ops::Reduce{ops::ReduceFunction::squareSum, 1, type.elements(), true, type.element}, 1,
                     "ClipNorm"});
      return work;
    };
    return options;
  }

  base::Status lower(CompiledExecutable& executable) const {
    std::map<int, std::vector<const compile::StagePlan*>> byDevice;
    for (const compile::StagePlan& stage : executable.plan.stages) byDevice[stage.device].push_back(&stage);
    std::vector<std::vector<const compile::StagePlan*>> held;
    for (auto& [device, stages] : byDevice) held.push_back(std::move(stages));
    std::vector<std::optional<base::Result<devices::LoweredDevice>>> lowered(held.size());
    executor_.parallelFor(held.size(), [&](std::size_t i) { lowered[i] = result_.system->lower(held[i]); });
    for (std::optional<base::Result<devices::LoweredDevice>>& device : lowered) {
      if (!device->ok()) return device->error();
      executable.lowered.push_back(std::move(*device).value());
    }
    return {};
  }

  /// The data is opened later; that it is made up must be said before.
  void noteData() {
    const CompiledExecutable& first = result_.executables.front();
    const base::Result<DataNeeds> needs = dataNeeds(*first.graph, first.facts.microBatchSize);
    if (!needs.ok()) return;  // the run says so
    if (std::optional<std::string> notice = dataNotice(c_, *needs))
      result_.notices.push_back(*std::move(notice));
  }

  void notePhases() {
    if (!isPhased(c_)) return;
    const auto stages = static_cast<int>(result_.executables.front().plan.stages.size());
    const int count = phaseOfStages(c_, stages).back() + 1;
    result_.notices.push_back(
        schedules::phaseNumbers(count, c_.boolean("execution.separate_backward_phase")).describe());
  }

  void noteIdleDevices() {
    std::set<int> used;
    for (const CompiledExecutable& executable : result_.executables) {
      const compile::Replication& replication = executable.plan.replication;
      for (const compile::StagePlan& stage : executable.plan.stages) {
        for (const int device : replication.group(stage.device, 0)) used.insert(device);
      }
    }
    const std::size_t available = result_.system->devices().size();
    if (used.size() < available) {
      result_.notices.push_back(fmt::format("{} of the {} devices of {} hold no stage and stay idle.",
                                            available - used.size(), available, result_.system->name()));
    }
  }

  const Configuration& c_;
  base::Executor& executor_;
  Compilation result_;
};

}  // namespace

base::Result<Compilation> compileRun(const Configuration& given, base::Executor* executor) {
  PIPESCOPE_ASSIGN(const Configuration configuration, withAccelerator(given));
  if (configuration.text("system.name") == "fixed") return compileFixedConfiguration(configuration);
  if (!configuration.tables("fixed.stages").empty()) {
    return base::badInput("[[fixed.stages]] belongs to system.name = \"fixed\", but the system is " +
                          configuration.text("system.name") + ".");
  }
  base::SerialExecutor serial;
  return ModelCompiler(configuration, executor == nullptr ? serial : *executor).compile();
}

}  // namespace pipescope::app
