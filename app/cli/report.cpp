// pipescope report prints sections of a profile as text, JSON or CSV, and checks figures for CI.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/cli/frame/between.h"
#include "app/cli/frame/command.h"
#include "profiler/base/files/output_file.h"
#include "profiler/base/files/text_file.h"
#include "profiler/base/printable.h"
#include "profiler/export/html/html.h"
#include "profiler/sections/frame/figure_check.h"
#include "profiler/sections/frame/schema.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/planned.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::cli {
namespace {

using sections::Check;
using sections::Section;

struct ReportOptions {
  std::string profile, executable, format = "text", baseline, schedule, order;
  CsvOptions csv;
  std::vector<std::string> sections, failIf;
  std::int64_t tile = -1;
  bool schema = false, overwrite = false;
  std::string output = "-";
};

constexpr std::int64_t kMostTiles = 1'000'000;  // more than any device has

std::vector<std::string> allSections() {
  std::vector<std::string> names;
  for (const auto& definition : sections::sectionRegistry().all()) names.push_back(definition.name);
  return names;
}

/// The order that --schedule or --order names; nothing if neither does.
base::Result<std::optional<replay::PlannedOrder>> plannedOrder(const ReportOptions& options) {
  if (!options.schedule.empty()) return std::optional(replay::PlannedOrder{options.schedule, {}});
  if (options.order.empty()) return std::optional<replay::PlannedOrder>();
  PIPESCOPE_ASSIGN(const std::string text, base::readTextFile(options.order, "file of passes"));
  PIPESCOPE_ASSIGN(replay::PlannedOrder plan, replay::parsePlan(text, options.order));
  return std::optional(std::move(plan));
}

bool isHtml(const ReportOptions& options) {
  return options.format == "html";
}

base::OutputRules rulesOf(const ReportOptions& options) {
  return {{options.profile}, options.overwrite, kOverwriteAdvice};
}

/// A profile and the executable that is reported.
struct OpenReport {
  std::shared_ptr<store::ProfileReader> reader;
  std::shared_ptr<const analysis::Catalog> catalog;
  std::unique_ptr<sections::Context> context;
};

base::Result<OpenReport> openReport(const std::string& path, const ReportOptions& options) {
  OpenReport report;
  PIPESCOPE_ASSIGN(report.reader, store::ProfileReader::open(path));
  PIPESCOPE_ASSIGN(report.catalog, analysis::loadCatalog(*report.reader));
  PIPESCOPE_ASSIGN(const model::Executable* executable, report.catalog->findExecutable(options.executable));
  report.context = std::make_unique<sections::Context>(
      sections::Context{*report.reader, *report.catalog, executable->id, options.tile});
  PIPESCOPE_ASSIGN(std::optional<replay::PlannedOrder> plan, plannedOrder(options));
  if (plan) sections::setPlan(*report.context, std::move(*plan));
  return report;
}

base::Result<Section> makeNamed(const std::string& name, const sections::Context& context) {
  PIPESCOPE_ASSIGN(const sections::SectionDefinition* definition, sections::findSection(name));
  return sections::makeSection(*definition, context);
}

sections::CheckedSection checkedSection(const Section& section, const OpenReport& of) {
  return {section, of.catalog->timebase({}).ticksPerSecond, sections::wordsOf(*of.catalog).time.isCosts()};
}

/// Sentences about the values that meet a check.
base::Result<std::vector<std::string>> failuresOf(const Check& check, const OpenReport& profile,
                                                  const OpenReport& baseline) {
  PIPESCOPE_ASSIGN(const Section own, makeNamed(check.section, *profile.context));
  const sections::CheckedSection checked = checkedSection(own, profile);
  if (!check.usesBaseline) return sections::checkFigures(check, checked, nullptr);
  PIPESCOPE_ASSIGN(const Section other, makeNamed(check.section, *baseline.context));
  const sections::CheckedSection before = checkedSection(other, baseline);
  return sections::checkFigures(check, checked, &before);
}

/// Does all checks, even after one that cannot be done. The worst outcome decides the exit status.
int check(const std::vector<Check>& checks, const OpenReport& profile, const OpenReport& baseline) {
  constexpr std::size_t kMostLines = 20;
  int status = kDone;
  for (const Check& one : checks) {
    const base::Result<std::vector<std::string>> failures = failuresOf(one, profile, baseline);
    if (!failures.ok()) {
      status = std::max(status, fail(failures.error()));
      continue;
    }
    for (std::size_t i = 0; i < failures->size() && i < kMostLines; ++i)
      std::fprintf(stderr, "pipescope: failed: %s\n", base::printable((*failures)[i]).c_str());
    if (failures->size() > kMostLines)
      std::fprintf(stderr, "pipescope: failed: and %zu more values\n", failures->size() - kMostLines);
    if (!failures->empty()) status = std::max(status, int{kAnswerIsNo});
  }
  return status;
}

base::Result<std::string> renderCsv(const ReportOptions& options, const std::vector<Section>& made) {
  if (made.size() != 1)
    return base::badInput(fmt::format(
        "CSV holds one table. Choose a section with --section ({}) and one of its tables with --table.",
        fmt::join(allSections(), ", ")));
  return csvOf(made.front(), options.csv);
}

base::Result<std::string> render(const ReportOptions& options, const std::vector<Section>& made) {
  if (options.format == "csv") return renderCsv(options, made);
  if (options.format == "json")
    return (made.size() == 1 ? sections::toJson(made.front()) : sections::toJson(made)) + "\n";
  std::string text;
  for (const Section& section : made) text += (text.empty() ? "" : "\n") + sections::toText(section);
  return text;
}

base::Result<std::string> printedSections(const ReportOptions& options, const OpenReport& profile) {
  std::vector<Section> made;
  const bool whole = options.sections.empty();
  for (const std::string& name : whole ? allSections() : options.sections) {
    const sections::SectionDefinition* definition = sections::sectionRegistry().find(name);
    const bool shown = definition == nullptr ||
                       (!definition->onlyAlone && (!definition->recordedOnly || profile.catalog->measured()));
    if (whole && options.format == "text" && !shown) continue;
    PIPESCOPE_ASSIGN(Section section, makeNamed(name, *profile.context));
    made.push_back(std::move(section));
  }
  return render(options, made);
}

base::Status refuseContradictions(const ReportOptions& options, const std::vector<Check>& checks) {
  const auto wants = [&](const char* name) {
    return std::find(options.sections.begin(), options.sections.end(), name) != options.sections.end() ||
           std::any_of(checks.begin(), checks.end(), [&](const Check& one) { return one.section == name; });
  };
  if (options.tile >= 0 && !wants("liveness") && !wants("memory"))
    return base::badInput(
        "--tile tells what lies on one tile; it goes with --section memory or --section liveness.");
  if (!options.schedule.empty() && !options.order.empty())
    return base::badInput("--schedule and --order both name the plan: leave one of the two out.");
  if (!(options.schedule.empty() && options.order.empty()) && !wants("planned"))
    return base::badInput(
        "--schedule and --order name the plan that is compared with the recording; they go with --section "
        "planned.");
  PIPESCOPE_TRY(refuseCsvOptions(options.format, options.csv));
  if (isHtml(options) && !options.sections.empty())
    return base::badInput("A report in HTML has the sections of its page: leave out --section.");
  if (!isHtml(options) && (options.output != "-" || options.overwrite))
    return base::badInput(
        "-o and --overwrite are for --format html; other formats go to standard output: redirect it with > "
        "FILE.");
  if (options.tile < 0 && std::any_of(checks.begin(), checks.end(), [](const Check& one) {
        return one.section == "liveness" && one.path.front().starts_with("tile");
      }))
    return base::badInput("--fail-if asks for figures of one tile; name it as --tile N.");
  const bool needed =
      std::any_of(checks.begin(), checks.end(), [](const Check& one) { return one.usesBaseline; });
  if (needed && options.baseline.empty())
    return base::badInput(
        "--fail-if compares with a baseline; name the profile to compare with as --baseline PROFILE.");
  if (!needed && !options.baseline.empty())
    return base::badInput(
        "--baseline is the profile that the word \"baseline\" in --fail-if means, but no --fail-if has it.");
  return {};
}

base::Status writePage(const ReportOptions& options, const OpenReport& profile) {
  base::SilentProgress progress;
  const std::string name = std::filesystem::path(options.profile).filename().string();
  figures::useMinusSign(true);  // people read pages
  PIPESCOPE_ASSIGN(const std::string page, exporting::htmlReport(*profile.context, name, progress));
  PIPESCOPE_ASSIGN(base::OutputFile file,
                   base::OutputFile::create(options.output, base::FileKind::report, rulesOf(options)));
  PIPESCOPE_TRY(file.write(page));
  return file.close();
}

base::Result<int> report(const ReportOptions& options) {
  if (options.profile.empty()) return base::badInput("Name the profile: pipescope report PROFILE.");
  std::vector<Check> checks;
  for (const std::string& text : options.failIf) {
    PIPESCOPE_ASSIGN(Check parsed, sections::parseCheck(text));
    if (const auto known = sections::findSection(parsed.section); !known.ok()) return known.error();
    checks.push_back(std::move(parsed));
  }
  PIPESCOPE_TRY(refuseContradictions(options, checks));
  if (isHtml(options))
    PIPESCOPE_TRY(base::checkOutput(options.output, base::FileKind::report, rulesOf(options)));
  PIPESCOPE_ASSIGN(const OpenReport profile, openReport(options.profile, options));
  OpenReport baseline;
  if (!options.baseline.empty()) {
    PIPESCOPE_ASSIGN(baseline, openReport(options.baseline, options));
  }
  if (isHtml(options)) {
    PIPESCOPE_TRY(writePage(options, profile));
    return check(checks, profile, baseline);
  }
  // Whoever asks for checks alone wants to see what they found, and nothing else.
  if (checks.empty() || !options.sections.empty()) {
    PIPESCOPE_ASSIGN(const std::string text, printedSections(options, profile));
    if (const int printed = print(text); printed != kDone) return printed;
  }
  return check(checks, profile, baseline);
}

base::Result<int> printSchema(const ReportOptions& options, const CLI::App& command) {
  for (const char* other :
       {"--executable", "--tile", "--table", "--fail-if", "--baseline", "--schedule", "--order"}) {
    if (command.count(other) == 0) continue;
    return base::badInput(fmt::format(
        "--schema describes the JSON of all profiles, so {} has no effect: leave one of the two out.",
        other));
  }
  if (command.count("--format") > 0 && options.format != "json")
    return base::badInput("--schema describes the JSON of a report: leave out --format.");
  if (options.sections.size() > 1)
    return base::badInput("--schema describes one section or, without --section, all of them.");
  PIPESCOPE_ASSIGN(const std::string schema, options.sections.empty()
                                                 ? sections::schemaOfReport()
                                                 : sections::schemaOfSection(options.sections.front()));
  return print(schema + "\n");
}

std::function<int()> setUpReport(CLI::App& command) {
  auto options = std::make_shared<ReportOptions>();
  command.add_option("profile", options->profile, "Profile to read");
  command
      .add_option(
          "--section", options->sections,
          fmt::format("Sections to print, repeatable (default all): {}", fmt::join(allSections(), ", ")))
      ->type_name(fmt::format("TEXT:{{{}}}", fmt::join(allSections(), ",")))  // for completions
      ->allow_extra_args(false);
  command.add_option("--executable", options->executable, "training (default), inference …");
  command
      .add_option("--tile", options->tile,
                  "With --section memory or liveness: what lies, or is live, on this tile of each device")
      ->check(between(std::int64_t{0}, kMostTiles));
  command.add_option(
      "--schedule", options->schedule,
      "With --section planned: the schedule whose order is compared with the recorded one; without "
      "it the one that fits best");
  command.add_option("--order", options->order,
                     "With --section planned: a file with the planned order, a line for each pass as "
                     "stage,pass,micro_batch, such as 0,forward,3");
  command.add_option("--format", options->format, "text, json, csv (one table) or html (a web page)")
      ->check(CLI::IsMember({"text", "json", "csv", "html"}))
      ->capture_default_str();
  addCsvOptions(command, options->csv, "With --format csv: the table to write");
  command.add_option("-o,--output", options->output, "With --format html: the file; - for standard output")
      ->capture_default_str();
  command.add_flag("--overwrite", options->overwrite, "Also replace a file of another kind");
  command
      .add_option("--fail-if", options->failIf,
                  "Exit 1 where this holds: 'stages.imbalance > 1.2', 'stages.stages[*].share > 0.4' (any "
                  "of them), 'execution.time_us > 1.05 * baseline', 'execution.time_us > 1.5 ms', "
                  "'summary.bound_by == "
                  "compute'; repeatable. Without --section only "
                  "the values that fail are printed")
      ->allow_extra_args(false);
  command.add_option("--baseline", options->baseline,
                     "The profile that the word \"baseline\" in --fail-if means");
  command.add_flag("--schema", options->schema,
                   "Print the JSON Schema of the report, or of one --section, instead");
  return [options, &command] {
    const base::Result<int> status = options->schema ? printSchema(*options, command) : report(*options);
    return status.ok() ? *status : fail(status.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(report) {
  registry.add({"report", "Print sections of a profile, and check figures", setUpReport,
                "pipescope report mnist.pop --section stages --fail-if 'stages.imbalance > 1.2'"});
}

}  // namespace pipescope::cli
