#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "app/run/compilation.h"
#include "app/run/model_choice.h"
#include "app/run/optimizer_choice.h"
#include "app/run/training_options.h"
#include "app/run/user_folders.h"
#include "engine/compile/block_pattern.h"
#include "engine/compile/gradients.h"
#include "engine/compile/loss_scaling.h"
#include "engine/compile/plan_builder.h"
#include "engine/compile/precision.h"
#include "engine/devices/system_registry.h"

namespace pipescope::app {
namespace {

using config::Configuration;
using config::Settings;

base::Result<Compilation> compileFixedConfiguration(const Configuration& c) {
  FixedRun run;
  run.schedule = c.text("execution.strategy") == "sharded" ? "sharded" : c.text("execution.schedule");
  run.microBatches = static_cast<int>(c.integer("training.gradient_accumulation"));
  run.deviceIterations = static_cast<int>(c.integer("training.device_iterations"));
  run.training = c.text("execution.mode") != "inference";
  if (!run.training) run.microBatches = static_cast<int>(c.integer("inference.device_iterations"));
  for (const Settings& stage : c.tables("fixed.stages")) {
    run.stages.push_back(
        {stage.real("forward"), stage.real("recompute"), stage.real("backward"), stage.real("update"),
         stage.real("weight")});
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
  return compileFixed(run);
}

/// What the executables of one configuration share.
class ModelCompiler {
 public:
  explicit ModelCompiler(const Configuration& c) : c_(c) {}

  base::Result<Compilation> compile() {
    PIPESCOPE_TRY(checkModelChoice(c_));
    PIPESCOPE_TRY(checkCounts());
    const std::string& mode = c_.text("execution.mode");
    if (mode != "inference") PIPESCOPE_TRY(addExecutable(model::ExecutableKind::training));
    if (mode != "training") PIPESCOPE_TRY(addExecutable(model::ExecutableKind::inference));
    if (mode == "training" && c_.integer("training.validation_interval") > 0)
      PIPESCOPE_TRY(addExecutable(model::ExecutableKind::validation));
    noteIdleDevices();
    return std::move(result_);
  }

 private:
  base::Status checkCounts() const {
    if (c_.integer("inference.gradient_accumulation") != 1) {
      return base::badInput(
          "inference.gradient_accumulation must be 1: inference has no gradients. To run more micro-batches "
          "per call raise inference.device_iterations.");
    }
    if (c_.given("training.output_period") && c_.text("training.output_mode") != "every_n") {
      return base::badInput(
          "training.output_period is given, but training.output_mode is not every_n: set the mode or leave "
          "out the period.");
    }
    return {};
  }

  base::Result<std::vector<compile::StageSpec>> place(const graph::Graph& graph) const {
    std::vector<compile::StageSpec> asked;
    if (const auto& layers = c_.integers("execution.layers_per_stage"); !layers.empty()) {
      if (!c_.tables("stages").empty())
        return base::badInput("execution.layers_per_stage and [[stages]] exclude each other: leave one out.");
      PIPESCOPE_ASSIGN(const auto blocks, compile::blocksByLayers(compile::blocksOf(graph), layers));
      for (const std::vector<std::string>& stage : blocks) asked.push_back({stage, -1});
    }
    for (const Settings& stage : c_.tables("stages"))
      asked.push_back({stage.texts("blocks"), static_cast<int>(stage.integer("device"))});
    PIPESCOPE_TRY(layOut(graph, asked));
    return compile::placeStages(graph, asked);
  }

  /// Where no stage names its device, the schedule says where they are.
  base::Status layOut(const graph::Graph& graph, std::vector<compile::StageSpec>& asked) const {
    PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* schedule, schedules::findSchedule(scheduleName()));
    if (schedule->pipes > 1) {
      return base::badInput(fmt::format(
          "The {} schedule holds the model twice and adds up the gradients of both, which is emulated with given "
          "costs only: use system.name = \"fixed\", or another schedule.",
          schedule->name));
    }
    const int chunks = static_cast<int>(c_.integer("execution.chunks"));
    if (std::any_of(asked.begin(), asked.end(), [](const auto& stage) { return stage.device >= 0; })) {
      if (chunks == 0) return {};
      return base::badInput(
          "execution.chunks and the devices of [[stages]] both say where stages are: leave one out.");
    }
    if (asked.empty()) {
      for (const std::string& block : compile::blocksOf(graph)) asked.push_back({{block}, -1});
    }
    PIPESCOPE_ASSIGN(const std::vector<int> devices,
                     schedules::layOut(*schedule, static_cast<int>(asked.size()), chunks));
    for (std::size_t s = 0; s < asked.size(); ++s) asked[s].device = devices[s];
    return {};
  }

  std::string scheduleName() const {
    return c_.text("execution.strategy") == "sharded" ? "sharded" : c_.text("execution.schedule");
  }

  base::Status makeSystem(int devicesUsed) {
    result_.devicesUsed = std::max(result_.devicesUsed, devicesUsed);
    if (result_.system) return {};
    devices::SystemOptions options;
    options.userFolder = userConfigurationFolder();
    PIPESCOPE_ASSIGN(result_.system, devices::makeSystem(c_.text("system.name"), options));
    const auto available = static_cast<int>(result_.system->devices().size());
    if (devicesUsed > available) {
      return base::badInput(
          fmt::format("The stages use {} devices, but system {} has {}: choose a larger one with --system, "
                      "or put more blocks into a stage.",
                      devicesUsed, result_.system->name(), available));
    }
    return {};
  }

  emulate::ExecutableFacts facts(bool training, const std::string& schedule, bool recompute) const {
    emulate::ExecutableFacts facts;
    facts.strategy = c_.text("execution.strategy");
    facts.schedule = schedule;
    facts.recompute = recompute ? "pipeline" : "none";
    facts.microBatchSize = c_.integer(training ? "training.micro_batch_size" : "inference.micro_batch_size");
    facts.deviceIterations =
        c_.integer(training ? "training.device_iterations" : "inference.device_iterations");
    facts.microBatches = training ? c_.integer("training.gradient_accumulation") : facts.deviceIterations;
    facts.iterations = training ? facts.deviceIterations : 1;
    if (training) facts.output = outputRule();
    return facts;
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
    PIPESCOPE_ASSIGN(graph, compile::withPrecision(graph, precisionOf(c_), ops::standardOperators()));
    std::optional<graph::TensorId> root;
    if (training && scalesLoss(c_)) {
      PIPESCOPE_ASSIGN(compile::ScaledLoss scaled, compile::scaleLoss(graph, c_.real("training.loss_scaling"),
                                                                      ops::standardOperators()));
      graph = std::move(scaled.graph);
      root = scaled.root;
    }
    PIPESCOPE_ASSIGN(const std::vector<compile::StageSpec> stages, place(graph));
    if (training) {
      PIPESCOPE_ASSIGN(graph, compile::addGradients(graph, ops::standardOperators(), root));
    }
    const bool sharded = c_.text("execution.strategy") == "sharded";
    const std::string schedule = scheduleName();
    if (!sharded && schedule == "sharded") {
      return base::badInput(
          "execution.schedule = \"sharded\" belongs to execution.strategy = \"sharded\": set the strategy "
          "instead.");
    }
    schedules::Shape shape;
    shape.stages = static_cast<int>(stages.size());
    shape.training = training;
    for (const compile::StageSpec& stage : stages) shape.deviceOfStage.push_back(stage.device);
    const bool recompute = training && wantsRecompute(sharded, shape.stages);
    CompiledExecutable executable;
    executable.facts = facts(training, schedule, recompute);
    shape.microBatches = static_cast<int>(executable.facts.microBatches);
    PIPESCOPE_ASSIGN(executable.order, schedules::makeOrder(schedule, shape));
    PIPESCOPE_TRY(makeSystem(schedules::deviceCount(shape)));
    PIPESCOPE_ASSIGN(const compile::PlanOptions options, planOptions(kind, recompute, executable));
    PIPESCOPE_ASSIGN(executable.plan, compile::buildPlan(graph, stages, options, ops::standardOperators()));
    PIPESCOPE_TRY(lower(executable));
    executable.graph = std::make_shared<const graph::Graph>(std::move(graph));
    result_.executables.push_back(std::move(executable));
    return {};
  }

  bool wantsRecompute(bool sharded, int stages) const {
    const std::string& asked = c_.text("execution.recompute");
    return asked == "pipeline" || (asked == "auto" && !sharded && stages > 1);
  }

  base::Result<compile::PlanOptions> planOptions(model::ExecutableKind kind, bool recompute,
                                                 const CompiledExecutable& executable) const {
    compile::PlanOptions options;
    options.name = model::toString(kind);
    options.kind = kind;
    options.recompute = recompute;
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
    const double divisor = clips || scales ? 2 : divides ? static_cast<double>(options.microBatches) : 1;
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
        work.insert(work.begin(), {ops::Reduce{"square_sum", 1, type.elements(), true, type.element}, 1, "ClipNorm"});
      return work;
    };
    return options;
  }

  base::Status lower(CompiledExecutable& executable) const {
    std::map<int, std::vector<const compile::StagePlan*>> byDevice;
    for (const compile::StagePlan& stage : executable.plan.stages) byDevice[stage.device].push_back(&stage);
    for (const auto& [device, held] : byDevice) {
      PIPESCOPE_ASSIGN(devices::LoweredDevice lowered, result_.system->lower(held));
      executable.lowered.push_back(std::move(lowered));
    }
    return {};
  }

  void noteIdleDevices() {
    std::set<int> used;
    for (const CompiledExecutable& executable : result_.executables) {
      for (const compile::StagePlan& stage : executable.plan.stages) used.insert(stage.device);
    }
    const std::size_t available = result_.system->devices().size();
    if (used.size() < available) {
      result_.notices.push_back(fmt::format("{} of the {} devices of {} hold no stage and stay idle.",
                                            available - used.size(), available, result_.system->name()));
    }
  }

  const Configuration& c_;
  Compilation result_;
};

}  // namespace

base::Result<Compilation> compileRun(const Configuration& configuration) {
  if (configuration.text("system.name") == "fixed") return compileFixedConfiguration(configuration);
  if (!configuration.tables("fixed.stages").empty()) {
    return base::badInput("[[fixed.stages]] belongs to system.name = \"fixed\", but the system is " +
                          configuration.text("system.name") + ".");
  }
  return ModelCompiler(configuration).compile();
}

}  // namespace pipescope::app
