#include "app/run/execute/run.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "app/run/execute/fixed_calls.h"
#include "app/run/execute/infer.h"
#include "app/run/execute/train.h"
#include "app/run/io/weights_file.h"
#include "app/run/request/accelerator.h"
#include "app/run/request/compile_run.h"
#include "app/run/request/model_defaults.h"
#include "app/run/request/onnx_choice.h"
#include "engine/numerics/thread_pool.h"
#include "engine/ops/kernels/choose.h"
#include "profiler/base/log.h"
#include "profiler/base/version.h"
#include "profiler/store/file_sink.h"

namespace pipescope::app {
namespace {

std::string utcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

void recordCircumstances(record::Recorder& recorder, const config::Configuration& configuration,
                         const RunOptions& options, const compile::Compilation& compilation) {
  recorder.add(model::Property{"tool_version", base::version()});
  recorder.add(model::Property{"created_utc", utcNow()});
  recorder.add(model::Property{"command_line", options.commandLine});
  recorder.add(model::Property{"device_model", compilation.system->family() + "-" +
                                                   compilation.system->devices().front().kind + " " +
                                                   base::version()});
  recorder.add(model::Property{"model", configuration.text("model.name")});
  recorder.add(model::Property{"times", "emulated by the " + compilation.system->family() +
                                            " device model; no hardware was involved"});
  if (configuration.boolean("execution.numerics"))
    recorder.add(model::Property{
        "kernels", kernels::kernelTable().name});  // results are bit-identical only with the same kernels
  for (const config::OptionRow& row : configuration.dump())
    recorder.add(model::ConfigurationEntry{row.path, row.value, row.origin});
}

emulate::RecordLevel recordLevel(const config::Configuration& configuration) {
  const std::string& level = configuration.text("execution.record");
  if (level == "off") return emulate::RecordLevel::off;
  if (level == "stages") return emulate::RecordLevel::stages;
  return level == "tiles" ? emulate::RecordLevel::tiles : emulate::RecordLevel::steps;
}

std::size_t threadCount(const config::Configuration& configuration) {
  const std::int64_t asked = configuration.integer("execution.threads");
  return asked > 0 ? static_cast<std::size_t>(asked) : numerics::ThreadPool::hardwareThreads();
}

/// Runs everything that comes after the first commit. An error becomes the reason in the profile.
base::Status runExecutables(RunContext& context, RunResult& result) {
  const bool costsAreGiven = context.compilation.executables.front().graph == nullptr;
  if (costsAreGiven) return runFixed(context, result);
  std::optional<numerics::Parameters> weights;
  for (std::size_t i = 0; i < context.compilation.executables.size(); ++i) {
    const model::ExecutableKind kind = context.compilation.executables[i].plan.kind;
    const bool training = kind == model::ExecutableKind::training;
    if (kind == model::ExecutableKind::validation) continue;  // training runs it between its epochs
    PIPESCOPE_TRY(training ? runTraining(context, i, weights, result)
                           : runInference(context, i, weights, result));
  }
  const std::string& saved = context.configuration.text("execution.save_weights");
  if (weights && saved.ends_with(".onnx"))
    PIPESCOPE_TRY(saveOnnxWeights(context.configuration, *weights, saved));
  return {};
}

/// Fails if a device model was faster than its own peak. The profile is kept, with a diagnostic.
base::Status checkPeaks(const compile::RecordedCompilation& recorded) {
  for (const emulate::EmulatedExecutable& executable : recorded.executables) {
    if (!executable.abovePeak.empty()) return base::internalError(executable.abovePeak.front());
  }
  return {};
}

/// Logs the details of a compilation for `--debug`.
void logCompilation(const compile::Compilation& compilation) {
  const auto say = [](const std::string& message) { base::log(base::LogLevel::debug, message); };
  say(fmt::format("system {}: {}", compilation.system->name(), compilation.system->description()));
  for (const compile::CompiledExecutable& executable : compilation.executables) {
    for (const devices::LoweredDevice& device : executable.lowered) {
      for (const devices::LoweredPass& pass : device.passes) {
        std::size_t steps = 0;
        for (const devices::LoweredSegment& segment : pass.segments) steps += segment.steps.size();
        say(fmt::format("{}: stage {} {} on device {}: {} ticks in {} steps", executable.plan.name,
                        pass.stage, model::toString(pass.pass), device.device, pass.ticks().count, steps));
      }
    }
  }
}

}  // namespace

base::Result<RunResult> runConfiguration(const config::Configuration& given, const RunOptions& options,
                                         base::Progress& progress) {
  progress.report(0, "compiling");
  PIPESCOPE_ASSIGN(const config::Configuration defaults, withModelDefaults(given));
  PIPESCOPE_ASSIGN(const config::Configuration configuration, withAccelerator(defaults));
  const std::string& saved = configuration.text("execution.save_weights");
  if (saved.ends_with(".onnx")) PIPESCOPE_TRY(checkSaveWeights(configuration));
  PIPESCOPE_TRY(checkWeightFiles(configuration));
  numerics::ThreadPool pool(threadCount(configuration));
  PIPESCOPE_ASSIGN(const compile::Compilation compilation, compileRun(configuration, &pool));
  PIPESCOPE_ASSIGN(MetricsFile metrics, MetricsFile::create(configuration.text("execution.metrics")));
  PIPESCOPE_ASSIGN(const std::unique_ptr<store::FileSink> writer, store::FileSink::create(options.output));
  record::Recorder recorder(*writer);
  const emulate::RecordLevel level = recordLevel(configuration);
  recordCircumstances(recorder, configuration, options, compilation);
  logCompilation(compilation);
  const compile::RecordedCompilation recorded = compile::recordCompilation(recorder, compilation, level);
  compile::recordForecast(recorder, compilation, recorded);
  PIPESCOPE_TRY(recorder.commit());  // from here on the profile exists
  RunResult result;
  result.notices = compilation.notices;
  result.overflow = compilation.overflow();
  result.fits = result.overflow.empty();
  emulate::Emulator emulator(recorder, *compilation.system, recorded.ids, level);
  RunContext context{configuration, compilation, recorded, recorder, emulator, pool, progress, &metrics};
  const bool run = result.fits || !configuration.boolean("execution.require_fit");
  const base::Status status = run ? runExecutables(context, result) : base::Status();
  if (status.ok()) {
    PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
    PIPESCOPE_TRY(checkPeaks(recorded));
    return result;
  }
  if (status.error().kind == base::ErrorKind::cancelled) {
    PIPESCOPE_TRY(recorder.finish(model::ProfileState::cancelled, status.error().message));
    result.cancelled = true;
    return result;
  }
  // Unwritten rows are lost, but the file records why it ends early.
  if (!recorder.finish(model::ProfileState::incomplete, status.error().message).ok()) {
    (void)writer->finish(model::ProfileState::incomplete, status.error().message);
  }
  return status.error();
}

}  // namespace pipescope::app
