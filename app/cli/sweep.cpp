// pipescope sweep emulates every combination of the values of some keys, and prints one table.
#include "app/run/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "app/cli/frame/between.h"
#include "app/cli/frame/command.h"
#include "app/cli/frame/environment.h"
#include "app/cli/frame/model_source.h"
#include "app/cli/frame/progress_display.h"
#include "app/run/request/configuration_keys.h"
#include "app/run/request/instance_launch.h"
#include "app/run/sweep/questions.h"
#include "engine/numerics/instance_module.h"
#include "profiler/base/printable.h"
#include "profiler/sections/frame/sweep_file.h"

namespace pipescope::cli {
namespace {

struct SweepOptions {
  ModelSource source;
  std::string output, profiles, format = "text", pareto, largest, smallest, knee, progress = "bar";
  std::vector<std::string> vary;
  int jobs = 0;
  bool compileOnly = false, overwrite = false, csvSafe = false;
};

base::Result<app::SweepRequest> sweepRequest(const SweepOptions& options,
                                             const config::Configuration& configuration) {
  app::SweepRequest request;
  request.name = configuration.given("model.name")
                     ? configuration.text("model.name")
                     : std::filesystem::path(options.source.file).stem().string();
  if (options.vary.empty())
    return base::badInput("Name at least one key to vary: --vary KEY=A,B,C or --vary KEY=1..64*2.");
  PIPESCOPE_ASSIGN(request.keys, app::parseAllVaried(configuration.keys(), options.vary));
  request.variant.compileOnly = options.compileOnly;
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  request.processes = options.jobs > 0 ? options.jobs : cores;
  request.output = options.output;
  request.profiles = options.profiles;
  request.rules = {{options.source.file}, options.overwrite, kOverwriteAdvice};
  return request;
}

/// If `pipescope poprun` started this process, its instances share the work and the cores of each host, and
/// only the first one writes.
base::Status shareWork(const SweepOptions& options, const config::Configuration& configuration,
                       app::SweepRequest& request) {
  PIPESCOPE_ASSIGN(const std::optional<app::Launch> launch, app::launchOf([](const char* name) {
                     return static_cast<const char*>(std::getenv(name));
                   }));
  if (!launch) return {};
  PIPESCOPE_ASSIGN(request.instances, numerics::joinInstances());
  PIPESCOPE_TRY(app::compareInstances(*request.instances, configuration));
  if (options.jobs == 0) request.processes = std::max(1, request.processes / launch->onHost);
  if (launch->instance > 0) request.output.clear();
  return {};
}

/// The answers to the questions that were asked.
base::Result<std::vector<app::SweepAnswer>> answers(const SweepOptions& options,
                                                    const app::SweepTable& table) {
  std::vector<app::SweepAnswer> all;
  const auto keyOf = [&](const std::string& word) { return app::keyNamed(app::configurationKeys(), word); };
  if (!options.pareto.empty()) {
    PIPESCOPE_ASSIGN(app::SweepAnswer front, app::paretoFront(table, options.pareto));
    all.push_back(std::move(front));
  }
  if (!options.largest.empty()) {
    PIPESCOPE_ASSIGN(const std::string key, keyOf(options.largest));
    PIPESCOPE_ASSIGN(app::SweepAnswer largest, app::largestThatFits(table, key));
    all.push_back(std::move(largest));
  }
  if (!options.smallest.empty()) {
    PIPESCOPE_ASSIGN(const std::string key, keyOf(options.smallest));
    PIPESCOPE_ASSIGN(app::SweepAnswer smallest, app::smallestThatFits(table, key));
    all.push_back(std::move(smallest));
  }
  if (!options.knee.empty()) {
    PIPESCOPE_ASSIGN(const std::string key, keyOf(options.knee));
    PIPESCOPE_ASSIGN(app::SweepAnswer knee, app::kneeOf(table, key));
    all.push_back(std::move(knee));
  }
  return all;
}

/// Asks the questions about a table without figures, so that a misspelt one is refused before the work.
base::Status checkQuestions(const SweepOptions& options, const app::SweepRequest& request) {
  for (const auto& [option, word] :
       {std::pair{"--largest", &options.largest}, std::pair{"--smallest", &options.smallest},
        std::pair{"--knee", &options.knee}}) {
    if (word->empty()) continue;
    PIPESCOPE_ASSIGN(const std::string key, app::keyNamed(app::configurationKeys(), *word));
    if (std::ranges::find(request.keys, key, &app::VariedKey::key) == request.keys.end())
      return base::badInput(
          fmt::format("{} {}: the sweep does not vary this key: add --vary {}=…", option, *word, key));
    if (options.compileOnly && std::string_view(option) == "--knee")
      return base::badInput("--knee looks at rates, which --compile-only leaves out: leave out one of them.");
  }
  if (options.compileOnly && !options.pareto.empty())
    PIPESCOPE_TRY(app::checkParetoOfCompiled(options.pareto));
  app::SweepTable empty;
  empty.keys = request.keys;
  const auto tried = answers(options, empty);
  return tried.ok() ? base::Status() : base::Status(tried.error());
}

base::Result<std::string> render(const SweepOptions& options, const app::SweepTable& table,
                                 const std::vector<app::SweepAnswer>& asked) {
  if (options.format == "json") return sections::toJson(app::sweepSection(table)) + "\n";
  if (options.format == "csv") return csvOf(app::sweepSection(table), {"sweep", options.csvSafe});
  const auto textOf = [](sections::Section section) {
    sections::showCostUnits(section.tables.front());
    return sections::toText(section);
  };
  if (asked.empty()) return options.output.empty() ? textOf(app::sweepSection(table)) : "";
  std::string text;
  for (const app::SweepAnswer& answer : asked) {
    text += (text.empty() ? "" : "\n") + answer.sentence + "\n";
    if (answer.rows.empty()) continue;
    sections::Section rows = app::sweepSection(table, answer.rows);
    rows.facts.clear();
    const std::string shown = textOf(std::move(rows));
    text += shown.substr(shown.find("Combinations"));
  }
  return text;
}

std::size_t troubles(const app::SweepTable& table) {
  return static_cast<std::size_t>(
      std::ranges::count_if(table.rows, [](const app::SweepRow& row) { return !row.trouble.empty(); }));
}

std::string outcome(const app::SweepResult& result, const SweepOptions& options) {
  std::size_t done = 0, fit = 0, refused = 0;
  for (const app::SweepRow& row : result.table.rows) {
    done += row.done ? 1 : 0;
    fit += row.fits() ? 1 : 0;
    refused += row.error.empty() ? 0 : 1;
  }
  const std::size_t stopped = troubles(result.table);
  std::string line = result.cancelled
                         ? fmt::format("Stopped after {} of {} combinations", done, result.table.rows.size())
                         : fmt::format("{} combination{}", done, done == 1 ? "" : "s");
  line += fmt::format(": {} fit, {} do not, {} cannot run", fit, done - fit - refused, refused);
  if (stopped > 0) line += fmt::format(", {} gave no answer", stopped);
  if (result.resumed > 0) line += fmt::format(" · {} taken from {}", result.resumed, options.output);
  if (!options.output.empty()) line += fmt::format(" · wrote {}", options.output);
  if ((result.cancelled || stopped > 0) && !options.output.empty())
    line += ". The same command goes on from there";
  return line + ".";
}

/// Says on standard error why combinations have no figures. Each reason stands there once.
void sayReasons(const app::SweepTable& table, const char* what, std::string app::SweepRow::*reason) {
  std::vector<std::string> said;
  constexpr std::size_t kMostReasons = 5;
  for (const app::SweepRow& row : table.rows) {
    if ((row.*reason).empty() || std::ranges::find(said, row.*reason) != said.end()) continue;
    if (said.size() == kMostReasons) {
      std::fprintf(stderr, "%s: there are further reasons%s.\n", what,
                   row.error.empty() ? "" : "; the table has all of them");
      return;
    }
    said.push_back(row.*reason);
    std::string values;
    for (std::size_t i = 0; i < table.keys.size(); ++i)
      values += fmt::format("{}{} = {}", i == 0 ? "" : ", ", table.keys[i].key, row.values[i]);
    std::fprintf(stderr, "%s with %s: %s\n", what, base::printable(values).c_str(),
                 base::printable(asTyped(row.*reason)).c_str());
  }
}

/// Prints the table or the answers. Without figures of all combinations, an answer may be wrong.
base::Result<int> printAnswers(const SweepOptions& options, const app::SweepTable& table) {
  const std::size_t missing = troubles(table);
  std::vector<app::SweepAnswer> asked;
  if (missing == 0) {
    PIPESCOPE_ASSIGN(asked, answers(options, table));
  }
  const bool asks = !options.pareto.empty() || !options.largest.empty() || !options.smallest.empty() ||
                    !options.knee.empty();
  std::string text;
  if (missing == 0 || !asks || options.format != "text") {
    PIPESCOPE_ASSIGN(text, render(options, table, asked));
  }
  const int printed = text.empty() ? static_cast<int>(kDone) : print(text);
  if (printed != kDone || missing == 0) return printed;
  return base::machineError(fmt::format(
      "{} of {} combinations gave no answer, for reasons that lie outside of them{}. Mend that, and "
      "repeat the command: it tries them again.",
      missing, table.rows.size(), asks ? ", so the questions have no answer" : ""));
}

base::Result<int> runSweep(const SweepOptions& options) {
  PIPESCOPE_ASSIGN(config::Configuration configuration, configurationOf(options.source, "sweep"));
  PIPESCOPE_ASSIGN(app::SweepRequest request, sweepRequest(options, configuration));
  PIPESCOPE_TRY(checkQuestions(options, request));
  PIPESCOPE_TRY(refuseCsvOptions(options.format, {{}, options.csvSafe}));
  PIPESCOPE_TRY(shareWork(options, configuration, request));
  const bool speaks = !request.instances || request.instances->index() == 0;
  catchInterrupts();
  const std::unique_ptr<base::Progress> progress = makeProgress(speaks ? options.progress : "off");
  const base::Result<app::SweepResult> result = app::sweep(configuration, request, *progress);
  finishProgress(*progress);
  if (!result.ok()) return result.error();
  if (request.instances) numerics::leaveInstances();
  if (!speaks) return static_cast<int>(kDone);
  sayReasons(result->table, "cannot run", &app::SweepRow::error);
  sayReasons(result->table, "no answer", &app::SweepRow::trouble);
  std::fprintf(stderr, "%s\n", outcome(*result, options).c_str());
  const bool none =
      std::ranges::all_of(result->table.rows, [](const app::SweepRow& row) { return !row.error.empty(); });
  if (none && !result->cancelled) return base::badInput("None of the combinations can run.");
  PIPESCOPE_ASSIGN(const int printed, printAnswers(options, result->table));
  if (printed != kDone) return printed;
  return result->cancelled ? interruptStatus() : static_cast<int>(kDone);
}

std::function<int()> setUpSweep(CLI::App& command) {
  auto options = std::make_shared<SweepOptions>();
  command.add_option("config", options->source.file,
                     "Configuration (TOML) or model (ONNX); not needed with --builder");
  command
      .add_option("--vary", options->vary,
                  "A key and its values: KEY=A,B,C, KEY=1..8, KEY=1..64*2 (each twice the one before) or "
                  "KEY=10..50+10; repeatable: every combination is emulated")
      ->allow_extra_args(false);
  addModelOptions(command, options->source);
  command.add_flag("--compile-only", options->compileOnly,
                   "Only compile and place in memory: what fits, but no times");
  command.add_option("-o,--output", options->output,
                     "Table to write, .csv or .json. If it exists, combinations that it has are not "
                     "emulated again");
  command.add_option("--profiles", options->profiles,
                     "Folder for a profile of each combination, which the window opens from the table");
  command.add_flag("--overwrite", options->overwrite,
                   "Replace an existing file, and emulate all combinations anew");
  command.add_option("--jobs", options->jobs, "Processes that work at the same time; 0: one for each core")
      ->check(between(0, 1024))
      ->capture_default_str();
  command.add_option("--pareto", options->pareto,
                     "Print the combinations that no other beats in all of these figures: time, memory, "
                     "devices, price, bubble, imbalance or columns of the table, separated by commas");
  command.add_option("--largest", options->largest, "Print the largest value of this key that fits");
  command.add_option("--smallest", options->smallest,
                     "Print the smallest value of this key that fits; of system: the one with the fewest "
                     "devices");
  command.add_option("--knee", options->knee,
                     "Print from which value of this key on the samples per second grow little");
  command.add_option("--format", options->format, "Of standard output: text, csv or json")
      ->check(CLI::IsMember({"text", "csv", "json"}))
      ->capture_default_str();
  addCsvSafe(command, options->csvSafe);
  command.add_option("--progress", options->progress, "How to show progress on standard error")
      ->check(CLI::IsMember({"bar", "plain", "json", "off"}))
      ->capture_default_str();
  return [options]() -> int {
    const base::Result<int> status = runSweep(*options);
    return status.ok() ? *status : failAsTyped(status.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(sweep) {
  registry.add({"sweep", "Emulate every combination of the values of some keys, and print one table",
                setUpSweep,
                "pipescope sweep samples/mnist/pipelined.toml --vary micro_batch_size=10..40*2 --vary "
                "gradient_accumulation=8..32*2 --pareto time,memory"});
}

}  // namespace pipescope::cli
