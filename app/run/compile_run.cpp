#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "app/run/compilation.h"
#include "app/run/optimizer_choice.h"
#include "app/run/user_folders.h"
#include "engine/compile/gradients.h"
#include "engine/compile/plan_builder.h"
#include "engine/devices/system_registry.h"
#include "engine/graph/builders/layers.h"

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
        {stage.real("forward"), stage.real("recompute"), stage.real("backward"), stage.real("update")});
  }
  run.exchange = c.real("fixed.exchange");
  run.call = c.real("fixed.call");
  for (const Settings& stage : c.tables("stages"))
    run.deviceOfStage.push_back(static_cast<int>(stage.integer("device")));
  if (!run.deviceOfStage.empty() && run.deviceOfStage.size() != run.stages.size()) {
    return base::badInput(fmt::format(
        "There are {} [[stages]] but {} [[fixed.stages]]: give one of each, or leave out [[stages]].",
        run.deviceOfStage.size(), run.stages.size()));
  }
  for (std::size_t s = 0; s < run.deviceOfStage.size(); ++s) {
    if (run.deviceOfStage[s] < 0) run.deviceOfStage[s] = static_cast<int>(s);
  }
  return compileFixed(run);
}

/// What the executables of one configuration share.
class ModelCompiler {
 public:
  explicit ModelCompiler(const Configuration& c) : c_(c) {}

  base::Result<Compilation> compile() {
    if (c_.tables("model.layers").empty()) {
      return base::badInput(
          "The configuration has no model: add [[model.layers]], or use system.name = \"fixed\" with "
          "[[fixed.stages]].");
    }
    PIPESCOPE_TRY(checkCounts());
    const std::string& mode = c_.text("execution.mode");
    if (mode != "inference") PIPESCOPE_TRY(addExecutable(model::ExecutableKind::training));
    if (mode != "training") PIPESCOPE_TRY(addExecutable(model::ExecutableKind::inference));
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

  base::Result<graph::Graph> buildGraph(bool training) const {
    builders::LayersModel model;
    for (const Settings& layer : c_.tables("model.layers")) {
      builders::LayerSpec spec{layer.text("type"), layer.text("name"), layer.text("block"), {}};
      for (const char* key : {"in_channels", "out_channels", "kernel_size", "stride", "padding",
                              "in_features", "out_features"}) {
        if (layer.given(key)) spec.parameters[key] = layer.integer(key);
      }
      model.layers.push_back(std::move(spec));
    }
    // The loss belongs to the last layer's block, as in the PopTorch tutorial.
    if (training) model.layers.push_back({c_.text("training.loss"), "loss", model.layers.back().block, {}});
    model.sample = c_.integers("model.input");
    if (model.sample.empty()) {
      if (c_.text("data.dataset") != "mnist")
        return base::badInput(
            "model.input is missing: the data set does not say what shape its samples have.");
      model.sample = {1, 28, 28};
    }
    model.microBatch = c_.integer(training ? "training.micro_batch_size" : "inference.micro_batch_size");
    return builders::buildLayers(model, ops::standardOperators());
  }

  base::Result<std::vector<compile::StageSpec>> place(const graph::Graph& graph) const {
    std::vector<compile::StageSpec> asked;
    for (const Settings& stage : c_.tables("stages"))
      asked.push_back({stage.texts("blocks"), static_cast<int>(stage.integer("device"))});
    return compile::placeStages(graph, asked);
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
    PIPESCOPE_ASSIGN(graph::Graph graph, buildGraph(training));
    PIPESCOPE_ASSIGN(const std::vector<compile::StageSpec> stages, place(graph));
    if (training) {
      PIPESCOPE_ASSIGN(graph, compile::addGradients(graph, ops::standardOperators()));
    }
    const bool sharded = c_.text("execution.strategy") == "sharded";
    const std::string schedule = sharded ? "sharded" : c_.text("execution.schedule");
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
    if (kind != model::ExecutableKind::training) return options;
    PIPESCOPE_ASSIGN(std::shared_ptr<const optimizers::Optimizer> optimizer, chooseOptimizer(c_));
    const auto divisor = static_cast<double>(options.microBatches);
    options.optimizer.kind = optimizer->name();
    options.optimizer.states = [optimizer](const graph::TensorType& type) {
      std::vector<compile::OptimizerCost::State> states;
      for (const optimizers::StateTensor& state : optimizer->stateOf(type))
        states.push_back({state.name, state.type});
      return states;
    };
    options.optimizer.work = [optimizer, divisor](const graph::TensorType& type) {
      return optimizer->workOf(type, divisor);
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
