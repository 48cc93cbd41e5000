#include "engine/plan/tried_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/compiler/record_compilation.h"
#include "engine/plan/emulated_time.h"

namespace pipescope::plan {
namespace {

/// Bytes of the fullest unit.
std::int64_t usedIn(const devices::LoweredMemory& memory) {
  std::map<std::int64_t, std::int64_t> change;  // change of the bytes, at the unit of that number
  for (const devices::UnitBytesRun& run : memory.units) {
    change[run.firstUnit] += run.bytes.count;
    change[run.firstUnit + run.unitCount] -= run.bytes.count;
  }
  std::int64_t bytes = 0, most = 0;
  for (const auto& [unit, by] : change) most = std::max(most, bytes += by);
  return most;
}

/// Bytes that are always live in a memory of one unit; none: it has several.
std::optional<std::int64_t> alwaysLiveIn(const devices::LoweredMemory& memory,
                                         const devices::MemorySpaceInfo& space) {
  if (space.units != 1) return std::nullopt;
  std::int64_t bytes = 0;
  for (const devices::UnitBytesRun& run : memory.units) bytes += run.alwaysLive ? run.bytes.count : 0;
  return bytes;
}

void addTensors(const compile::StageIr& ir, TriedStage& stage) {
  for (const compile::IrTensor& tensor : ir.tensors) {
    if (tensor.use == compile::TensorUse::weight && !tensor.shared)
      stage.parameters += tensor.type.bytes().count;
  }
  for (const compile::PassIr& pass : ir.passes) {
    if (pass.pass != model::Pass::forward) continue;
    for (const compile::IrOperator& op : pass.operators) {
      for (const compile::IrTensorId id : op.outputs) stage.activations += ir.tensors[id].type.bytes().count;
    }
    stage.operators = static_cast<std::int64_t>(pass.operators.size());
    if (pass.operators.empty()) continue;
    stage.first = pass.operators.front().name;
    stage.last = pass.operators.back().name;
  }
}

void addTimes(const devices::LoweredDevice& device, const FullestUnit& unit,
              std::vector<TriedStage>& stages) {
  for (const devices::LoweredPass& pass : device.passes) {
    // Schedules with several pipes have each stage again behind these; the first pipe counts.
    if (static_cast<std::size_t>(pass.stage) >= stages.size()) continue;
    TriedStage& stage = stages[static_cast<std::size_t>(pass.stage)];
    stage.missing = unit.missing;
    stage.used = unit.used;
    stage.room = unit.room;
    stage.alwaysLive = unit.alwaysLive;
    for (const devices::LoweredSegment& segment : pass.segments) {
      const model::Pass kind = segment.pass.value_or(pass.pass);
      const std::int64_t ticks = segment.ticks.count;
      if (kind == model::Pass::forward) stage.forward += ticks;
      if (kind == model::Pass::recompute) stage.recompute += ticks;
      if (kind == model::Pass::backward || kind == model::Pass::weightGradient) stage.backward += ticks;
      if (kind == model::Pass::hostIn || kind == model::Pass::hostOut) stage.host += ticks;
    }
  }
}

}  // namespace

FullestUnit fullestUnit(const devices::LoweredDevice& device, const devices::DeviceInfo& info) {
  FullestUnit fullest;
  for (const devices::LoweredMemory& memory : device.memory) {
    const std::int64_t used = usedIn(memory);
    const std::int64_t room = info.memory.at(static_cast<std::size_t>(memory.space)).bytesPerUnit.count;
    const bool fuller = static_cast<double>(used) * static_cast<double>(fullest.room) >
                        static_cast<double>(fullest.used) * static_cast<double>(room);
    if (fullest.room == 0 || fuller) {
      fullest.used = used;
      fullest.room = room;
      fullest.alwaysLive = alwaysLiveIn(memory, info.memory.at(static_cast<std::size_t>(memory.space)));
    }
    // A family may keep a part of its memory for itself.
    if (!memory.overflow.empty()) fullest.missing = std::max({fullest.missing, used - room, std::int64_t{1}});
  }
  return fullest;
}

TriedPlan tryOut(const compile::Compilation& compilation) {
  const compile::CompiledExecutable& executable = compilation.executables.front();
  TriedPlan tried;
  const std::size_t pipes = static_cast<std::size_t>(executable.order.pipes);
  for (std::size_t s = 0; s < executable.ir.stages.size() / pipes; ++s) {
    const compile::StageIr& ir = executable.ir.stages[s];
    TriedStage stage;
    stage.blocks = ir.blocks;
    stage.place = ir.place;
    addTensors(ir, stage);
    tried.stages.push_back(std::move(stage));
  }
  for (const compile::CompiledExecutable& each : compilation.executables) {
    for (const devices::LoweredDevice& device : each.lowered) {
      const auto index = static_cast<std::size_t>(device.device);
      const FullestUnit unit = fullestUnit(device, compilation.system->devices()[index]);
      tried.value.missing = std::max(tried.value.missing, unit.missing);
      if (&each == &executable) addTimes(device, unit, tried.stages);
    }
  }
  tried.overflow = compilation.overflow();
  const emulate::ExecutableFacts& facts = executable.facts;
  const EmulatedCall call = emulatedCall(compilation);
  for (std::size_t s = 0; s < tried.stages.size(); ++s) {
    tried.stages[s].exchange = call.stages[s].exchange;
    tried.stages[s].occupied = call.stages[s].occupied;
  }
  tried.value.time = call.ticks.count;
  tried.ticksPerSecond = static_cast<double>(compilation.system->devices().front().ticksPerSecond);
  const double seconds = static_cast<double>(tried.value.time) / tried.ticksPerSecond;
  const auto samples = static_cast<double>(facts.rows() * facts.iterations);
  if (seconds > 0) tried.samplesPerSecond = samples / seconds;
  tried.tokensPerSample = executable.tokensPerSample;
  tried.devices = compilation.devicesUsed;
  tried.replicas = static_cast<int>(facts.replicas);
  tried.microBatches = facts.microBatches;
  tried.microBatchSize = facts.microBatchSize;
  tried.schedule = facts.schedule;
  tried.recompute = facts.recompute;
  return tried;
}

}  // namespace pipescope::plan
