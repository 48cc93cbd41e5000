#pragma once
// The calls of each executable: data in, numbers computed, time emulated, rows recorded.
#include <chrono>
#include <optional>

#include "app/run/execute/run.h"
#include "app/run/io/metrics_file.h"
#include "engine/compile/model/record_compilation.h"
#include "engine/emulate/emulator.h"
#include "engine/numerics/session.h"

namespace pipescope::app {

struct RunContext {
  const config::Configuration& configuration;
  const compile::Compilation& compilation;
  const compile::RecordedCompilation& recorded;
  record::Recorder& recorder;
  emulate::Emulator& emulator;
  base::Executor& executor;
  base::Progress& progress;
  MetricsFile* metrics = nullptr;  ///< never null in a run
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

/// Nanoseconds since the run began.
std::int64_t wallNow(const RunContext& context);
/// Emulates one call and records it; commits when due. An error is the sink's.
base::Result<model::Run> emulateCall(RunContext& context, std::size_t executable, std::string name,
                                     std::int64_t samples, std::int64_t wallStart, std::int64_t wallEnd);
/// A cancelled error where the user asked to stop.
base::Status checkCancelled(const base::Progress& progress);

/// Trains for training.epochs; leaves the weights behind.
base::Status runTraining(RunContext& context, std::size_t executable,
                         std::optional<numerics::Parameters>& weights, RunResult& result);
/// Infers over the test data with the given weights, or the initial ones.
base::Status runInference(RunContext& context, std::size_t executable,
                          const std::optional<numerics::Parameters>& weights, RunResult& result);
/// The calls of a `fixed` system: time only.
base::Status runFixed(RunContext& context, RunResult& result);

}  // namespace pipescope::app
