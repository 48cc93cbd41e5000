// pipescope import makes a profile of the traces that other tools recorded.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "app/cli/frame/command.h"
#include "app/cli/frame/progress_display.h"
#include "engine/numerics/thread_pool.h"
#include "profiler/base/files/text_file.h"
#include "profiler/base/number_text.h"
#include "profiler/base/printable.h"
#include "profiler/import/read/trace_format.h"
#include "profiler/import/trace_import.h"
#include "profiler/record/recorder.h"
#include "profiler/store/file_sink.h"

namespace pipescope::cli {
namespace {

namespace fs = std::filesystem;

struct ImportOptions {
  std::vector<std::string> traces;
  std::string output, rules, ranks, progress = "bar";
  std::string clock = "auto";
  bool showRules = false, overwrite = false;
};

importing::ClockChoice clockNamed(const std::string& name) {
  if (name == "absolute") return importing::ClockChoice::absolute;
  if (name == "first-event") return importing::ClockChoice::firstEvent;
  return name == "align" ? importing::ClockChoice::align : importing::ClockChoice::automatic;
}

/// Reads a list such as 0-7,32.
base::Result<std::set<std::int64_t>> ranksNamed(const std::string& text) {
  constexpr std::int64_t kMostRanks = 1'000'000;
  std::set<std::int64_t> ranks;
  const auto number = [](std::string_view part) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (failed != std::errc() || end != part.data() + part.size() || value < 0 || value >= kMostRanks)
      return std::nullopt;
    return value;
  };
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *last < *first)
      return base::badInput(fmt::format("--ranks {} is no list of ranks; write it as 0-7,32.", text));
    for (std::int64_t rank = *first; rank <= *last; ++rank) ranks.insert(rank);
  }
  return ranks;
}

base::Result<importing::Rules> readRules(const std::string& path) {
  PIPESCOPE_ASSIGN(const std::string text, base::readTextFile(path, "file of rules"));
  PIPESCOPE_ASSIGN(importing::Rules rules, importing::Rules::parse(text, path));
  rules.append(importing::Rules::builtIn());
  return rules;
}

/// The files that the import reads; no output may replace them. A folder of traces counts with all that it
/// holds.
base::Result<base::OutputRules> rulesOf(const ImportOptions& options) {
  base::OutputRules rules{{}, options.overwrite, kOverwriteAdvice};
  for (const std::string& trace : options.traces) rules.inputs.emplace_back(trace);
  if (!options.rules.empty()) rules.inputs.emplace_back(options.rules);
  std::error_code failed;
  const fs::path folder = fs::weakly_canonical(options.output, failed).parent_path();
  for (const std::string& trace : options.traces)
    if (fs::is_directory(trace, failed) && folder == fs::weakly_canonical(trace, failed))
      return base::badInput(fmt::format(
          "-o {} lies among the traces ({}); choose another place for the profile.", options.output, trace));
  return rules;
}

/// Adds to an error what became of the output.
base::Error withOutcome(base::Error error, const std::string& output) {
  std::error_code failed;
  if (fs::exists(output, failed)) error.message += fmt::format(" {} is as it was.", output);
  return error;
}

base::Status runImport(const ImportOptions& options) {
  if (options.traces.empty()) return base::badInput("Name the traces to import: files, archives or folders.");
  if (options.output.empty()) return base::badInput("Name the profile to write with -o, such as -o run.pop.");
  store::FileSinkOptions sinkOptions;
  PIPESCOPE_ASSIGN(sinkOptions.writer.rules, rulesOf(options));
  sinkOptions.writer.onlyWhole = true;
  std::optional<importing::Rules> rules;
  if (!options.rules.empty()) {
    PIPESCOPE_ASSIGN(rules, readRules(options.rules));
  }
  importing::ImportRequest request;
  request.paths.assign(options.traces.begin(), options.traces.end());
  const fs::path folder = fs::path(options.output).parent_path();
  request.temporaryFolder = folder.empty() ? fs::path(".") : folder;
  if (rules) request.rules = &*rules;
  request.clock = clockNamed(options.clock);
  PIPESCOPE_ASSIGN(request.ranks, ranksNamed(options.ranks));

  // One thread reads the trace while the other one parses; more have nothing to do.
  numerics::ThreadPool pool(2);
  request.executor = &pool;

  PIPESCOPE_ASSIGN(const auto sink, store::FileSink::create(options.output, sinkOptions));
  record::Recorder recorder(*sink);
  catchInterrupts();
  const auto progress = makeProgress(options.progress);
  auto imported = importing::importTraces(request, recorder, *progress);
  finishProgress(*progress);
  if (!imported.ok()) return withOutcome(imported.error(), options.output);
  for (const std::string& finding : imported->findings)
    std::fputs(("note: " + base::printable(finding) + "\n").c_str(), stderr);
  const int status = print(fmt::format(
      "{}: {} events of {} {}, {} slices\n", options.output, base::groupedText(imported->events),
      imported->files, imported->files == 1 ? "trace" : "traces", base::groupedText(imported->slices)));
  return status == kDone ? base::Status() : base::ioError("Standard output is closed.");
}

std::function<int()> setUpImport(CLI::App& command) {
  auto options = std::make_shared<ImportOptions>();
  command.add_option(
      "traces", options->traces,
      "Traces: " + importing::formatNames() +
          ". Files, compressed files, zip or tar archives, or folders with a file for each rank. "
          "Formats are recognised by content");
  command.add_option("-o,--output", options->output, "Profile to write");
  command.add_flag("--overwrite", options->overwrite, kOverwriteHelp);
  command.add_option("--rules", options->rules,
                     "File of rules that say what events mean; they come before the built-in ones");
  command.add_flag("--show-rules", options->showRules, "Print the built-in rules, and what a rule can state");
  command
      .add_option(
          "--clock", options->clock,
          "How several traces are put on one clock: auto, absolute (as stated), first-event (each begins "
          "at 0) or align (by the passes of neighbouring stages)")
      ->check(CLI::IsMember({"auto", "absolute", "first-event", "align"}))
      ->capture_default_str();
  command.add_option("--ranks", options->ranks, "Import only the traces of these ranks, such as 0-7,32");
  command.add_option("--progress", options->progress, "bar, plain, json or off")
      ->check(CLI::IsMember({"bar", "plain", "json", "off"}))
      ->capture_default_str();
  return [options] {
    if (options->showRules) return print(std::string(importing::Rules::builtInText()));
    const base::Status status = runImport(*options);
    return status.ok() ? kDone : fail(status.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(import) {
  registry.add({"import", "Make a profile of traces that other tools recorded", setUpImport,
                "pipescope import traces/ -o run.pop"});
}

}  // namespace pipescope::cli
