#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "engine/emulate/device_program.h"
#include "engine/emulate/emulated_executable.h"
#include "engine/emulate/peak_check.h"
#include "engine/emulate/record_edges.h"
#include "engine/emulate/replica_parts.h"
#include "engine/schedules/schedule_kind.h"

namespace pipescope::emulate {
namespace {

class ExecutableRecorder {
 public:
  ExecutableRecorder(record::Recorder& recorder, const devices::System& system, const SystemIds& ids,
                     const compile::ExecutablePlan& plan, RecordLevel level)
      : recorder_(recorder), system_(system), ids_(ids), plan_(plan), level_(level), names_(recorder) {}

  EmulatedExecutable record(const std::vector<devices::LoweredDevice>& lowered, schedules::Order order,
                            const ExecutableFacts& facts) {
    result_.training = plan_.kind == model::ExecutableKind::training;
    result_.facts = facts;
    result_.order = std::move(order);
    findCostLevels();
    recordFacts();
    recordStages();
    recordBoundaries();
    recordHost();
    result_.mirrored = plan_.replication.mirrored;
    const FlowsOfReplicas flows(system_, plan_);
    for (const ReplicaClass& each : replicaClasses(system_, plan_, facts, flows))
      recordReplica(each, flows, lowered);
    if (level_ != RecordLevel::off) recordEdges(recorder_, names_, result_.id, plan_, operators_);
    recordLeastTimes(lowered);
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
    recordCounters(own);
    result_.parts.push_back(std::move(part_));
  }

  /// Records how long the FLOP of a micro-batch take at the peak of their types, summed over the devices of a
  /// replica, and what would be faster than that.
  void recordLeastTimes(const std::vector<devices::LoweredDevice>& lowered) {
    double model = 0, recompute = 0;
    for (const devices::LoweredDevice& device : lowered) {
      for (const devices::LoweredPass& pass : device.passes) {
        if (!model::isComputePass(pass.pass)) continue;
        for (const devices::LoweredOperator& op : pass.operators)
          (pass.pass == model::Pass::recompute ? recompute : model) += op.leastSeconds;
      }
    }
    if (model > 0) {
      const std::string path = fmt::format("least_seconds.{}", result_.id.value);
      recorder_.add(model::Property{path + ".model", fmt::format("{}", model)});
      recorder_.add(model::Property{path + ".recompute", fmt::format("{}", recompute)});
    }
    result_.abovePeak = abovePeak(system_, lowered);
    for (const std::string& sentence : result_.abovePeak)
      recorder_.add(model::Diagnostic{model::Severity::error, "above_peak", sentence, result_.id, {}});
  }

  /// Records the buffers of the host, which hold what all replicas take and give in one call.
  void recordHost() {
    if (!ids_.host.valid()) return;
    const ExecutableFacts& facts = result_.facts;
    const std::int64_t blocks = facts.microBatches * facts.iterations * facts.replicas;
    Bytes all;
    for (const compile::StagePlan& stage : plan_.stages) {
      for (const compile::PassPlan& pass : stage.passes) {
        const bool in = pass.pass == model::Pass::hostIn;
        if (!in && pass.pass != model::Pass::hostOut) continue;
        for (const compile::PlanOperator& op : pass.operators) {
          const compile::PlanTensor& tensor = stage.tensors[(in ? op.outputs : op.inputs).front()];
          const Bytes bytes = tensor.type.bytes() * (in ? blocks / facts.inputGroup : blocks);
          all += bytes;
          recorder_.add(model::Variable{{},
                                        result_.id,
                                        ids_.host,
                                        names_.at(tensor.name, "variable"),
                                        "stream_buffer",
                                        toString(tensor.type),
                                        bytes,
                                        bytes,
                                        true,
                                        stage.index});
        }
      }
    }
    if (all.count > 0)
      recorder_.add(model::UnitMemory{result_.id, ids_.host, "variable", "non_interleaved", true, 0, 1, all});
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
    for (const devices::LoweredMemory& memory : device.memory) recordMemory(device.device, memory, tree);
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

  void recordMemory(int device, const devices::LoweredMemory& memory, ProgramTree& tree) {
    const model::MemorySpaceId space =
        ids_.memory[static_cast<std::size_t>(device)][static_cast<std::size_t>(memory.space)];
    for (const devices::LoweredVariable& variable : memory.variables) {
      const model::VariableId id = recorder_.add(model::Variable{{},
                                                                 result_.id,
                                                                 space,
                                                                 names_.at(variable.name, "variable"),
                                                                 variable.category,
                                                                 variable.shape,
                                                                 variable.bytes,
                                                                 variable.maxUnitBytes,
                                                                 variable.alwaysLive,
                                                                 variable.stage,
                                                                 variable.unitCategory,
                                                                 variable.place});
      for (const devices::LifeSteps& life : variable.lives)
        recorder_.add(model::LifeInterval{id, life.first, life.end});
      if (level_ == RecordLevel::off || level_ == RecordLevel::stages) continue;
      for (const devices::UnitBytes& run : variable.units)
        recorder_.add(model::VariableUnits{id, run.first, run.count, run.bytes, run.address});
    }
    std::vector<model::ProgramId> programs;
    for (std::size_t i = 0; i < memory.steps.size(); ++i) {
      const devices::LoweredStepMemory& step = memory.steps[i];
      programs.push_back(tree.programOf(step));
      recorder_.add(model::LivenessStep{result_.id, space, static_cast<std::int32_t>(i), programs.back(),
                                        step.pass, step.notAlwaysLive, step.maxUnitNotAlwaysLive});
    }
    if (level_ >= RecordLevel::steps) recordVertices(memory, space, programs);
    for (const devices::UnitBytesRun& run : memory.units) {
      recorder_.add(model::UnitMemory{result_.id, space, run.category, run.region, run.alwaysLive,
                                      run.firstUnit, run.unitCount, run.bytes});
    }
    for (const std::string& text : part_.replica == 0 ? memory.overflow : std::vector<std::string>())
      recordOverflow(device, text);
  }

  /// `programs` belong to the steps of the memory.
  void recordVertices(const devices::LoweredMemory& memory, model::MemorySpaceId space,
                      const std::vector<model::ProgramId>& programs) {
    for (const devices::LoweredVertices& use : memory.vertices) {
      recorder_.add(model::VertexUse{result_.id, space, programs[static_cast<std::size_t>(use.step)],
                                     use.type, use.firstUnit, use.unitCount, use.count, use.code, use.state,
                                     use.fields});
    }
  }

  /// The first line says what does not fit. The others are advice.
  void recordOverflow(int device, const std::string& text) {
    std::istringstream lines(text);
    bool first = true;
    for (std::string line; std::getline(lines, line); first = false) {
      recorder_.add(model::Diagnostic{first ? model::Severity::error : model::Severity::info,
                                      first ? "out_of_memory" : "out_of_memory_advice", line, result_.id,
                                      deviceId(device)});
    }
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

  void recordCounters(const std::vector<devices::LoweredDevice>& lowered) {
    if (plan_.kind != model::ExecutableKind::training || level_ == RecordLevel::off) return;
    const auto counter = [&](std::size_t device, const char* name, const char* unit) {
      const int index = part_.firstDevice + static_cast<int>(device);
      return recorder_.add(model::Counter{{}, result_.id, deviceId(index), name, unit});
    };
    const std::size_t count = result_.order.devices.size();
    part_.stashCounters.resize(count);
    part_.liveBytesCounters.resize(count);
    for (std::size_t d = 0; d < count; ++d)
      part_.liveMicroBatches.push_back(counter(d, "live_micro_batches", "micro-batches"));
    for (std::size_t s = 0; s < result_.stashEntries.size(); ++s) {
      const auto d = static_cast<std::size_t>(result_.deviceOfStage[s]);
      if (result_.stashEntries[s] > 0 && !part_.stashCounters[d].valid())
        part_.stashCounters[d] = counter(d, "stash_entries", "micro-batches");
    }
    for (const devices::LoweredDevice& device : lowered) {
      if (device.memory.empty()) continue;
      const auto d = static_cast<std::size_t>(device.device - part_.firstDevice);
      part_.liveBytesCounters[d] = counter(d, "live_bytes", "B");
      part_.liveBytes[d] = liveBytesOf(device);
    }
  }

  LiveBytes liveBytesOf(const devices::LoweredDevice& device) const {
    LiveBytes live;
    std::map<std::pair<std::string, model::Pass>, int> stageOfStep;
    for (const devices::LoweredPass& pass : device.passes) {
      for (const devices::LoweredSegment& segment : pass.segments) {
        const model::Pass kind = segment.pass == model::Pass::recompute ? *segment.pass : pass.pass;
        for (const devices::LoweredStep& step : segment.steps) stageOfStep[{step.name, kind}] = pass.stage;
      }
    }
    const devices::LoweredMemory& memory = device.memory.front();
    for (const devices::LoweredVariable& variable : memory.variables) {
      if (variable.alwaysLive) live.always += variable.bytes;
    }
    for (std::size_t s = 0; s < result_.stashEntries.size(); ++s) {
      if (part_.firstDevice + result_.deviceOfStage[s] == device.device)
        live.always -= result_.stashBytesPerEntry[s] * result_.stashEntries[s];
    }
    for (const devices::LoweredStepMemory& step : memory.steps) {
      const auto stage = stageOfStep.find({step.name, step.pass});
      if (stage == stageOfStep.end()) continue;
      Bytes& peak = live.peak[{stage->second, step.pass}];
      peak = std::max(peak, step.notAlwaysLive);
    }
    return live;
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
  std::map<int, ProgramTree> trees_;  ///< by device, of the replica that is being recorded
  OperatorsOfPass operators_;
  std::vector<double> costLevels_;  ///< different costs of micro-batches besides 1
  ReplicaPart part_;                ///< the replica that is being recorded
  EmulatedExecutable result_;
};

}  // namespace

bool OutputRule::returns(std::int64_t iteration, std::int64_t microBatch, std::int64_t iterations,
                         std::int64_t microBatches) const {
  const std::int64_t index = iteration * microBatches + microBatch;
  switch (mode) {
    case Mode::all:
      return true;
    case Mode::everyN:
      return (index + 1) % period == 0;
    case Mode::final:
    case Mode::sum:
      return index + 1 == iterations * microBatches;
  }
  return true;
}

EmulatedExecutable recordExecutable(record::Recorder& recorder, const devices::System& system,
                                    const SystemIds& ids, const compile::ExecutablePlan& plan,
                                    const std::vector<devices::LoweredDevice>& lowered,
                                    schedules::Order order, const ExecutableFacts& facts, RecordLevel level) {
  return ExecutableRecorder(recorder, system, ids, plan, level).record(lowered, std::move(order), facts);
}

}  // namespace pipescope::emulate
