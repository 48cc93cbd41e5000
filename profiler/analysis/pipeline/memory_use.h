#pragma once
// Computes how far a run uses the bandwidth of the devices' memory, and whether that memory holds the engines
// up.
#include <optional>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/pipeline/execution.h"

namespace pipescope::analysis {

struct FlopUse;

struct MemoryUse {
  /// Bytes that compute steps read and write ÷ (peak bandwidth × time), over the devices that hold a stage.
  /// None: the profile names no bandwidth of the memory, or no bytes.
  std::optional<double> share;
  /// True if these bytes need more than half of the time in which the devices compute, at the rate that the
  /// memory sustains, and longer than the FLOP need at their peak. Engines then mostly wait for the memory.
  bool holdsUp = false;
};

/// Returns the memory use of the executable's last run for one replica. `execution` and `flops` are of the
/// same executable.
MemoryUse memoryUse(const Catalog& catalog, const Execution& execution, const FlopUse& flops);

}  // namespace pipescope::analysis
