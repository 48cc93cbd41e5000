#include "app/run/interface/executable_info.h"

#include <algorithm>

#include "engine/graph/graph.h"
#include "profiler/base/units.h"

namespace pipescope::run {
namespace {

MemoryInfo describeMemory(const devices::LoweredMemory& memory, int device,
                          const devices::MemorySpaceInfo& space) {
  MemoryInfo info;
  info.device = device;
  info.kind = space.kind;
  info.units = space.units;
  info.capacity = space.bytesPerUnit;
  info.fits = memory.overflow.empty();
  std::vector<std::int64_t> units(static_cast<std::size_t>(std::max<std::int64_t>(space.units, 1)));
  for (const devices::UnitBytesRun& run : memory.units) {
    info.bytes += run.bytes * run.unitCount;
    for (std::int64_t unit = run.firstUnit; unit < run.firstUnit + run.unitCount; ++unit) {
      if (static_cast<std::size_t>(unit) < units.size())
        units[static_cast<std::size_t>(unit)] += run.bytes.count;
    }
  }
  info.mostBytes = base::Bytes(*std::ranges::max_element(units));
  return info;
}

void addDevice(ExecutableInfo& info, const devices::LoweredDevice& lowered,
               const devices::DeviceInfo& device) {
  const base::Timebase timebase{device.ticksPerSecond};
  for (const devices::LoweredPass& pass : lowered.passes) {
    const auto stage = std::ranges::find(info.stages, pass.stage, &StageInfo::index);
    if (stage == info.stages.end()) continue;
    const double seconds = base::toSeconds(pass.ticks(), timebase);
    if (pass.pass == model::Pass::forward) stage->forwardSeconds += seconds;
    const bool backward = pass.pass == model::Pass::backward || pass.pass == model::Pass::recompute ||
                          pass.pass == model::Pass::weightGradient;
    if (backward) stage->backwardSeconds += seconds;
  }
  for (const devices::LoweredMemory& memory : lowered.memory)
    info.memory.push_back(
        describeMemory(memory, lowered.device, device.memory[static_cast<std::size_t>(memory.space)]));
}

/// The gradient of a weight is named after the weight.
std::string outputName(const graph::Graph& graph, graph::TensorId id) {
  for (const auto& [parameter, gradient] : graph.parameterGradients) {
    if (gradient == id) return "gradient of " + graph.tensor(parameter).name;
  }
  return graph.tensor(id).name;
}

}  // namespace

ExecutableInfo describeExecutable(const compile::CompiledExecutable& executable,
                                  const devices::System& system) {
  ExecutableInfo info;
  const emulate::ExecutableFacts& facts = executable.facts;
  info.name = executable.ir.name;
  info.kind = executable.ir.kind;
  info.microBatchSize = facts.microBatchSize;
  info.microBatches = facts.microBatches;
  info.iterations = facts.iterations;
  info.replicas = facts.replicas;
  info.inputGroup = facts.inputGroup;
  for (const compile::StageIr& stage : executable.ir.stages)
    info.stages.push_back({stage.index, stage.place, stage.blocks});
  for (const devices::LoweredDevice& lowered : executable.lowered)
    addDevice(info, lowered, system.devices()[static_cast<std::size_t>(lowered.device)]);
  if (!executable.graph) return info;
  const graph::Graph& graph = *executable.graph;
  for (const graph::TensorId id : graph.inputs)
    info.inputs.push_back({graph.tensor(id).name, graph.tensor(id).type});
  for (const graph::TensorId id : graph.outputs)
    info.outputs.push_back({outputName(graph, id), graph.tensor(id).type});
  info.hasLoss = graph.loss.has_value();
  return info;
}

}  // namespace pipescope::run
