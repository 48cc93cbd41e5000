#include "app/run/execute/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "app/run/execute/fixed_calls.h"
#include "app/run/execute/generate.h"
#include "app/run/execute/infer.h"
#include "app/run/execute/routed_load.h"
#include "app/run/execute/train.h"
#include "app/run/request/data_choice.h"
#include "engine/numerics/instance_module.h"
#include "profiler/base/machine.h"
#include "profiler/record/host_trace.h"
#include "profiler/store/profile_path.h"

namespace pipescope::app {
namespace {

using ExecutableRuns = std::vector<std::unique_ptr<ExecutableRun>>;

/// Prepares each executable. None if the costs are given: then there is nothing to prepare.
base::Result<ExecutableRuns> prepareAll(const RunSetup& setup) {
  ExecutableRuns runs;
  const std::vector<run::ExecutableInfo>& executables = setup.program->executables();
  const bool costsAreGiven = executables.front().inputs.empty();
  PIPESCOPE_ASSIGN(const std::optional<Generation> generation, generationOf(setup.configuration()));
  if (generation) {
    runs.push_back(makeGeneration(setup, *generation));
    PIPESCOPE_TRY(runs.back()->prepare());
    return runs;
  }
  for (std::size_t i = 0; !costsAreGiven && i < executables.size(); ++i) {
    const model::ExecutableKind kind = executables[i].kind;
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
  std::shared_ptr<const run::WeightValues> trained;
  for (const std::unique_ptr<ExecutableRun>& each : runs) PIPESCOPE_TRY(each->perform(context, trained));
  return {};
}

/// Notices about the data, which the run opens later.
std::vector<std::string> dataNotices(const run::CompiledModel& program) {
  const compile::CompiledExecutable& first = program.compilation().executables.front();
  if (!first.graph) return {};
  const base::Result<DataNeeds> needs = dataNeeds(*first.graph, first.facts.microBatchSize);
  if (!needs.ok()) return {};  // opening the data reports it
  const std::optional<std::string> notice = dataNotice(program.configuration(), *needs);
  return notice ? std::vector<std::string>{*notice} : std::vector<std::string>();
}

/// Checks all files that the run writes before it computes anything.
base::Status checkOutputs(const config::Configuration& c, const std::string& output,
                          const base::OutputRules& rules) {
  PIPESCOPE_ASSIGN(const std::filesystem::path profile, store::outputPath(output));
  PIPESCOPE_TRY(store::checkProfileOutput(profile, rules));
  const std::string& weights = c.text("execution.save_weights");
  PIPESCOPE_TRY(MetricsFile::create(c, rules));
  const auto weightsKind = weights.ends_with(".onnx") ? base::FileKind::onnxModel : base::FileKind::npz;
  if (!weights.empty()) PIPESCOPE_TRY(base::checkOutput(weights, weightsKind, rules));
  std::vector<std::pair<const char*, std::filesystem::path>> outputs = {
      {"The profile", profile},
      {"the profile beside an older one", store::partPath(profile)},
      {"execution.metrics", c.text("execution.metrics")},
      {"execution.metrics_prometheus", c.text("execution.metrics_prometheus")},
      {"execution.save_weights", weights}};
  for (const std::filesystem::path& written : {profile, store::partPath(profile)}) {
    for (std::filesystem::path& file : store::databaseSiblings(written))
      outputs.emplace_back("a file that SQLite keeps beside the profile", std::move(file));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t j = i + 1; j < outputs.size(); ++j) {
      if (!base::isSameFile(outputs[i].second, outputs[j].second)) continue;
      return base::badInput(fmt::format("{} and {} are the same file, {}: choose two names.",
                                        outputs[i].first, outputs[j].first, outputs[j].second.string()));
    }
  }
  return {};
}

/// True if the profile tells what the host does.
bool recordsHost(const run::ModelOptions& whole, const RunOptions& options) {
  return !options.output.empty() && whole.configuration().text("execution.record") != "off";
}

/// Adds what the other instances did to the profile, which the first instance writes. All call it together.
base::Status joinHosts(run::EmulatedDevice& device, const numerics::Instances& instances) {
  static_cast<void>(instances.sum(0));  // All instances leave it at nearly the same time.
  std::int64_t now = device.wallNow();
  const std::vector<std::byte> clocks = instances.gather(std::as_bytes(std::span(&now, 1)));
  std::vector<std::byte> own = instances.index() == 0 ? std::vector<std::byte>() : device.packHost();
  auto size = static_cast<std::int64_t>(own.size());
  const std::vector<std::byte> sizes = instances.gather(std::as_bytes(std::span(&size, 1)));
  const auto numberOf = [](const std::vector<std::byte>& all, int index) {
    std::int64_t number = 0;
    std::memcpy(&number, all.data() + static_cast<std::size_t>(index) * sizeof number, sizeof number);
    return number;
  };
  std::int64_t largest = 0;
  for (int i = 0; i < instances.count(); ++i) largest = std::max(largest, numberOf(sizes, i));
  own.resize(static_cast<std::size_t>(largest));
  const std::vector<std::byte> all = instances.gather(own);
  for (int i = 1; i < instances.count() && instances.index() == 0; ++i) {
    const auto packed = std::span(all).subspan(static_cast<std::size_t>(i * largest),
                                               static_cast<std::size_t>(numberOf(sizes, i)));
    PIPESCOPE_TRY(device.addHost(packed, fmt::format("instance {} on {}", i, instances.host(i)),
                                 numberOf(clocks, 0) - numberOf(clocks, i)));
  }
  return {};
}

/// An error after the first commit, with what has become of the file.
base::Error withFateOf(const std::string& output, bool isWritten, base::Error error) {
  if (!isWritten) {
    error.message += fmt::format(" No call was recorded, so {} is as it was.", output);
  } else if (error.kind == base::ErrorKind::refused || error.kind == base::ErrorKind::machine) {
    error.message += " The profile holds what ran before.";
  }
  return error;
}

base::Result<RunResult> runProgram(const run::ModelOptions& whole, const RunOptions& given,
                                   base::Progress& progress) {
  record::nameHostThread("main");
  std::shared_ptr<record::HostTrace> host;
  if (recordsHost(whole, given)) host = std::make_shared<record::HostTrace>();
  RunOptions options = given;
  // Only the first instance writes files.
  if (whole.instances() && whole.instances()->index() > 0) options.output.clear();
  // A name that cannot be written is refused before the model is compiled, which may take long.
  if (!options.output.empty()) {
    PIPESCOPE_ASSIGN(const std::filesystem::path profile, store::outputPath(options.output));
    PIPESCOPE_TRY(store::checkProfileOutput(profile, run::withInputs(whole.configuration(), options.rules)));
  }
  PIPESCOPE_ASSIGN(const auto program, run::CompiledModel::compile(whole, progress));
  const config::Configuration& configuration = program->configuration();
  const base::OutputRules rules = run::withInputs(configuration, options.rules);
  const bool writes = !options.output.empty();
  if (writes) PIPESCOPE_TRY(checkOutputs(configuration, options.output, rules));
  PIPESCOPE_ASSIGN(MetricsFile metrics, MetricsFile::create(configuration, rules));
  const std::vector<std::string> notices = dataNotices(*program);
  PIPESCOPE_ASSIGN(const auto device,
                   run::EmulatedDevice::create(
                       program, {options.output, options.commandLine, options.rules, notices, host}));
  RunResult result;
  result.notices = program->notices();
  result.notices.insert(result.notices.end(), notices.begin(), notices.end());
  result.overflow = program->overflow();
  result.fits = program->fits();
  result.isFirst = writes;
  const bool runs = result.fits || !configuration.boolean("execution.require_fit");
  const RunSetup setup{program, progress};
  ExecutableRuns prepared;
  if (runs) {
    PIPESCOPE_ASSIGN(prepared, prepareAll(setup));
  }
  PIPESCOPE_TRY(device->attach());
  RunContext context{setup, *device, result, metrics};
  base::Status status =
      runs ? base::guarded([&] { return runExecutables(context, prepared); }) : base::Status();
  if (const base::Status finished = metrics.finish(); status.ok()) status = finished;
  if (status.ok() && host && program->instances()) status = joinHosts(*device, *program->instances());
  if (const base::Status ended = device->finish(status); !ended.ok()) {
    if (status.ok() || !writes) return ended.error();
    return withFateOf(options.output, device->isWritten(), ended.error());
  }
  result.cancelled = !status.ok();
  result.written = device->isWritten();
  return result;
}

}  // namespace

base::Result<RunResult> runConfiguration(const config::Configuration& given, const RunOptions& options,
                                         base::Progress& progress) {
  PIPESCOPE_ASSIGN(const config::Configuration counted, withRoutedLoad(given, progress));
  run::ModelOptions whole(counted);
  PIPESCOPE_TRY(whole.joinInstances());
  if (!whole.instances() || whole.instances()->index() == 0) whole.sayVerdictTo(options.sayVerdict);
  PIPESCOPE_ASSIGN(RunResult result, runProgram(whole, options, progress));
  if (whole.instances() && !result.cancelled) numerics::leaveInstances();
  return result;
}

}  // namespace pipescope::app
