#pragma once
// Causes of a slow stage: its operations, copies and exchange.
#include <string>
#include <vector>

#include "profiler/analysis/pipeline/replica_rows.h"

namespace pipescope::analysis {

struct StageReport;

/// Something that costs time in a stage, all micro-batches alike.
struct StageOperation {
  std::string name, kind;
  std::string pass;  ///< forward, backward …, what the copies are, or launch
  double ticksPerMicroBatch = 0;
  double share = 0;  ///< share of the stage's occupied ticks per micro-batch
};

/// Gives each stage its operations, the time in which it waits for launches of kernels, host copies, loads
/// and stores of remote buffers, and exchange: largest first, at most ten. The ticks by kind are those of all
/// operations.
base::Status addStageOperations(const model::ProfileSource& source, const Catalog& catalog,
                                const ReplicaRows& rows, std::vector<StageReport>& stages);

}  // namespace pipescope::analysis
