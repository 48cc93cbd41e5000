#include <fmt/format.h>

#include <algorithm>

#include "engine/emulate/device_program.h"
#include "engine/emulate/emulated_executable.h"
#include "engine/emulate/peak_check.h"
#include "engine/emulate/record_counters.h"
#include "engine/emulate/record_edges.h"
#include "engine/emulate/record_memory.h"
#include "engine/emulate/replica_parts.h"
#include "engine/schedules/schedule_kind.h"

namespace pipescope::emulate {
namespace {

class ExecutableRecorder {
 public:
  ExecutableRecorder(record::Recorder& recorder, const devices::System& system, const SystemIds& ids,
                     const compile::ExecutablePlan& plan, RecordLevel level)
      : recorder_(recorder),
        system_(system),
        ids_(ids),
        plan_(plan),
        level_(level),
        names_(recorder),
        memory_(recorder, ids, names_, level) {}

  EmulatedExecutable record(const std::vector<devices::LoweredDevice>& lowered, schedules::Order order,
                            const ExecutableFacts& facts) {
    result_.training = plan_.kind == model::ExecutableKind::training;
    result_.facts = facts;
    result_.order = std::move(order);
    findCostLevels();
    recordFacts();
    recordStages();
    recordBoundaries();
    memory_.recordHost(plan_, result_.facts);
    result_.mirrored = plan_.replication.mirrored;
    const FlowsOfReplicas flows(system_, plan_);
    for (const ReplicaClass& each : replicaClasses(system_, plan_, facts, flows))
      recordReplica(each, flows, lowered);
    if (level_ != RecordLevel::off) recordEdges(recorder_, names_, result_.id, plan_, operators_);
    result_.abovePeak = recordLeastTimes(recorder_, system_, result_.id, lowered);
    recordOperatorPeaks(recorder_, result_.id, operatorPeaks_);
    recordReplayFacts(recorder_, system_, result_);
    return std::move(result_);
  }

 private:
  void recordReplica(const ReplicaClass& replicas, const FlowsOfReplicas& flows,
                     const std::vector<devices::LoweredDevice>& lowered) {
    part_ = ReplicaPart();
    trees_.clear();
    part_.replica = replicas.replica;
    part_.members = replicas.members;
    part_.firstDevice = replicas.replica * plan_.replication.devicesPerReplica;
    part_.stages.resize(plan_.stages.size());
    part_.levels.assign(costLevels_.size(), part_.stages);
    part_.liveBytes.resize(result_.order.devices.size());
    for (const StageFlow& flow : stageFlows(plan_, part_.firstDevice)) addFlow(flow);
    part_.beside = flows.beside(replicas.replica);
    std::vector<devices::LoweredDevice> own;
    for (const devices::LoweredDevice& device : lowered)
      own.push_back(onReplica(device, replicas.replica, plan_.replication, result_.facts));
    for (const devices::LoweredDevice& device : own) recordDevice(device);
    recordSync();
    if (result_.training && level_ != RecordLevel::off) recordCounters(recorder_, ids_, result_, own, part_);
    result_.parts.push_back(std::move(part_));
  }

  void recordFacts() {
    model::Executable row;
    row.name = plan_.name;
    row.kind = plan_.kind;
    row.strategy = result_.facts.strategy;
    row.schedule = result_.facts.schedule;
    row.scheduleKind = schedules::scheduleKindOf(result_.order.progression);
    row.recompute = result_.facts.recompute;
    row.stages = static_cast<std::int64_t>(plan_.stages.size());
    row.microBatchSize = result_.facts.microBatchSize;
    row.microBatches = result_.facts.microBatches;
    row.deviceIterations = result_.facts.deviceIterations;
    row.replicas = result_.facts.replicas;
    result_.id = recorder_.add(row);
    if (result_.order.pipes > 1)
      recorder_.add(
          model::Property{fmt::format("pipes.{}", result_.id.value), fmt::format("{}", result_.order.pipes)});
    memory_.begin(result_.id);
  }

  void recordStages() {
    for (const compile::StagePlan& stage : plan_.stages) {
      result_.chunkOfStage.push_back(static_cast<int>(
          std::count(result_.deviceOfStage.begin(), result_.deviceOfStage.end(), stage.device)));
      result_.deviceOfStage.push_back(stage.device);
      result_.stashEntries.push_back(stage.stashEntries);
      result_.stashBytesPerEntry.push_back(stage.stashBytesPerEntry);
      std::string blocks;
      for (const std::string& block : stage.blocks) blocks += (blocks.empty() ? "" : " ") + block;
      recorder_.add(model::Stage{result_.id, stage.index, deviceId(stage.device), blocks, stage.stashEntries,
                                 stage.stashBytesPerEntry});
    }
  }

  void recordBoundaries() {
    for (const compile::BoundaryTensor& tensor : plan_.boundaries) {
      const int from = plan_.stages[static_cast<std::size_t>(tensor.fromStage)].device;
      const int to = plan_.stages[static_cast<std::size_t>(tensor.toStage)].device;
      Ticks ticks;
      if (from != to) ticks = system_.transferTicks({{from, to, tensor.type.bytes()}}).front();
      recorder_.add(model::Boundary{result_.id, tensor.fromStage, tensor.toStage, tensor.kind, tensor.name,
                                    toString(tensor.type), tensor.type.bytes(), ticks});
    }
  }

  void addFlow(const StageFlow& flow) {
    const auto [from, to, bytes] = flow.flow;
    const auto link = ids_.links.find({from, to});
    const double slowest = std::min(scaleOf(result_.facts, from).link, scaleOf(result_.facts, to).link);
    part_.boundaries.push_back({flow.fromStage, flow.toStage, flow.kind, bytes, flow.flow, transferLane(from),
                                transferLane(to), link == ids_.links.end() ? model::LinkId() : link->second,
                                1 / slowest});
  }

  ProgramTree& treeOf(int device) {
    const ProgramTree::Loops loops{plan_.name, result_.facts.iterations, result_.facts.microBatches};
    return trees_.try_emplace(device, recorder_, names_, result_.id, deviceId(device), loops).first->second;
  }

  void recordDevice(const devices::LoweredDevice& device) {
    ProgramTree& tree = treeOf(device.device);
    for (const devices::LoweredPass& pass : device.passes) recordPass(device.device, tree, pass);
    for (const compile::BoundaryTensor& tensor : plan_.boundaries) {
      const int from = part_.firstDevice + plan_.stages[static_cast<std::size_t>(tensor.fromStage)].device,
                to = part_.firstDevice + plan_.stages[static_cast<std::size_t>(tensor.toStage)].device;
      if (from != to && (from == device.device || to == device.device))
        tree.addExternal("GlobalExchange", tensor.name);
    }
    memory_.recordDevice(device, part_.replica, tree);
  }

  void recordPass(int device, ProgramTree& tree, const devices::LoweredPass& pass) {
    tree.beginPass(pass);
    // Replicas share their operators.
    const auto [known, added] = operators_.try_emplace({pass.stage, pass.pass});
    std::vector<model::OperatorId>& operators = known->second;
    for (const devices::LoweredOperator& op :
         added ? pass.operators : std::vector<devices::LoweredOperator>()) {
      operators.push_back(recorder_.add(model::Operator{{},
                                                        result_.id,
                                                        names_.at(op.name, "operator"),
                                                        op.kind,
                                                        pass.stage,
                                                        op.pass.value_or(pass.pass),
                                                        op.flops,
                                                        op.bytes,
                                                        op.block}));
      if (op.leastSeconds > 0) operatorPeaks_.push_back({operators.back(), op.flops / op.leastSeconds});
    }
    for (const devices::LoweredSegment& segment : pass.segments) {
      model::Segment row;
      row.executable = result_.id;
      row.device = deviceId(device);
      row.lane = lane(device, segment.lane);
      row.stage = pass.stage;
      row.pass = segment.pass.value_or(pass.pass);
      row.name = segment.name;
      row.ticks = segment.ticks;
      const model::SegmentId id = recorder_.add(row);
      StageSegments& stage = part_.stages[static_cast<std::size_t>(pass.stage)];
      segmentsOf(stage, pass, segment).push_back({id, segment.ticks, row.pass, segment.after});
      std::vector<model::ProgramId> programs;
      for (const devices::LoweredStep& step : segment.steps) {
        const model::OperatorId op =
            step.op < 0 ? model::OperatorId() : operators[static_cast<std::size_t>(step.op)];
        programs.push_back(tree.addStep(step, op));
        if (level_ >= RecordLevel::steps) recordStep(id, device, step, programs.back());
      }
      recordLevels(device, pass, segment, row, programs);
    }
  }

  /// Micro-batches that take as long share a level. The executable of training alone has costs.
  void findCostLevels() {
    for (const double cost : result_.facts.microBatchCosts) {
      const auto known = std::find(costLevels_.begin(), costLevels_.end(), cost);
      const auto level = static_cast<int>(known - costLevels_.begin());
      if (known == costLevels_.end() && cost != 1) costLevels_.push_back(cost);
      result_.levelOfMicroBatch.push_back(cost == 1 ? -1 : level);
    }
  }

  /// Records the segment once more for each level of costs, with the programs of the first. Only the compute
  /// of a micro-batch depends on its cost.
  void recordLevels(int device, const devices::LoweredPass& pass, const devices::LoweredSegment& segment,
                    const model::Segment& recorded, const std::vector<model::ProgramId>& programs) {
    for (std::size_t level = 0; level < costLevels_.size(); ++level) {
      StageSegments& stage = part_.levels[level][static_cast<std::size_t>(pass.stage)];
      if (!model::isComputePass(recorded.pass)) {
        segmentsOf(stage, pass, segment)
            .push_back(segmentsOf(part_.stages[static_cast<std::size_t>(pass.stage)], pass, segment).back());
        continue;
      }
      devices::LoweredSegment slowed = segment;
      slowDown(slowed, costLevels_[level]);
      model::Segment row = recorded;
      row.ticks = slowed.ticks;
      const model::SegmentId id = recorder_.add(row);
      segmentsOf(stage, pass, segment).push_back({id, row.ticks, row.pass, segment.after});
      for (std::size_t i = 0; i < slowed.steps.size() && level_ >= RecordLevel::steps; ++i)
        recordStep(id, device, slowed.steps[i], programs[i]);
    }
  }

  void recordStep(model::SegmentId segment, int device, const devices::LoweredStep& step,
                  model::ProgramId program) {
    for (const devices::LoweredUnitTicks& units : step.units) {
      if (level_ == RecordLevel::tiles)
        recorder_.add(
            model::StepUnits{segment, recorder_.added<model::Step>(), units.first, units.count, units.ticks});
    }
    recorder_.add(model::Step{segment, lane(device, step.lane), step.offset, step.ticks, step.kind, program,
                              step.activeUnits, step.minTicks, step.maxTicks, step.meanTicks, step.bytesIn,
                              step.bytesOut});
  }

  /// Records the external sync as a segment of its own on each device. A system in which it costs nothing has
  /// none.
  void recordSync() {
    const std::size_t count = result_.order.devices.size();
    part_.sync.resize(count);
    const Ticks ticks = system_.syncTicks(static_cast<int>(count));
    if (ticks.count <= 0 || count < 2 || result_.order.progression != schedules::Progression::barrier) return;
    for (std::size_t d = 0; d < count; ++d) {
      const int device = part_.firstDevice + static_cast<int>(d);
      model::Segment row;
      row.executable = result_.id;
      row.device = deviceId(device);
      row.lane = transferLane(device);
      row.pass = model::Pass::sync;
      row.name = "external sync";
      row.ticks = ticks;
      const model::SegmentId id = recorder_.add(row);
      part_.sync[d] = {id, ticks, model::Pass::sync};
      devices::LoweredStep step;
      step.kind = model::StepKind::sync;
      step.lane = system_.devices()[static_cast<std::size_t>(device)].transferLane;
      step.ticks = step.minTicks = step.maxTicks = ticks;
      if (level_ >= RecordLevel::steps)
        recordStep(id, device, step, treeOf(device).addExternal("Sync", "external sync"));
    }
  }

  model::DeviceId deviceId(int index) const { return ids_.devices[static_cast<std::size_t>(index)]; }

  model::LaneId transferLane(int device) const {
    return lane(device, system_.devices()[static_cast<std::size_t>(device)].transferLane);
  }
  model::LaneId lane(int device, model::LaneRole role) const {
    const auto& lanes = ids_.lanes[static_cast<std::size_t>(device)];
    const auto found = lanes.find(role);
    PIPESCOPE_CHECK(found != lanes.end(), "device has no lane " + model::toString(role));
    return found->second;
  }

  static SegmentRefs& segmentsOf(StageSegments& stage, const devices::LoweredPass& pass,
                                 const devices::LoweredSegment& segment) {
    switch (pass.pass) {
      case model::Pass::collective:
        return segment.after < 0 ? stage.update : stage.overlapped;
      case model::Pass::hostIn:
        return stage.hostIn;
      case model::Pass::hostOut:
        return stage.hostOut;
      case model::Pass::recompute:
        return stage.recompute;
      case model::Pass::backward:
        return stage.backward;
      case model::Pass::weightGradient:
        return stage.weight;
      case model::Pass::update:
        return stage.update;
      default:
        PIPESCOPE_CHECK(pass.pass == model::Pass::forward, "no place for pass " + model::toString(pass.pass));
    }
    return stage.forward;
  }

  record::Recorder& recorder_;
  const devices::System& system_;
  const SystemIds& ids_;
  const compile::ExecutablePlan& plan_;
  RecordLevel level_;
  NameTree names_;
  MemoryRecorder memory_;
  std::map<int, ProgramTree> trees_;  ///< by device, of the replica that is being recorded
  OperatorsOfPass operators_;
  std::vector<OperatorPeak> operatorPeaks_;
  std::vector<double> costLevels_;  ///< different costs of micro-batches besides 1
  ReplicaPart part_;                ///< the replica that is being recorded
  EmulatedExecutable result_;
};

}  // namespace

EmulatedExecutable recordExecutable(record::Recorder& recorder, const devices::System& system,
                                    const SystemIds& ids, const compile::ExecutablePlan& plan,
                                    const std::vector<devices::LoweredDevice>& lowered,
                                    schedules::Order order, const ExecutableFacts& facts, RecordLevel level) {
  return ExecutableRecorder(recorder, system, ids, plan, level).record(lowered, std::move(order), facts);
}

}  // namespace pipescope::emulate
