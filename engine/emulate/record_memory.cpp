#include "engine/emulate/record_memory.h"

#include <sstream>

namespace pipescope::emulate {

void MemoryRecorder::recordDevice(const devices::LoweredDevice& device, int replica, ProgramTree& tree) {
  for (const devices::LoweredMemory& memory : device.memory) {
    recordSpace(device.device, memory, tree);
    // Replicas need equal memory, so the first one speaks for all.
    for (const std::string& text : replica == 0 ? memory.overflow : std::vector<std::string>())
      recordOverflow(ids_.devices[static_cast<std::size_t>(device.device)], text);
  }
}

void MemoryRecorder::recordSpace(int device, const devices::LoweredMemory& memory, ProgramTree& tree) {
  const model::MemorySpaceId space(ids_.memory[static_cast<std::size_t>(device)].value + memory.space);
  for (const devices::LoweredVariable& variable : memory.variables) {
    recorder_.gather();
    const model::VariableId id = recorder_.add(model::Variable{{},
                                                               executable_,
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
    recorder_.add(model::LivenessStep{executable_, space, static_cast<std::int32_t>(i), programs.back(),
                                      step.pass, step.notAlwaysLive, step.maxUnitNotAlwaysLive});
    recorder_.gather();
  }
  if (level_ >= RecordLevel::steps) recordVertices(memory, space, programs);
  for (const devices::UnitBytesRun& run : memory.units) {
    recorder_.add(model::UnitMemory{executable_, space, run.category, run.region, run.alwaysLive,
                                    run.firstUnit, run.unitCount, run.bytes});
    recorder_.gather();
  }
}

void MemoryRecorder::recordVertices(const devices::LoweredMemory& memory, model::MemorySpaceId space,
                                    const std::vector<model::ProgramId>& programs) {
  for (const devices::LoweredVertices& use : memory.vertices) {
    recorder_.add(model::VertexUse{executable_, space, programs[static_cast<std::size_t>(use.step)], use.type,
                                   use.firstUnit, use.unitCount, use.count, use.code, use.state, use.fields});
  }
}

void MemoryRecorder::recordOverflow(model::DeviceId device, const std::string& text) {
  std::istringstream lines(text);
  bool first = true;
  for (std::string line; std::getline(lines, line); first = false) {
    recorder_.add(model::Diagnostic{first ? model::Severity::error : model::Severity::info,
                                    first ? "out_of_memory" : "out_of_memory_advice", line, executable_,
                                    device});
  }
}

namespace {

/// Calls `take(stage, tensor, bytes)` for each tensor that a call streams from the host or to it.
template <class Take>
void forEachStream(const compile::ExecutableIr& ir, const ExecutableFacts& facts, Take take) {
  const std::int64_t blocks = facts.microBatches * facts.iterations * facts.replicas;
  for (const compile::StageIr& stage : ir.stages) {
    for (const compile::PassIr& pass : stage.passes) {
      const bool in = pass.pass == model::Pass::hostIn;
      if (!in && pass.pass != model::Pass::hostOut) continue;
      for (const compile::IrOperator& op : pass.operators) {
        const compile::IrTensor& tensor = stage.tensors[(in ? op.outputs : op.inputs).front()];
        take(stage, tensor, tensor.type.bytes() * (in ? blocks / facts.inputGroup : blocks));
      }
    }
  }
}

}  // namespace

Bytes streamedBytes(const compile::ExecutableIr& ir, const ExecutableFacts& facts) {
  Bytes all;
  forEachStream(ir, facts, [&](const auto&, const auto&, Bytes bytes) { all += bytes; });
  return all;
}

void MemoryRecorder::recordHost(const compile::ExecutableIr& ir, const ExecutableFacts& facts) {
  if (!ids_.host.valid()) return;
  const std::int64_t processes = std::int64_t{ir.mesh.replicas} * ir.mesh.width,
                     here = facts.host.processesOfHost(ir.mesh.replicas, ir.mesh.width);
  const bool judged = facts.host.memory.count > 0;
  // The part of a host whose memory is stated; otherwise that of all hosts.
  const auto part = [&](Bytes bytes) {
    return judged ? Bytes((bytes.count * here + processes - 1) / processes) : bytes;
  };
  const auto add = [&](const std::string& name, const char* category, const std::string& shape, Bytes bytes,
                       std::int32_t stage) {
    recorder_.add(model::Variable{
        {}, executable_, ids_.host, names_.at(name, "variable"), category, shape, bytes, bytes, true, stage});
  };
  forEachStream(ir, facts, [&](const auto& stage, const auto& tensor, Bytes bytes) {
    add(tensor.name, "stream_buffer", toString(tensor.type), part(bytes), stage.index);
  });
  const auto hold = [&](const char* category, Bytes bytes) {
    if (bytes.count > 0)
      recorder_.add(
          model::UnitMemory{executable_, ids_.host, category, "non_interleaved", true, 0, 1, bytes});
  };
  const Bytes streams = streamedBytes(ir, facts);
  if (judged) {
    add("weights of the processes", "weight", "", facts.host.weights * here, -1);
    hold("weight", facts.host.weights * here);
    const std::string overflow = facts.host.memoryOverflow(ir.mesh.replicas, ir.mesh.width, streams);
    if (!overflow.empty()) recordOverflow({}, overflow);
  }
  hold("variable", part(streams));
}

}  // namespace pipescope::emulate
