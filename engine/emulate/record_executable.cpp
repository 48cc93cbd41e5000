#include <algorithm>

#include "engine/emulate/executable.h"

namespace pipescope::emulate {
namespace {

/// Debug contexts of name paths, each part recorded once.
class NameTree {
 public:
  explicit NameTree(record::Recorder& recorder) : recorder_(recorder) {}

  model::DebugContextId at(const std::string& path, const char* layer) {
    if (path.empty()) return {};
    if (const auto found = known_.find(path); found != known_.end()) return found->second;
    const std::size_t slash = path.rfind('/');
    const std::string own = slash == std::string::npos ? path : path.substr(slash + 1);
    const model::DebugContextId parent =
        slash == std::string::npos ? root_ : at(path.substr(0, slash), "scope");
    return known_[path] = recorder_.add(model::DebugContext{{}, parent, own, layer});
  }

 private:
  record::Recorder& recorder_;
  model::DebugContextId root_;
  std::map<std::string, model::DebugContextId> known_;
};

class ExecutableRecorder {
 public:
  ExecutableRecorder(record::Recorder& recorder, const devices::System& system, const SystemIds& ids,
                     const compile::ExecutablePlan& plan, RecordLevel level)
      : recorder_(recorder), system_(system), ids_(ids), plan_(plan), level_(level), names_(recorder) {}

  Executable record(const std::vector<devices::LoweredDevice>& lowered, schedules::Order order,
                    const ExecutableFacts& facts) {
    result_.training = plan_.kind == model::ExecutableKind::training;
    result_.facts = facts;
    result_.order = std::move(order);
    result_.stages.resize(plan_.stages.size());
    recordFacts();
    recordStages();
    recordBoundaries();
    result_.liveBytes.resize(result_.order.devices.size());
    for (const devices::LoweredDevice& device : lowered) recordDevice(device);
    recordSync();
    recordCounters(lowered);
    return std::move(result_);
  }

 private:
  void recordFacts() {
    model::Executable row;
    row.name = plan_.name;
    row.kind = plan_.kind;
    row.strategy = result_.facts.strategy;
    row.schedule = result_.facts.schedule;
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
      if (from != to) addFlow(tensor, from, to);
    }
  }

  void addFlow(const compile::BoundaryTensor& tensor, int from, int to) {
    for (BoundaryFlow& flow : result_.boundaries) {
      if (flow.fromStage == tensor.fromStage && flow.toStage == tensor.toStage && flow.kind == tensor.kind) {
        flow.bytes += tensor.type.bytes();
        flow.flow.bytes = flow.bytes;
        return;
      }
    }
    const Bytes bytes = tensor.type.bytes();
    const auto link = ids_.links.find({from, to});
    result_.boundaries.push_back({tensor.fromStage,
                                  tensor.toStage,
                                  tensor.kind,
                                  bytes,
                                  {from, to, bytes},
                                  lane(from, model::LaneRole::exchange),
                                  lane(to, model::LaneRole::exchange),
                                  link == ids_.links.end() ? model::LinkId() : link->second});
  }

  void recordDevice(const devices::LoweredDevice& device) {
    const model::ProgramId root = addProgram({}, device.device, "Sequence", plan_.name, {});
    std::vector<model::ProgramId> stepPrograms;
    for (const devices::LoweredPass& pass : device.passes)
      recordPass(device.device, root, pass, stepPrograms);
    for (const devices::LoweredMemory& memory : device.memory) recordMemory(device.device, memory, root);
  }

  model::ProgramId addProgram(model::ProgramId parent, int device, const char* kind, const std::string& path,
                              model::OperatorId op) {
    return recorder_.add(
        model::Program{{}, parent, result_.id, deviceId(device), kind, names_.at(path, "program"), op});
  }

  void recordPass(int device, model::ProgramId root, const devices::LoweredPass& pass,
                  std::vector<model::ProgramId>&) {
    const std::string path = "stage" + std::to_string(pass.stage) + "/" + model::toString(pass.pass);
    const model::ProgramId sequence = addProgram(root, device, "Sequence", path, {});
    std::vector<model::OperatorId> operators;
    for (const devices::LoweredOperator& op : pass.operators) {
      operators.push_back(recorder_.add(model::Operator{{},
                                                        result_.id,
                                                        names_.at(op.name, "operator"),
                                                        op.kind,
                                                        pass.stage,
                                                        pass.pass,
                                                        op.flops,
                                                        op.bytes}));
    }
    for (const devices::LoweredSegment& segment : pass.segments) {
      model::Segment row;
      row.executable = result_.id;
      row.device = deviceId(device);
      row.lane = lane(device, segment.lane);
      row.stage = pass.stage;
      row.pass = pass.pass;
      row.name = segment.name;
      row.ticks = segment.ticks;
      const model::SegmentId id = recorder_.add(row);
      segmentsOf(pass).push_back({id, segment.ticks, pass.pass});
      for (const devices::LoweredStep& step : segment.steps) {
        const model::OperatorId op =
            step.op < 0 ? model::OperatorId() : operators[static_cast<std::size_t>(step.op)];
        const model::ProgramId program = addProgram(sequence, device, step.program.c_str(), step.name, op);
        programs_[{device, step.name, step.program}] = program;
        if (level_ == RecordLevel::steps) recordStep(id, device, step, program);
      }
    }
  }

  void recordStep(model::SegmentId segment, int device, const devices::LoweredStep& step,
                  model::ProgramId program) {
    recorder_.add(model::Step{segment, lane(device, step.lane), step.offset, step.ticks, step.kind, program,
                              step.activeUnits, step.minTicks, step.maxTicks, step.meanTicks, step.bytesIn,
                              step.bytesOut});
  }

  void recordMemory(int device, const devices::LoweredMemory& memory, model::ProgramId root) {
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
                                                                 variable.stage});
      for (const devices::LifeInterval& life : variable.lives)
        recorder_.add(model::LifeInterval{id, life.first, life.end});
    }
    for (std::size_t i = 0; i < memory.steps.size(); ++i) {
      const devices::LivenessStep& step = memory.steps[i];
      const auto found = programs_.find({device, step.name, step.program});
      const model::ProgramId program = found != programs_.end()
                                           ? found->second
                                           : addProgram(root, device, step.program.c_str(), step.name, {});
      recorder_.add(model::LivenessStep{result_.id, space, static_cast<std::int32_t>(i), program, step.pass,
                                        step.notAlwaysLive, step.maxUnitNotAlwaysLive});
    }
    for (const devices::UnitRun& run : memory.units) {
      recorder_.add(model::UnitMemory{result_.id, space, run.category, run.region, run.alwaysLive,
                                      run.firstUnit, run.unitCount, run.bytes});
    }
    for (const std::string& sentence : memory.overflow) {
      recorder_.add(
          model::Diagnostic{model::Severity::error, "out_of_memory", sentence, result_.id, deviceId(device)});
    }
  }

  /// The external sync is a segment of its own on each device; a system without its cost has none.
  void recordSync() {
    const std::size_t count = result_.order.devices.size();
    result_.sync.resize(count);
    const Ticks ticks = system_.syncTicks(static_cast<int>(count));
    if (ticks.count <= 0 || count < 2 || result_.order.sync != schedules::Sync::barrier) return;
    for (std::size_t d = 0; d < count; ++d) {
      const int device = static_cast<int>(d);
      model::Segment row;
      row.executable = result_.id;
      row.device = deviceId(device);
      row.lane = lane(device, model::LaneRole::exchange);
      row.pass = model::Pass::sync;
      row.name = "external sync";
      row.ticks = ticks;
      const model::SegmentId id = recorder_.add(row);
      result_.sync[d] = {id, ticks, model::Pass::sync};
      devices::LoweredStep step;
      step.kind = model::StepKind::sync;
      step.lane = model::LaneRole::exchange;
      step.ticks = step.minTicks = step.maxTicks = ticks;
      if (level_ == RecordLevel::steps)
        recordStep(id, device, step, addProgram({}, device, "Sync", "external sync", {}));
    }
  }

  void recordCounters(const std::vector<devices::LoweredDevice>& lowered) {
    if (plan_.kind != model::ExecutableKind::training || level_ == RecordLevel::off) return;
    const auto counter = [&](std::size_t device, const char* name, const char* unit) {
      return recorder_.add(model::Counter{{}, result_.id, deviceId(static_cast<int>(device)), name, unit});
    };
    const std::size_t count = result_.order.devices.size();
    result_.stashCounters.resize(count);
    result_.liveBytesCounters.resize(count);
    for (std::size_t d = 0; d < count; ++d)
      result_.liveMicroBatches.push_back(counter(d, "live_micro_batches", "micro-batches"));
    for (std::size_t s = 0; s < result_.stashEntries.size(); ++s) {
      const auto d = static_cast<std::size_t>(result_.deviceOfStage[s]);
      if (result_.stashEntries[s] > 0 && !result_.stashCounters[d].valid())
        result_.stashCounters[d] = counter(d, "stash_entries", "micro-batches");
    }
    for (const devices::LoweredDevice& device : lowered) {
      if (device.memory.empty()) continue;
      const auto d = static_cast<std::size_t>(device.device);
      result_.liveBytesCounters[d] = counter(d, "live_bytes", "B");
      result_.liveBytes[d] = liveBytesOf(device);
    }
  }

  LiveBytes liveBytesOf(const devices::LoweredDevice& device) const {
    LiveBytes live;
    std::map<std::pair<std::string, model::Pass>, int> stageOfStep;
    for (const devices::LoweredPass& pass : device.passes) {
      for (const devices::LoweredSegment& segment : pass.segments) {
        for (const devices::LoweredStep& step : segment.steps)
          stageOfStep[{step.name, pass.pass}] = pass.stage;
      }
    }
    const devices::LoweredMemory& memory = device.memory.front();
    for (const devices::LoweredVariable& variable : memory.variables) {
      if (variable.alwaysLive) live.always += variable.bytes;
    }
    for (std::size_t s = 0; s < result_.stashEntries.size(); ++s) {
      if (result_.deviceOfStage[s] == device.device)
        live.always -= result_.stashBytesPerEntry[s] * result_.stashEntries[s];
    }
    for (const devices::LivenessStep& step : memory.steps) {
      const auto stage = stageOfStep.find({step.name, step.pass});
      if (stage == stageOfStep.end()) continue;
      Bytes& peak = live.peak[{stage->second, step.pass}];
      peak = std::max(peak, step.notAlwaysLive);
    }
    return live;
  }

  model::DeviceId deviceId(int index) const { return ids_.devices[static_cast<std::size_t>(index)]; }

  model::LaneId lane(int device, model::LaneRole role) const {
    const auto& lanes = ids_.lanes[static_cast<std::size_t>(device)];
    const auto found = lanes.find(role);
    PIPESCOPE_CHECK(found != lanes.end(), "device has no lane " + model::toString(role));
    return found->second;
  }

  SegmentRefs& segmentsOf(const devices::LoweredPass& pass) {
    StageSegments& stage = result_.stages[static_cast<std::size_t>(pass.stage)];
    switch (pass.pass) {
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
  std::map<std::tuple<int, std::string, std::string>, model::ProgramId> programs_;
  Executable result_;
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

Executable recordExecutable(record::Recorder& recorder, const devices::System& system, const SystemIds& ids,
                            const compile::ExecutablePlan& plan,
                            const std::vector<devices::LoweredDevice>& lowered, schedules::Order order,
                            const ExecutableFacts& facts, RecordLevel level) {
  return ExecutableRecorder(recorder, system, ids, plan, level).record(lowered, std::move(order), facts);
}

}  // namespace pipescope::emulate
