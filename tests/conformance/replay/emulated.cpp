#include "emulated.h"

#include <fmt/format.h>

#include "app/run/orders/replay_schedules.h"
#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"
#include "engine/compiler/record_compilation.h"
#include "engine/emulate/emulator.h"

namespace pipescope::conformance {
namespace {

base::Result<EmulatedProfile> emulateConfiguration(const config::Configuration& configuration) {
  PIPESCOPE_ASSIGN(const compile::Compilation compilation, app::compileRun(configuration));
  EmulatedProfile emulated;
  emulated.profile = std::make_unique<record::MemoryProfile>();
  record::Recorder recorder(*emulated.profile);
  for (const config::OptionRow& row : configuration.dump())
    recorder.add(model::ConfigurationEntry{row.path, row.value, ""});
  const auto recorded = compile::recordCompilation(recorder, compilation, emulate::RecordLevel::steps);
  emulate::Emulator emulator(recorder, *compilation.system, recorded.ids, emulate::RecordLevel::steps);
  for (const emulate::EmulatedExecutable& executable : recorded.executables) {
    for (int call = 0; call < 2; ++call) {
      model::Run run;
      run.samples = executable.facts.rows() * executable.facts.iterations;
      emulator.call(executable, run);
    }
  }
  PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
  PIPESCOPE_ASSIGN(emulated.catalog, analysis::loadCatalog(*emulated.profile));
  return emulated;
}

}  // namespace

ReplayedSetup ReplayedSetup::with(const std::string& key, const std::string& value) const {
  ReplayedSetup changed = *this;
  changed.keys[key] = value;
  return changed;
}

std::string ReplayedSetup::describe() const {
  std::string text;
  for (const auto& [key, value] : keys) text += key + "=" + value + " ";
  return text + "\n" + tables;
}

double EmulatedProfile::stepTicks(std::size_t executable) const {
  const model::Executable& row = catalog->executables.items()[executable];
  const model::Run* run = catalog->lastRunOf(row.id);
  const auto iterations = row.kind == model::ExecutableKind::training ? row.deviceIterations : 1;
  return static_cast<double>((run->end - run->start).count) / static_cast<double>(iterations);
}

const replay::Schedules& engineSchedules() {
  static const replay::Schedules kSchedules = app::replaySchedules();
  return kSchedules;
}

base::Result<EmulatedProfile> emulateSetup(const ReplayedSetup& setup) {
  PIPESCOPE_ASSIGN(config::Configuration configuration, app::parseConfiguration(setup.tables, "setup"));
  for (const auto& [key, value] : setup.keys)
    PIPESCOPE_TRY(configuration.setText(key, value, config::Origin::flag));
  return emulateConfiguration(configuration);
}

base::Result<EmulatedProfile> emulateFile(const std::string& file) {
  PIPESCOPE_ASSIGN(config::Configuration configuration, app::readConfiguration(file));
  PIPESCOPE_TRY(configuration.setText("execution.numerics", "false", config::Origin::flag));
  return emulateConfiguration(configuration);
}

base::Result<replay::Recording> recordingOf(const EmulatedProfile& emulated, std::size_t executable) {
  return replay::readRecording(*emulated.profile, *emulated.catalog,
                               emulated.catalog->executables.items()[executable].id, &engineSchedules());
}

base::Result<double> replayedStep(const EmulatedProfile& emulated, const std::vector<std::string>& changes) {
  PIPESCOPE_ASSIGN(const replay::Recording recording, recordingOf(emulated));
  std::vector<replay::Change> parsed;
  for (const std::string& text : changes) {
    PIPESCOPE_ASSIGN(replay::Change change, replay::parseChange(text));
    parsed.push_back(std::move(change));
  }
  const replay::ChangeContext context{*emulated.profile, *emulated.catalog, &engineSchedules()};
  PIPESCOPE_ASSIGN(const replay::Changed changed, replay::applyChanges(context, recording, parsed));
  PIPESCOPE_ASSIGN(const replay::Timeline timeline,
                   replay::replayCall(changed.recording, replay::Detail::length));
  return static_cast<double>(timeline.length().count) / changed.recording.iterations;
}

}  // namespace pipescope::conformance
