#pragma once
// Holds what the executables of a run share, and emulates one call.
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "app/run/io/metrics_file.h"
#include "engine/compile/model/record_compilation.h"
#include "engine/config/configuration.h"
#include "engine/emulate/emulator.h"
#include "engine/numerics/session.h"
#include "profiler/base/progress.h"

namespace pipescope::app {

struct RunResult;

/// What is known before the profile begins.
struct RunSetup {
  const config::Configuration& configuration;
  const compile::Compilation& compilation;
  base::Executor& executor;
  base::Progress& progress;
};

struct RunContext : RunSetup {
  const compile::RecordedCompilation& recorded;
  record::Recorder& recorder;
  emulate::Emulator& emulator;
  RunResult& result;
  MetricsFile* metrics = nullptr;  ///< never null in a run
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

/// One executable of a run.
class ExecutableRun {
 public:
  virtual ~ExecutableRun() = default;
  /// Opens the data and makes the model. Everything that the configuration, the model and the data can make
  /// impossible is refused here, before the run writes anything.
  virtual base::Status prepare() = 0;
  /// Runs after prepare(). Training leaves its weights in `weights`, with which inference begins.
  virtual base::Status run(RunContext& context, std::optional<numerics::Parameters>& weights) = 0;
};

/// Nanoseconds since the run began.
std::int64_t wallNow(const RunContext& context);
/// Emulates one call, records it, and commits the rows from time to time. Fails only if the profile cannot be
/// written.
base::Result<model::Run> emulateCall(RunContext& context, std::size_t executable, std::string name,
                                     std::int64_t samples, std::int64_t wallStart, std::int64_t wallEnd);
/// Gives an error of kind `cancelled` once the user has asked to stop.
base::Status checkCancelled(const base::Progress& progress);

}  // namespace pipescope::app
