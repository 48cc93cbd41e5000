#pragma once
// A schedule on devices whose costs are given instead of modelled: what system `fixed` runs and what
// `pipescope schedule` shows.
#include <string>
#include <vector>

#include "engine/compiler/compilation.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

struct FixedRun {
  std::string schedule;
  int microBatches = 1;
  int deviceIterations = 1;
  std::vector<double> microBatchCosts;  ///< see ExecutableFacts
  bool training = true;
  std::vector<int> placeOfStage;  ///< empty: as the schedule lays out its stages
  int chunks = 0;                 ///< stages on each device; 0: as the schedule wants it
  /// Costs in units.
  struct Stage {
    double forward = 0, recompute = 0, backward = 0, update = 0;
    double weight = -1;      ///< weight gradients within backward; −1: half of it
    std::int64_t sends = 0;  ///< bytes of activations to the next stage; their gradients have as many
    std::int64_t holds = 0;  ///< bytes that are always there
    std::int64_t stash = 0;  ///< bytes of each micro-batch from its forward to the end of its backward pass
  };
  /// Stages of one pipe. A schedule with two pipes (dualpipe) has each of them twice.
  std::vector<Stage> stages;
  double exchange = 0, call = 0;
  double bandwidth = 0, launch = 0, receive = 0, unitSeconds = 0;  ///< see FixedCosts
  std::int64_t memory = 0;                                         ///< see FixedCosts
  bool blockingSends = false;                                      ///< see clock::Call
  double sharedCompute = 0;                                        ///< see ExecutableFacts
  int replicas = 1;
  double collective = 0;  ///< sum of a stage's gradients over replicas
  std::vector<emulate::DeviceScale> scales;
  bool recordAllReplicas = false;
};

/// Compiles a run whose costs are given, for system `fixed`. Fails with a sentence for an unknown
/// schedule, a shape that the schedule cannot have, costs that no clock can hold, and sends that block for
/// ever.
base::Result<Compilation> compileFixed(const FixedRun& run);
/// Devices of one replica of such a run.
base::Result<int> devicesOf(const FixedRun& run);

}  // namespace pipescope::compile
