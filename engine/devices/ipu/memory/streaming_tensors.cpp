#include "engine/devices/ipu/memory/streaming_tensors.h"

#include <fmt/format.h>

#include <utility>

namespace pipescope::devices::ipu {

void StreamingTensors::add(const compile::StageIr& stage, const compile::IrTensor& tensor) {
  LoweredVariable variable;
  variable.name = tensor.name;
  variable.category = toString(tensor.use);
  variable.shape = toString(tensor.type);
  variable.bytes = variable.maxUnitBytes = tensor.type.bytes() * tensor.copies;
  variable.alwaysLive = true;
  variable.stage = stage.index;
  memory_.variables.push_back(std::move(variable));
}

LoweredMemory StreamingTensors::finish(const std::string& deviceName, std::int64_t room) {
  Bytes all;
  for (const LoweredVariable& variable : memory_.variables) all += variable.bytes;
  memory_.space = 1;
  memory_.units.push_back({"variable", "non_interleaved", true, 0, 1, all});
  if (all.count > room) {
    memory_.overflow.push_back(
        fmt::format("{}: {} bytes lie in streaming memory, of which it has {}: {} too much.\nFor streaming "
                    "memory: keep some kind of tensor on the chip, shard it over replicas, or use more "
                    "stages.",
                    deviceName, all.count, room, all.count - room));
  }
  return std::move(memory_);
}

}  // namespace pipescope::devices::ipu
