#pragma once
// Turns elementwise chains (IrOperator::chains) into one vertex.
#include <optional>

#include "engine/compile/ir.h"
#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::devices::ipu {

struct FusedChain {
  LoweredWork work;
  std::size_t count = 0;         ///< pieces of Work that the vertex does
  std::int64_t savedCycles = 0;  ///< cycles saved against one vertex for each piece
};

/// The chain that begins with the operator's Work number `first`, as one vertex. Empty if there is no chain,
/// or if the parts are faster one by one: a generated loop is slower than one written in assembly.
base::Result<std::optional<FusedChain>> fuseChain(const compile::IrOperator& op, std::size_t first,
                                                  const IpuLoweringContext& context);

}  // namespace pipescope::devices::ipu
