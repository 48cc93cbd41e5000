#pragma once
// Elementwise chains (PlanOperator::chains) as one vertex.
#include <optional>

#include "engine/compile/plan.h"
#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::devices::ipu {

struct FusedChain {
  LoweredWork work;
  std::size_t count = 0;         ///< pieces of Work that it does
  std::int64_t savedCycles = 0;  ///< against one vertex for each
};

/// The chain that begins with the operator's Work `first` as one vertex. None: there is no chain, or its
/// parts are faster one by one, because a generated loop is slower than those written in assembly.
base::Result<std::optional<FusedChain>> fuseChain(const compile::PlanOperator& op, std::size_t first,
                                                  const LoweringContext& context);

}  // namespace pipescope::devices::ipu
