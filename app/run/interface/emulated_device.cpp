#include "app/run/interface/emulated_device.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <map>
#include <system_error>

#include "app/run/interface/emulation.h"
#include "app/run/request/instance_launch.h"
#include "engine/ops/kernels/choose.h"
#include "profiler/base/log.h"
#include "profiler/base/version.h"
#include "profiler/store/file_sink.h"
#include "profiler/store/profile_path.h"

namespace pipescope::run {
namespace {

using Clock = std::chrono::steady_clock;

std::string utcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

void recordCircumstances(record::Recorder& recorder, const CompiledModel& program,
                         const std::string& commandLine) {
  const config::Configuration& configuration = program.configuration();
  const devices::System& system = *program.compilation().system;
  recorder.add(model::Property{"tool_version", base::version()});
  recorder.add(model::Property{"created_utc", utcNow()});
  recorder.add(model::Property{"command_line", commandLine});
  // Relative paths of the configuration begin here.
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::current_path(failed);
  if (!failed) recorder.add(model::Property{"run_folder", folder.string()});
  const std::string family = system.family(), kind = system.devices().front().kind;
  recorder.add(
      model::Property{"device_model", (family == kind ? kind : family + "-" + kind) + " " + base::version()});
  recorder.add(model::Property{"model", configuration.text("model.name")});
  recorder.add(model::Property{
      "times", "emulated by the " + system.family() + " device model; no hardware was involved"});
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

/// Logs the details of a compilation for `--debug`.
void logCompilation(const compile::Compilation& compilation) {
  const auto say = [](const std::string& message) { base::log(base::LogLevel::debug, message); };
  say(fmt::format("system {}: {}", compilation.system->name(), compilation.system->description()));
  for (const compile::CompiledExecutable& executable : compilation.executables) {
    for (const devices::LoweredDevice& device : executable.lowered) {
      for (const devices::LoweredPass& pass : device.passes) {
        std::size_t steps = 0;
        for (const devices::LoweredSegment& segment : pass.segments) steps += segment.steps.size();
        say(fmt::format("{}: stage {} {} on device {}: {} ticks in {} steps", executable.ir.name, pass.stage,
                        model::toString(pass.pass), device.device, pass.ticks().count, steps));
      }
    }
  }
}

/// Fails if a device model was faster than its own peak. The profile is kept, with a diagnostic.
base::Status checkPeaks(const compile::RecordedCompilation& recorded) {
  for (const emulate::EmulatedExecutable& executable : recorded.executables) {
    if (!executable.abovePeak.empty()) return base::internalError(executable.abovePeak.front());
  }
  return {};
}

}  // namespace

struct EmulatedDevice::Impl {
  NoSink none;
  std::unique_ptr<store::FileSink> file;  ///< null if no profile is written
  std::filesystem::path path;             ///< path of the profile
  std::string commandLine;
  std::vector<std::string> notices;
  std::unique_ptr<Emulation> emulation;
  std::unique_ptr<Emulation> unrecorded;  ///< emulates the calls that the profile does not hold
  std::int64_t most = 0, calls = 0;       ///< calls that the profile holds (0: all), calls so far
  Clock::time_point started;
  std::shared_ptr<record::HostTrace> host;  ///< null: the profile does not tell what the host does
  bool attached = false, loaded = false, finished = false;
  std::map<std::size_t, std::int64_t> callsOf;  ///< recorded calls of each executable so far
  /// Counters of addInstanceSeconds() for each executable.
  std::map<std::size_t, std::vector<model::CounterId>> instanceCounters;

  /// The emulation of the next call.
  Emulation& next() {
    if (most == 0 || ++calls <= most) return *emulation;
    if (!unrecorded) {
      unrecorded = std::make_unique<Emulation>(emulation->compilation, none, emulate::RecordLevel::off);
      unrecorded->load();
    }
    return *unrecorded;
  }

  void recordHost() {
    if (file && host) host->record(emulation->recorder, started);
  }
};

EmulatedDevice::EmulatedDevice(std::shared_ptr<const CompiledModel> program, std::unique_ptr<Impl> impl)
    : program_(std::move(program)), impl_(std::move(impl)) {}

EmulatedDevice::~EmulatedDevice() = default;

base::Result<std::unique_ptr<EmulatedDevice>> EmulatedDevice::create(
    std::shared_ptr<const CompiledModel> program, const ProfileRequest& profile) {
  auto impl = std::make_unique<Impl>();
  impl->commandLine = profile.commandLine;
  impl->notices = profile.notices;
  impl->most = profile.calls;
  emulate::RecordLevel level = emulate::RecordLevel::off;
  if (!profile.path.empty()) {
    level = recordLevel(program->configuration());
    store::FileSinkOptions sink;
    sink.writer.rules = withInputs(program->configuration(), profile.rules);
    PIPESCOPE_ASSIGN(const std::filesystem::path output, store::outputPath(profile.path));
    PIPESCOPE_TRY(store::checkProfileOutput(output, sink.writer.rules));
    PIPESCOPE_ASSIGN(impl->file, store::FileSink::create(output, sink));
    impl->path = output;
  }
  impl->host = profile.host;
  if (!impl->host && level != emulate::RecordLevel::off) impl->host = std::make_shared<record::HostTrace>();
  record::Sink& sink = impl->file ? static_cast<record::Sink&>(*impl->file) : impl->none;
  impl->emulation = std::make_unique<Emulation>(program->compilation(), sink, level);
  return std::unique_ptr<EmulatedDevice>(new EmulatedDevice(std::move(program), std::move(impl)));
}

base::Status EmulatedDevice::load() {
  Emulation& emulation = *impl_->emulation;
  recordCircumstances(emulation.recorder, *program_, impl_->commandLine);
  logCompilation(program_->compilation());
  emulation.load();
  for (const std::string& notice : impl_->notices)
    emulation.recorder.add(model::Diagnostic{model::Severity::info, "notice", notice, {}, {}});
  if (impl_->file && program_->instances()) PIPESCOPE_TRY(app::tellLauncher(impl_->path));
  if (impl_->file) compile::recordForecast(emulation.recorder, program_->compilation(), emulation.recorded);
  PIPESCOPE_TRY(emulation.recorder.commit());  // the profile exists from here on
  impl_->started = Clock::now();
  impl_->loaded = true;
  return {};
}

base::Status EmulatedDevice::attach() {
  if (impl_->finished)
    return base::badInput("The profile of these devices has ended: create them again to attach to them.");
  if (impl_->attached) return base::badInput("The program is attached to its devices already.");
  if (!impl_->loaded) PIPESCOPE_TRY(load());
  impl_->attached = true;
  return {};
}

base::Status EmulatedDevice::detach() {
  if (!impl_->attached) return base::badInput("The program is not attached to its devices.");
  impl_->attached = false;
  impl_->recordHost();
  return impl_->emulation->recorder.commit();
}

bool EmulatedDevice::isAttached() const {
  return impl_->attached;
}

base::Status EmulatedDevice::finish(const base::Status& how) {
  impl_->attached = false;
  if (impl_->finished || !impl_->loaded) return how;
  impl_->finished = true;
  record::Recorder& recorder = impl_->emulation->recorder;
  impl_->recordHost();
  if (impl_->unrecorded)
    recorder.add(
        model::Diagnostic{model::Severity::info,
                          "notice",
                          fmt::format("The profile holds the first {} of {} calls, as it was asked to.",
                                      impl_->most, impl_->calls),
                          {},
                          {}});
  if (impl_->file && impl_->host) impl_->host->recordLimits(recorder);
  impl_->host.reset();
  if (how.ok()) {
    PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
    return checkPeaks(impl_->emulation->recorded);
  }
  const std::string& reason = how.error().message;
  if (how.error().kind == base::ErrorKind::cancelled)
    return recorder.finish(model::ProfileState::cancelled, reason);
  // Unwritten rows are lost, but the file records why it ends early.
  if (!recorder.finish(model::ProfileState::incomplete, reason).ok() && impl_->file)
    (void)impl_->file->finish(model::ProfileState::incomplete, reason);
  return how;
}

bool EmulatedDevice::isWritten() const {
  return impl_->file && impl_->file->isAtPath();
}

base::Result<model::Run> EmulatedDevice::emulate(std::size_t executable, const std::string& name,
                                                 std::int64_t wallStart, std::int64_t wallEnd) {
  if (!impl_->attached)
    return base::badInput("The program is not attached to its devices: attach it before a call.");
  const ExecutableInfo& info = program_->executables()[executable];
  model::Run run;
  run.name = name;
  run.samples = info.inputs.empty() ? 0 : info.rowsPerCall();
  run.wallStartNs = wallStart;
  run.wallEndNs = wallEnd;
  Emulation& emulation = impl_->next();
  model::Run recorded = emulation.emulator->call(emulation.recorded.executables[executable], run);
  if (&emulation == impl_->unrecorded.get()) {
    recorded.id = {};
  } else {
    ++impl_->callsOf[executable];
  }
  base::log(
      base::LogLevel::debug,
      fmt::format("{}: {} samples, {} ticks emulated, {:.1f} ms on the host", recorded.name, run.samples,
                  (recorded.end - recorded.start).count, static_cast<double>(wallEnd - wallStart) * 1e-6));
  if (impl_->file && impl_->host) impl_->host->recordIfDue(impl_->emulation->recorder, impl_->started);
  PIPESCOPE_TRY(emulation.recorder.commitIfDue(!program_->computes()));
  return recorded;
}

void EmulatedDevice::planCalls(std::size_t executable, std::int64_t count) {
  if (impl_->most > 0) count = std::min(count, impl_->most - std::min(impl_->calls, impl_->most));
  impl_->emulation->recorder.add(model::plannedCallsProperty(
      impl_->emulation->recorded.executables[executable].id, impl_->callsOf[executable] + count));
}

double EmulatedDevice::seconds(base::Ticks ticks) const {
  return impl_->emulation->seconds(ticks);
}

std::int64_t EmulatedDevice::wallNow() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - impl_->started).count();
}

std::vector<std::byte> EmulatedDevice::packHost() {
  return impl_->host ? impl_->host->pack(impl_->started) : std::vector<std::byte>();
}

base::Status EmulatedDevice::addHost(std::span<const std::byte> packed, const std::string& instance,
                                     std::int64_t shiftNs) {
  if (!impl_->file || !impl_->host) return {};
  return impl_->host->recordPacked(impl_->emulation->recorder, packed, instance,
                                   std::chrono::nanoseconds(shiftNs));
}

model::CounterId EmulatedDevice::addCounter(std::size_t executable, const std::string& name,
                                            const std::string& unit) {
  const model::ExecutableId id = impl_->emulation->recorded.executables[executable].id;
  return impl_->emulation->recorder.add(model::Counter{{}, id, {}, name, unit});
}

void EmulatedDevice::addSample(model::CounterId counter, const model::Run& run, double value) {
  if (run.id.valid()) impl_->emulation->recorder.add(model::CounterSample{counter, run.end, run.id, value});
}

void EmulatedDevice::addIterationSamples(model::CounterId counter, const model::Run& run,
                                         const std::vector<double>& values) {
  if (!run.id.valid()) return;
  const std::vector<base::Ticks>& ends = impl_->emulation->emulator->iterationEnds();
  PIPESCOPE_CHECK(values.size() == ends.size(), "a call has one value for each iteration");
  for (std::size_t i = 0; i < values.size(); ++i)
    impl_->emulation->recorder.add(model::CounterSample{counter, ends[i], run.id, values[i]});
}

void EmulatedDevice::addInstanceSeconds(std::size_t executable, const model::Run& run,
                                        const std::vector<double>& seconds) {
  if (!impl_->file || !run.id.valid()) return;
  std::vector<model::CounterId>& counters = impl_->instanceCounters[executable];
  for (std::size_t i = counters.size(); i < seconds.size(); ++i) {
    const std::string host = program_->instances()->host(static_cast<int>(i));
    counters.push_back(addCounter(executable, fmt::format("host_seconds instance {} on {}", i, host), "s"));
  }
  for (std::size_t i = 0; i < seconds.size(); ++i) addSample(counters[i], run, seconds[i]);
}

void EmulatedDevice::addOutcome(std::size_t executable, const std::string& name, const std::string& unit,
                                const std::string& basis, double value, model::OutcomeKind kind) {
  const model::ExecutableId id = impl_->emulation->recorded.executables[executable].id;
  impl_->emulation->recorder.add(model::Outcome{id, name, unit, basis, value, kind});
}

base::OutputRules withInputs(const config::Configuration& c, base::OutputRules rules) {
  for (const char* key : {"model.onnx", "execution.load_weights"}) rules.inputs.emplace_back(c.text(key));
  const std::filesystem::path data = c.text("data.directory");
  if (data.empty()) return rules;
  for (const char* archive : {"train.npz", "test.npz"}) rules.inputs.push_back(data / archive);
  return rules;
}

base::Status checkCancelled(const base::Progress& progress) {
  if (progress.cancelled()) return base::cancelled("The run was stopped by the user.");
  return {};
}

}  // namespace pipescope::run
