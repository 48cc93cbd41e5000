#pragma once
// Holds what the executables of a run share.
#include <memory>

#include "app/run/interface/model_executable.h"
#include "app/run/io/metrics_file.h"
#include "profiler/base/progress.h"

namespace pipescope::app {

struct RunResult;

/// Facts that are known before the profile begins.
struct RunSetup {
  std::shared_ptr<const run::CompiledModel> program;
  base::Progress& progress;
  const config::Configuration& configuration() const { return program->configuration(); }
};

struct RunContext : RunSetup {
  run::EmulatedDevice& device;
  RunResult& result;
  MetricsFile& metrics;
};

class ExecutableRun {
 public:
  virtual ~ExecutableRun() = default;
  /// Opens the data and makes the model. Everything that the configuration, the model and the data can make
  /// impossible is refused here, before the run writes anything.
  virtual base::Status prepare() = 0;
  /// Runs after prepare(). Training leaves its weights in `trained`, with which inference begins.
  virtual base::Status perform(RunContext& context, std::shared_ptr<const run::WeightValues>& trained) = 0;
};

}  // namespace pipescope::app
