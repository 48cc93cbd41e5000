#pragma once
// From a configuration to everything that runs, before any data is touched: parse → validate → predict →
// start share it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/compile/passes/pass.h"
#include "engine/config/configuration.h"
#include "engine/emulate/executable.h"
#include "profiler/base/executor.h"

namespace pipescope::graph {
class Graph;
}

namespace pipescope::app {

/// One executable, compiled for its devices but not yet recorded.
struct CompiledExecutable {
  compile::ExecutablePlan plan;
  std::vector<devices::LoweredDevice> lowered;
  schedules::Order order;
  emulate::ExecutableFacts facts;
  std::shared_ptr<const graph::Graph> graph;  ///< null on `fixed`: nothing is computed
  std::vector<compile::PassReport> passes;    ///< what the compiler's passes did; none on `fixed`
};

struct Compilation {
  std::shared_ptr<const devices::System> system;
  int devicesUsed = 0;
  std::vector<CompiledExecutable> executables;
  std::vector<std::string> notices;  ///< sentences for the user: idle devices, overridden options …
  std::vector<std::string> overflow() const;  ///< where something does not fit
};

/// Validates and compiles. Every refusal is a sentence that names the key, block, layer or stage. Devices are
/// lowered side by side on `executor`, where there is one; what comes out is the same.
base::Result<Compilation> compileRun(const config::Configuration& configuration,
                                     base::Executor* executor = nullptr);

/// A schedule on devices whose costs are given: what `fixed` runs and `pipescope schedule` shows.
struct FixedRun {
  std::string schedule;
  int microBatches = 1;
  int deviceIterations = 1;
  bool training = true;
  std::vector<int> deviceOfStage;  ///< empty: as the schedule lays out its stages
  int chunks = 0;                  ///< stages on each device; 0: as the schedule wants it
  struct Stage {
    double forward = 0, recompute = 0, backward = 0, update = 0;
    double weight = -1;  ///< weight gradients within backward; −1: half of it
  };
  /// Those of one pipe: a schedule with two (dualpipe) has each of them twice.
  std::vector<Stage> stages;
  double exchange = 0, call = 0;
  int replicas = 1;
  double collective = 0;  ///< sum of a stage's gradients over replicas
  std::vector<emulate::DeviceScale> scales;
  bool recordAllReplicas = false;
};
base::Result<Compilation> compileFixed(const FixedRun& run);
/// Devices of one replica of such a run.
base::Result<int> devicesOf(const FixedRun& run);

/// From outcomes of compileRun to the profile: target, executables, diagnostics.
struct RecordedCompilation {
  emulate::SystemIds ids;
  std::vector<emulate::Executable> executables;
};
RecordedCompilation recordCompilation(record::Recorder& recorder, const Compilation& compilation,
                                      emulate::RecordLevel level);
/// Outcomes of training: what the bubble would be with more micro-batches.
void recordForecast(record::Recorder& recorder, const Compilation& compilation,
                    const RecordedCompilation& recorded);

}  // namespace pipescope::app
