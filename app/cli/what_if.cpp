// pipescope what-if replays a recorded call with other costs, links, options or another split.
#include <fmt/format.h>

#include "app/cli/frame/command.h"
#include "profiler/record/recorder.h"
#include "profiler/replay/replay_rows.h"
#include "profiler/sections/frame/schema.h"
#include "profiler/sections/replays.h"
#include "profiler/store/file_sink.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::cli {
namespace {

struct WhatIfOptions {
  std::string profile, executable, format = "text", output;
  CsvOptions csv;
  std::vector<std::string> changes;
  bool overwrite = false, schema = false;
};

base::Result<std::vector<replay::Change>> parseChanges(const WhatIfOptions& options) {
  std::vector<replay::Change> changes;
  for (const std::string& text : options.changes) {
    PIPESCOPE_ASSIGN(replay::Change change, replay::parseChange(text));
    changes.push_back(std::move(change));
  }
  if (changes.empty())
    return base::badInput(
        "Say what to change with --set, such as --set stages.1.forward=*0.8; pipescope help what-if lists "
        "what can "
        "be changed.");
  return changes;
}

base::Status writeProfile(const WhatIfOptions& options, const replay::ChangeContext& context,
                          const replay::WhatIf& answer, const std::vector<replay::Change>& changes) {
  store::FileSinkOptions sinkOptions;
  sinkOptions.writer.rules = {{options.profile}, options.overwrite, kOverwriteAdvice};
  PIPESCOPE_ASSIGN(const auto sink, store::FileSink::create(options.output, sinkOptions));
  record::Recorder recorder(*sink);
  PIPESCOPE_TRY(replay::writeReplay(
      context, answer.recording, answer.timeline, changes, replay::Extent::whole, recorder,
      sections::keptIntervalOf({context.source, context.catalog, answer.recording.executable.id})));
  return recorder.finish(model::ProfileState::complete);
}

base::Result<std::string> whatIfText(const WhatIfOptions& options) {
  if (options.schema) {
    PIPESCOPE_ASSIGN(const std::string schema, sections::schemaOfWhatIf());
    return schema + "\n";
  }
  if (options.profile.empty())
    return base::badInput("Name the profile: pipescope what-if PROFILE --set KEY=VALUE.");
  PIPESCOPE_TRY(refuseCsvOptions(options.format, options.csv));
  PIPESCOPE_ASSIGN(const std::vector<replay::Change> changes, parseChanges(options));
  PIPESCOPE_ASSIGN(const auto reader, store::ProfileReader::open(options.profile));
  PIPESCOPE_ASSIGN(const auto catalog, analysis::loadCatalog(*reader));
  PIPESCOPE_ASSIGN(const model::Executable* executable, catalog->findExecutable(options.executable));
  const replay::Schedules* schedules = sections::knownSchedules();
  PIPESCOPE_ASSIGN(const replay::Recording recording,
                   replay::readRecording(*reader, *catalog, executable->id, schedules));
  const replay::ChangeContext context{*reader, *catalog, schedules};
  PIPESCOPE_ASSIGN(const replay::WhatIf answer, replay::whatIf(context, recording, changes));
  const sections::Section section = sections::whatIfSection(
      *catalog, sections::stepIntervalOf({*reader, *catalog, executable->id}), answer);
  PIPESCOPE_ASSIGN(std::string text, options.format == "csv" ? csvOf(section, options.csv)
                                     : options.format == "json"
                                         ? base::Result<std::string>(sections::toJson(section) + "\n")
                                         : base::Result<std::string>(sections::toText(section)));
  if (!options.output.empty()) PIPESCOPE_TRY(writeProfile(options, context, answer, changes));
  return text;
}

std::string helpOfSet() {
  std::string help =
      "What to change, repeatable. VALUE is a number (in the unit of the reports: cycles, µs or cost units), "
      "a "
      "factor (*0.8), a percentage (+5%, -5%) or a word. Keys:";
  for (const replay::ChangeKind& kind : replay::changeKinds())
    help += fmt::format(" {}: {};", kind.key, kind.doc);
  help.back() = '.';
  return help;
}

std::function<int()> setUpWhatIf(CLI::App& command) {
  auto options = std::make_shared<WhatIfOptions>();
  command.add_option("profile", options->profile, "Profile whose last call is replayed");
  command.add_option("--set", options->changes, helpOfSet())->allow_extra_args(false);
  command.add_option("--executable", options->executable, "training (default), inference …");
  command.add_option("-o,--output", options->output, "Also write the replayed call as a profile");
  command.add_flag("--overwrite", options->overwrite, kOverwriteHelp);
  command.add_option("--format", options->format, "text, json or csv (one table)")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  addCsvOptions(command, options->csv, "With --format csv: the table to write");
  command.add_flag("--schema", options->schema, "Print the JSON Schema of the answer instead");
  return [options] {
    const base::Result<std::string> text = whatIfText(*options);
    return text.ok() ? print(*text) : fail(text.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(what_if) {
  registry.add({"what-if", "Replay a recorded call with other costs, links, options or another split",
                setUpWhatIf, "pipescope what-if mnist.pop --set stages.1.forward=*0.8"});
}

}  // namespace pipescope::cli
