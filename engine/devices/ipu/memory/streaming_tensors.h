#pragma once
// The tensors of a chip's stages that lie in streaming memory.
#include <string>

#include "engine/compile/ir.h"
#include "engine/devices/core/device_family.h"

namespace pipescope::devices::ipu {

class StreamingTensors {
 public:
  void add(const compile::StageIr& stage, const compile::IrTensor& tensor);
  bool isUsed() const { return !memory_.variables.empty(); }
  /// `room`: the bytes of streaming memory that the chip has.
  LoweredMemory finish(const std::string& deviceName, std::int64_t room);

 private:
  LoweredMemory memory_;
};

}  // namespace pipescope::devices::ipu
