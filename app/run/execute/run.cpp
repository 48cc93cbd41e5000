#include "app/run/execute/run.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <vector>

#include "app/run/execute/fixed_calls.h"
#include "app/run/execute/infer.h"
#include "app/run/execute/train.h"
#include "app/run/io/weights_file.h"
#include "app/run/request/accelerator.h"
#include "app/run/request/compile_run.h"
#include "app/run/request/fit_advice.h"
#include "app/run/request/model_defaults.h"
#include "app/run/request/onnx_choice.h"
#include "engine/numerics/thread_pool.h"
#include "engine/ops/kernels/choose.h"
#include "profiler/base/log.h"
#include "profiler/base/version.h"
#include "profiler/store/file_sink.h"
#include "profiler/store/profile_path.h"

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

using ExecutableRuns = std::vector<std::unique_ptr<ExecutableRun>>;

/// Prepares each executable. None if the costs are given: then there is nothing to prepare.
base::Result<ExecutableRuns> prepareAll(const RunSetup& setup) {
  ExecutableRuns runs;
  const bool costsAreGiven = setup.compilation.executables.front().graph == nullptr;
  for (std::size_t i = 0; !costsAreGiven && i < setup.compilation.executables.size(); ++i) {
    const model::ExecutableKind kind = setup.compilation.executables[i].plan.kind;
    if (kind == model::ExecutableKind::validation) continue;  // training runs it between its epochs
    const bool training = kind == model::ExecutableKind::training;
    runs.push_back(training ? makeTraining(setup, i) : makeInference(setup, i));
    PIPESCOPE_TRY(runs.back()->prepare());
  }
  return runs;
}

/// Runs everything that comes after the first commit. An error becomes the reason in the profile.
base::Status runExecutables(RunContext& context, const ExecutableRuns& runs) {
  if (runs.empty()) return runFixed(context);
  std::optional<numerics::Parameters> weights;
  for (const std::unique_ptr<ExecutableRun>& run : runs) PIPESCOPE_TRY(run->run(context, weights));
  const std::string& saved = context.configuration.text("execution.save_weights");
  if (weights && saved.ends_with(".onnx"))
    PIPESCOPE_TRY(saveOnnxWeights(context.configuration, *weights, saved));
  return {};
}

/// Files that the run reads and that are of a kind that it could write, or that the configuration names.
base::OutputRules rulesFor(const config::Configuration& c, base::OutputRules rules) {
  for (const char* key : {"model.onnx", "execution.load_weights"}) rules.inputs.emplace_back(c.text(key));
  const std::filesystem::path data = c.text("data.directory");
  if (data.empty()) return rules;
  for (const char* archive : {"train.npz", "test.npz"}) rules.inputs.push_back(data / archive);
  return rules;
}

/// Checks all files that the run writes before it computes anything.
base::Status checkOutputs(const config::Configuration& c, const std::string& profile,
                          const base::OutputRules& rules) {
  PIPESCOPE_TRY(store::checkProfileOutput(profile, rules));
  const std::string& weights = c.text("execution.save_weights");
  PIPESCOPE_TRY(MetricsFile::create(c, rules));
  const auto weightsKind = weights.ends_with(".onnx") ? base::FileKind::onnxModel : base::FileKind::npz;
  if (!weights.empty()) PIPESCOPE_TRY(base::checkOutput(weights, weightsKind, rules));
  const std::pair<const char*, std::filesystem::path> outputs[] = {
      {"The profile", profile},
      {"the profile beside an older one", store::partPath(profile)},
      {"execution.metrics", c.text("execution.metrics")},
      {"execution.metrics_prometheus", c.text("execution.metrics_prometheus")},
      {"execution.save_weights", weights}};
  for (std::size_t i = 0; i < std::size(outputs); ++i) {
    for (std::size_t j = i + 1; j < std::size(outputs); ++j) {
      if (!base::isSameFile(outputs[i].second, outputs[j].second)) continue;
      return base::badInput(fmt::format("{} and {} are the same file, {}: choose two names.",
                                        outputs[i].first, outputs[j].first, outputs[j].second.string()));
    }
  }
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

/// Writes how the run ended. Returns its error, unless the user stopped it.
base::Status endProfile(record::Recorder& recorder, store::FileSink& writer, const base::Status& status) {
  if (status.ok()) return recorder.finish(model::ProfileState::complete);
  const std::string& reason = status.error().message;
  if (status.error().kind == base::ErrorKind::cancelled)
    return recorder.finish(model::ProfileState::cancelled, reason);
  // Unwritten rows are lost, but the file records why it ends early.
  if (!recorder.finish(model::ProfileState::incomplete, reason).ok())
    (void)writer.finish(model::ProfileState::incomplete, reason);
  return status;
}

}  // namespace

base::Result<RunResult> runConfiguration(const config::Configuration& given, const RunOptions& options,
                                         base::Progress& progress) {
  progress.report(0, "compiling");
  PIPESCOPE_ASSIGN(const config::Configuration defaults, withModelDefaults(given));
  PIPESCOPE_ASSIGN(const ChosenSystem chosen, chooseSystem(defaults));
  const config::Configuration& configuration = chosen.configuration;
  const std::string& saved = configuration.text("execution.save_weights");
  if (saved.ends_with(".onnx")) PIPESCOPE_TRY(checkSaveWeights(configuration));
  PIPESCOPE_TRY(checkWeightFiles(configuration));
  numerics::ThreadPool pool(threadCount(configuration));
  PIPESCOPE_ASSIGN(compile::Compilation compilation, compileRun(configuration, &pool));
  addFitAdvice(configuration, compilation, pool);
  const base::OutputRules rules = rulesFor(configuration, options.rules);
  PIPESCOPE_ASSIGN(const std::filesystem::path output, store::outputPath(options.output));
  PIPESCOPE_TRY(checkOutputs(configuration, output.string(), rules));
  PIPESCOPE_ASSIGN(MetricsFile metrics, MetricsFile::create(configuration, rules));
  if (chosen.notice) compilation.notices.push_back(*chosen.notice);
  store::FileSinkOptions sink;
  sink.writer.rules = rules;
  PIPESCOPE_ASSIGN(const std::unique_ptr<store::FileSink> writer, store::FileSink::create(output, sink));
  RunResult result;
  result.notices = compilation.notices;
  result.overflow = compilation.overflow();
  result.fits = result.overflow.empty();
  const bool runs = result.fits || !configuration.boolean("execution.require_fit");
  const RunSetup setup{configuration, compilation, pool, progress};
  ExecutableRuns prepared;
  if (runs) {
    PIPESCOPE_ASSIGN(prepared, prepareAll(setup));
  }
  record::Recorder recorder(*writer);
  const emulate::RecordLevel level = recordLevel(configuration);
  recordCircumstances(recorder, configuration, options, compilation);
  logCompilation(compilation);
  const compile::RecordedCompilation recorded = compile::recordCompilation(recorder, compilation, level);
  compile::recordForecast(recorder, compilation, recorded);
  PIPESCOPE_TRY(recorder.commit());  // from here on the profile exists
  emulate::Emulator emulator(recorder, *compilation.system, recorded.ids, level);
  RunContext context{setup, recorded, recorder, emulator, result, &metrics};
  base::Status status = runs ? runExecutables(context, prepared) : base::Status();
  if (const base::Status finished = metrics.finish(); status.ok()) status = finished;
  PIPESCOPE_TRY(endProfile(recorder, *writer, status));
  if (status.ok()) PIPESCOPE_TRY(checkPeaks(recorded));
  result.cancelled = !status.ok();
  result.written = writer->isAtPath();
  return result;
}

}  // namespace pipescope::app
