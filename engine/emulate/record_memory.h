#pragma once
// Records what the variables of an executable are, when they live, and on which units they lie.
#include <string>
#include <vector>

#include "engine/emulate/device_program.h"
#include "engine/emulate/emulated_executable.h"

namespace pipescope::emulate {

/// Bytes of the data that one call streams from the host and back, for all replicas.
Bytes streamedBytes(const compile::ExecutableIr& ir, const ExecutableFacts& facts);

class MemoryRecorder {
 public:
  MemoryRecorder(record::Recorder& recorder, const SystemIds& ids, NameTree& names, RecordLevel level)
      : recorder_(recorder), ids_(ids), names_(names), level_(level) {}

  /// The executable of the rows that follow.
  void begin(model::ExecutableId executable) { executable_ = executable; }
  /// Records the variables of a device, their liveness and their units. `tree` has the programs of the
  /// device. A replica other than the first one repeats no sentence about memory that does not suffice.
  void recordDevice(const devices::LoweredDevice& device, int replica, ProgramTree& tree);
  /// Records the buffers of the host, which hold what all replicas take and give in one call, and the weights
  /// that its processes hold if its memory is stated. Then all of it is that of one host.
  void recordHost(const compile::ExecutableIr& ir, const ExecutableFacts& facts);

 private:
  void recordSpace(int device, const devices::LoweredMemory& memory, ProgramTree& tree);
  /// `programs` belong to the steps of the memory.
  void recordVertices(const devices::LoweredMemory& memory, model::MemorySpaceId space,
                      const std::vector<model::ProgramId>& programs);
  /// The first line says what does not fit. The others are advice.
  void recordOverflow(model::DeviceId device, const std::string& text);

  record::Recorder& recorder_;
  const SystemIds& ids_;
  NameTree& names_;
  RecordLevel level_;
  model::ExecutableId executable_;
};

}  // namespace pipescope::emulate
