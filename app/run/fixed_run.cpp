#include <fmt/format.h>

#include "app/run/compilation.h"
#include "engine/devices/fixed/fixed_system.h"

namespace pipescope::app {
namespace {

compile::ExecutablePlan planOf(const FixedRun& run, const std::vector<int>& deviceOfStage,
                               const schedules::Order& order) {
  compile::ExecutablePlan plan;
  plan.name = run.training ? "training" : "inference";
  plan.kind = run.training ? model::ExecutableKind::training : model::ExecutableKind::inference;
  const int stages = static_cast<int>(run.stages.size());
  for (int s = 0; s < stages; ++s) {
    compile::StagePlan stage;
    stage.index = s;
    stage.device = deviceOfStage[static_cast<std::size_t>(s)];
    stage.blocks = {fmt::format("stage{}", s)};
    stage.stashEntries = order.stashEntries[static_cast<std::size_t>(s)];
    plan.stages.push_back(std::move(stage));
    // Boundaries carry no bytes here: they only say who sends to whom.
    const graph::TensorType nothing{graph::ElementType::float32, {0}};
    if (s + 1 < stages)
      plan.boundaries.push_back(
          {fmt::format("activation{}", s), nothing, s, s + 1, model::TransferKind::activation});
    if (run.training && s > 0)
      plan.boundaries.push_back(
          {fmt::format("gradient{}", s), nothing, s, s - 1, model::TransferKind::gradient});
  }
  return plan;
}

}  // namespace

base::Result<Compilation> compileFixed(const FixedRun& run) {
  if (run.stages.empty())
    return base::badInput(
        "There are no stage costs: add [[fixed.stages]] entries with forward = … and backward = ….");
  schedules::Shape shape;
  shape.stages = static_cast<int>(run.stages.size());
  shape.microBatches = run.microBatches;
  shape.training = run.training;
  shape.deviceOfStage = run.deviceOfStage;
  for (int s = 0; run.deviceOfStage.empty() && s < shape.stages; ++s) shape.deviceOfStage.push_back(s);
  devices::FixedCosts costs;
  for (const FixedRun::Stage& stage : run.stages) {
    costs.stages.push_back({stage.forward, run.training ? stage.recompute : 0,
                            run.training ? stage.backward : 0, run.training ? stage.update : 0});
  }
  costs.exchange = run.exchange;
  costs.call = run.call;
  Compilation compilation;
  compilation.devicesUsed = schedules::deviceCount(shape);
  compilation.system = devices::makeFixedSystem(costs, compilation.devicesUsed);
  CompiledExecutable executable;
  PIPESCOPE_ASSIGN(executable.order, schedules::makeOrder(run.schedule, shape));
  executable.plan = planOf(run, shape.deviceOfStage, executable.order);
  emulate::ExecutableFacts& facts = executable.facts;
  facts.strategy = run.schedule == "sharded" ? "sharded" : "pipelined";
  facts.schedule = run.schedule;
  facts.recompute = "as given";
  facts.microBatches = run.microBatches;
  facts.deviceIterations = run.training ? run.deviceIterations : run.microBatches;
  facts.iterations = run.training ? run.deviceIterations : 1;
  for (int device = 0; device < compilation.devicesUsed; ++device) {
    std::vector<const compile::StagePlan*> held;
    for (const compile::StagePlan& stage : executable.plan.stages) {
      if (stage.device == device) held.push_back(&stage);
    }
    if (held.empty()) continue;
    PIPESCOPE_ASSIGN(devices::LoweredDevice lowered, compilation.system->lower(held));
    executable.lowered.push_back(std::move(lowered));
  }
  compilation.executables.push_back(std::move(executable));
  return compilation;
}

}  // namespace pipescope::app
