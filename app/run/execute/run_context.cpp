#include "app/run/execute/run_context.h"

#include <fmt/format.h>

#include "profiler/base/log.h"

namespace pipescope::app {

std::int64_t wallNow(const RunContext& context) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              context.started)
      .count();
}

base::Status checkCancelled(const base::Progress& progress) {
  if (progress.cancelled()) return base::cancelled("The run was stopped by the user.");
  return {};
}

base::Result<model::Run> emulateCall(RunContext& context, std::size_t executable, std::string name,
                                     std::int64_t samples, std::int64_t wallStart, std::int64_t wallEnd) {
  model::Run run;
  run.name = std::move(name);
  run.samples = samples;
  run.wallStartNs = wallStart;
  run.wallEndNs = wallEnd;
  const model::Run recorded = context.emulator.call(context.recorded.executables[executable], run);
  base::log(base::LogLevel::debug, fmt::format("{}: {} samples, {} ticks emulated, {:.1f} ms on the host",
                                               recorded.name, samples, (recorded.end - recorded.start).count,
                                               static_cast<double>(wallEnd - wallStart) * 1e-6));
  PIPESCOPE_TRY(context.recorder.commitIfDue(!context.configuration.boolean("execution.numerics")));
  return recorded;
}

}  // namespace pipescope::app
