#include "engine/compiler/fixed_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/devices/fixed/fixed_system.h"
#include "profiler/clock/run.h"

namespace pipescope::compile {
namespace {

ExecutableIr irOf(const FixedRun& run, const std::vector<int>& placeOfStage, const schedules::Order& order) {
  ExecutableIr ir;
  ir.name = run.training ? "training" : "inference";
  ir.kind = run.training ? model::ExecutableKind::training : model::ExecutableKind::inference;
  ir.mesh.replicas = run.replicas;
  ir.mesh.places = 1 + *std::max_element(placeOfStage.begin(), placeOfStage.end());
  const int stages = static_cast<int>(placeOfStage.size()), inPipe = stages / order.pipes;
  for (int s = 0; s < stages; ++s) {
    StageIr stage;
    stage.index = s;
    stage.place = placeOfStage[static_cast<std::size_t>(s)];
    stage.mesh = ir.mesh;
    stage.blocks = {fmt::format("stage{}", s)};
    stage.stashEntries = order.stashEntries[static_cast<std::size_t>(s)];
    stage.stashBytesPerEntry = base::Bytes(run.stages[static_cast<std::size_t>(s % inPipe)].stash);
    ir.stages.push_back(std::move(stage));
    // A boundary without bytes only says who sends to whom.
    const auto bytesAfter = [&](int sender) {
      const std::int64_t bytes = run.stages[static_cast<std::size_t>(sender % inPipe)].sends;
      using graph::ElementType;
      return graph::TensorType{bytes == 0 ? ElementType::float32 : ElementType::uint8, {bytes}};
    };
    if ((s + 1) % inPipe != 0)
      ir.boundaries.push_back(
          {fmt::format("activation{}", s), bytesAfter(s), s, s + 1, model::TransferKind::activation});
    if (run.training && s % inPipe != 0)
      ir.boundaries.push_back(
          {fmt::format("gradient{}", s), bytesAfter(s - 1), s, s - 1, model::TransferKind::gradient});
  }
  return ir;
}

base::Result<schedules::Shape> shapeOf(const FixedRun& run, const schedules::ScheduleDefinition& schedule) {
  schedules::Shape shape;
  shape.stages = static_cast<int>(run.stages.size()) * schedule.pipes;
  shape.microBatches = run.microBatches;
  shape.training = run.training;
  if (run.placeOfStage.empty()) {
    PIPESCOPE_ASSIGN(shape.placeOfStage, schedules::layOut(schedule, shape.stages, run.chunks));
    return shape;
  }
  if (schedule.pipes > 1) {
    return base::badInput(
        fmt::format("The {} schedule lays out its stages itself: leave out [[stages]].", schedule.name));
  }
  if (run.chunks > 0) {
    return base::badInput(
        "execution.chunks and the devices of [[stages]] both say where stages are: leave one out.");
  }
  shape.placeOfStage = run.placeOfStage;
  return shape;
}

/// Micro-batches of each stage that are under way when its device holds most for them.
std::vector<std::int64_t> heldAtPeak(const FixedRun& run, const schedules::Order& order, std::size_t stages) {
  std::vector<std::int64_t> atPeak(stages, 0);
  const model::Pass last = order.splitBackward ? model::Pass::weightGradient : model::Pass::backward;
  for (const std::vector<schedules::Task>& tasks : order.places) {
    std::map<int, std::int64_t> live, most;
    std::int64_t bytes = 0, largest = -1;
    for (const schedules::Task& task : tasks) {
      const auto stage = static_cast<std::size_t>(task.stage);
      const std::int64_t own = run.stages[stage % run.stages.size()].stash;
      if (task.pass == model::Pass::forward) {
        ++live[task.stage];
        bytes += own;
      }
      if (bytes > largest) {
        largest = bytes;
        most = live;
      }
      if (task.pass == last || !run.training) {
        --live[task.stage];
        bytes -= own;
      }
    }
    for (const auto& [stage, count] : most) atPeak[static_cast<std::size_t>(stage)] = count;
  }
  return atPeak;
}

base::Result<devices::FixedCosts> costsOf(const FixedRun& run, const schedules::Order& order) {
  devices::FixedCosts costs;
  const std::size_t stages = run.stages.size() * static_cast<std::size_t>(order.pipes);
  const std::vector<std::int64_t> held = heldAtPeak(run, order, stages);
  for (int pipe = 0; pipe < order.pipes; ++pipe) {
    for (std::size_t s = 0; s < run.stages.size(); ++s) {
      const FixedRun::Stage& stage = run.stages[s];
      if (stage.weight > stage.backward) {
        return base::badInput(fmt::format(
            "Stage {} has a weight cost of {} but a backward cost of {}: weight gradients are part of the "
            "backward pass, so give it at least as much.",
            s, stage.weight, stage.backward));
      }
      const double weight = stage.weight < 0 ? stage.backward / 2 : stage.weight;
      const bool training = run.training;
      costs.stages.push_back({stage.forward, training ? stage.recompute : 0, training ? stage.backward : 0,
                              training ? stage.update : 0, weight, stage.holds,
                              held[costs.stages.size()] * stage.stash});
    }
  }
  costs.pipes = order.pipes;
  costs.exchange = run.exchange;
  costs.bandwidth = run.bandwidth;
  costs.launch = run.launch;
  costs.receive = run.receive;
  costs.call = run.call;
  costs.unitSeconds = run.unitSeconds;
  costs.memory = run.memory;
  costs.collective = run.collective;
  costs.splitBackward = order.splitBackward;
  return costs;
}

}  // namespace

base::Result<int> devicesOf(const FixedRun& run) {
  if (run.stages.empty())
    return base::badInput(
        "There are no stage costs: add [[fixed.stages]] entries with forward = … and backward = ….");
  PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* schedule, schedules::findSchedule(run.schedule));
  PIPESCOPE_ASSIGN(const schedules::Shape shape, shapeOf(run, *schedule));
  return schedules::placeCount(shape);
}

namespace {

emulate::ExecutableFacts factsOf(const FixedRun& run) {
  emulate::ExecutableFacts facts;
  facts.strategy = run.schedule == "sharded" ? "sharded" : "pipelined";
  facts.schedule = run.schedule;
  facts.recompute = "as given";
  facts.microBatches = run.microBatches;
  facts.deviceIterations = run.training ? run.deviceIterations : run.microBatches;
  facts.iterations = run.training ? run.deviceIterations : 1;
  facts.replicas = run.replicas;
  facts.microBatchCosts = run.microBatchCosts;
  facts.scales = run.scales;
  facts.blockingSends = run.blockingSends;
  facts.sharedCompute = run.sharedCompute;
  facts.recordAllReplicas = run.recordAllReplicas;
  return facts;
}

/// Refuses blocking sends that a schedule cannot have: whether devices wait for each other depends on the
/// order alone, so a call without times shows it.
base::Status checkBlockingSends(const FixedRun& run, const schedules::Shape& shape,
                                const schedules::Order& order) {
  if (!run.blockingSends) return {};
  if (order.progression == model::ScheduleKind::barrier)
    return base::badInput(
        fmt::format("The schedule {} exchanges behind barriers, so no send can block: leave out "
                    "fixed.blocking_sends, or take a schedule such as 1f1b.",
                    run.schedule));
  clock::Call call;
  call.training = run.training;
  call.blockingSends = true;
  call.iterations = 1;
  call.microBatches = run.microBatches;
  call.placeOfStage = shape.placeOfStage;
  call.orders = {order};
  clock::ReplicaCosts& replica = call.replicas.emplace_back();
  replica.stages.resize(shape.placeOfStage.size());
  replica.sync.resize(order.places.size());
  const int stages = static_cast<int>(shape.placeOfStage.size()), inPipe = stages / order.pipes;
  for (int s = 0; s < stages; ++s) {
    replica.stages[static_cast<std::size_t>(s)].works.resize(1);
    if ((s + 1) % inPipe == 0) continue;
    const auto next = static_cast<std::size_t>(s + 1);
    if (shape.placeOfStage[next] == shape.placeOfStage[next - 1]) continue;
    replica.flows.emplace_back().fromStage = s;
    replica.flows.back().toStage = s + 1;
    if (!run.training) continue;
    replica.flows.emplace_back().fromStage = s + 1;
    replica.flows.back().toStage = s;
    replica.flows.back().kind = model::TransferKind::gradient;
  }
  const base::Result<clock::CallTimes> times = clock::runCall(call, {}, {});
  if (times.ok()) return {};
  return base::badInput(times.error().message +
                        " Programs with such an order receive messages before they need "
                        "them: leave out fixed.blocking_sends, or take another schedule.");
}

base::Status checkSharedCompute(const FixedRun& run, const schedules::Order& order) {
  if (run.sharedCompute <= 0) return {};
  if (order.progression == model::ScheduleKind::barrier)
    return base::badInput(
        fmt::format("Behind the barriers of the schedule {} the lengths of passes are as given: leave out "
                    "fixed.shared_compute, or take a schedule such as 1f1b.",
                    run.schedule));
  if (run.replicas > 1)
    return base::badInput(
        "fixed.shared_compute is about the devices of one replica, but there are several: leave it out, or "
        "set training.replication_factor to 1.");
  return {};
}

/// Lowers the stages of each device that holds any.
base::Result<std::vector<devices::LoweredDevice>> lowerStages(const ExecutableIr& ir,
                                                              const devices::System& system) {
  std::map<int, std::vector<const StageIr*>> held;
  for (const StageIr& stage : ir.stages) held[stage.place].push_back(&stage);
  std::vector<devices::LoweredDevice> lowered;
  for (const auto& [device, stages] : held) {
    PIPESCOPE_ASSIGN(devices::LoweredDevice one, system.lower(stages));
    lowered.push_back(std::move(one));
  }
  return lowered;
}

}  // namespace

base::Result<Compilation> compileFixed(const FixedRun& run) {
  PIPESCOPE_ASSIGN(const int places, devicesOf(run));
  PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* schedule, schedules::findSchedule(run.schedule));
  PIPESCOPE_ASSIGN(const schedules::Shape shape, shapeOf(run, *schedule));
  CompiledExecutable executable;
  PIPESCOPE_ASSIGN(executable.order, schedules::makeOrder(run.schedule, shape));
  PIPESCOPE_TRY(checkBlockingSends(run, shape, executable.order));
  PIPESCOPE_TRY(checkSharedCompute(run, executable.order));
  PIPESCOPE_ASSIGN(const devices::FixedCosts costs, costsOf(run, executable.order));
  Compilation compilation;
  compilation.devicesUsed = places * run.replicas;
  compilation.system = devices::makeFixedSystem(costs, compilation.devicesUsed);
  executable.ir = irOf(run, shape.placeOfStage, executable.order);
  executable.facts = factsOf(run);
  PIPESCOPE_ASSIGN(executable.lowered, lowerStages(executable.ir, *compilation.system));
  compilation.executables.push_back(std::move(executable));
  return compilation;
}

}  // namespace pipescope::compile
