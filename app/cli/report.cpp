// pipescope report prints sections of a profile as text, JSON or CSV, and checks thresholds for CI.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "profiler/sections/section.h"
#include "profiler/store/profile_reader.h"

namespace pipescope::cli {
namespace {

struct ReportOptions {
  std::string profile, executable, format = "text";
  std::vector<std::string> sections, failIf;
  std::int64_t tile = -1;
};

constexpr std::int64_t kMostTiles = 1'000'000;  // more than any device has

std::string sectionNames() {
  std::string names;
  for (const auto& definition : sections::sectionRegistry().all())
    names += (names.empty() ? "" : ", ") + definition.name;
  return names;
}

base::Result<std::vector<sections::Section>> makeSections(const sections::Context& context,
                                                          std::vector<std::string> wanted) {
  if (wanted.empty()) {
    for (const auto& definition : sections::sectionRegistry().all()) wanted.push_back(definition.name);
  }
  std::vector<sections::Section> made;
  for (const std::string& name : wanted) {
    const sections::SectionDefinition* definition = sections::sectionRegistry().find(name);
    if (definition == nullptr)
      return base::badInput(fmt::format("There is no section \"{}\"; known are {}.", name, sectionNames()));
    PIPESCOPE_ASSIGN(sections::Section section, sections::makeSection(*definition, context));
    made.push_back(std::move(section));
  }
  return made;
}

/// A threshold from the command line, such as "stages.imbalance > 1.2".
struct Threshold {
  std::string section, path, comparison;
  double bound = 0;
};

base::Result<Threshold> parseThreshold(const std::string& text) {
  const std::size_t at = text.find_first_of("<>=!");
  const std::size_t end = at == std::string::npos ? at : text.find_first_not_of("<>=!", at);
  const auto trimmed = [](std::string part) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    return part;
  };
  const base::Error wrong = base::badInput(fmt::format(
      "--fail-if takes 'SECTION.KEY > NUMBER' (also < >= <= == !=), but \"{}\" was given.", text));
  if (end == std::string::npos) return wrong;
  Threshold threshold;
  const std::string left = trimmed(text.substr(0, at)), right = trimmed(text.substr(end));
  threshold.comparison = text.substr(at, end - at);
  const std::size_t dot = left.find('.');
  char* rest = nullptr;
  threshold.bound = right == "true" ? 1 : right == "false" ? 0 : std::strtod(right.c_str(), &rest);
  const bool known = threshold.comparison == ">" || threshold.comparison == "<" ||
                     threshold.comparison == ">=" || threshold.comparison == "<=" ||
                     threshold.comparison == "==" || threshold.comparison == "!=";
  if (!known || dot == std::string::npos || right.empty() || (rest != nullptr && *rest != '\0')) return wrong;
  threshold.section = left.substr(0, dot);
  threshold.path = left.substr(dot + 1);
  return threshold;
}

/// Finds a number or boolean in the JSON of a section by its path, such as "imbalance",
/// "stages.0.forward_cycles" or "by_category.variable".
base::Result<double> valueAt(const nlohmann::json& section, const Threshold& threshold) {
  const nlohmann::json* at = &section;
  std::size_t begin = 0;
  while (begin <= threshold.path.size()) {
    const std::size_t dot = std::min(threshold.path.find('.', begin), threshold.path.size());
    const std::string key = threshold.path.substr(begin, dot - begin);
    const bool index = at->is_array() && !key.empty() &&
                       key.find_first_not_of("0123456789") == std::string::npos && key.size() < 9;
    if (index && std::stoul(key) < at->size()) {
      at = &(*at)[std::stoul(key)];
    } else if (at->is_object() && at->contains(key)) {
      at = &(*at)[key];
    } else {
      return base::badInput(fmt::format(
          "--fail-if: section {} has no figure {}; `pipescope report --section {} --format json` shows them.",
          threshold.section, threshold.path, threshold.section));
    }
    begin = dot + 1;
  }
  if (at->is_boolean()) return at->get<bool>() ? 1.0 : 0.0;
  if (!at->is_number())
    return base::badInput(
        fmt::format("--fail-if: {}.{} has no number in this profile.", threshold.section, threshold.path));
  return at->get<double>();
}

bool isMet(double value, const Threshold& t) {
  if (t.comparison == ">") return value > t.bound;
  if (t.comparison == "<") return value < t.bound;
  if (t.comparison == ">=") return value >= t.bound;
  if (t.comparison == "<=") return value <= t.bound;
  return (value == t.bound) == (t.comparison == "==");
}

base::Result<int> checkThresholds(const ReportOptions& options, const sections::Context& context) {
  int status = kDone;
  for (const std::string& text : options.failIf) {
    PIPESCOPE_ASSIGN(const Threshold threshold, parseThreshold(text));
    PIPESCOPE_ASSIGN(const auto made, makeSections(context, {threshold.section}));
    PIPESCOPE_ASSIGN(const double value,
                     valueAt(nlohmann::json::parse(sections::toJson(made.front())), threshold));
    if (!isMet(value, threshold)) continue;
    std::fprintf(stderr, "pipescope: failed: %s.%s is %.6g (--fail-if '%s')\n", threshold.section.c_str(),
                 threshold.path.c_str(), value, text.c_str());
    status = kAnswerIsNo;
  }
  return status;
}

std::string render(const ReportOptions& options, const std::vector<sections::Section>& made) {
  if (options.format == "json")
    return (made.size() == 1 ? sections::toJson(made.front()) : sections::toJson(made)) + "\n";
  std::string text;
  for (const sections::Section& section : made) {
    if (!text.empty()) text += "\n";
    if (options.format == "csv" && made.size() > 1) text += "# " + section.name + "\n";
    text += options.format == "csv" ? sections::toCsv(section) : sections::toText(section);
  }
  return text;
}

base::Result<int> report(const ReportOptions& options) {
  PIPESCOPE_ASSIGN(const auto reader, store::ProfileReader::open(options.profile));
  PIPESCOPE_ASSIGN(const auto catalog, analysis::loadCatalog(*reader));
  PIPESCOPE_ASSIGN(const model::Executable* executable, catalog->findExecutable(options.executable));
  const bool liveness =
      std::find(options.sections.begin(), options.sections.end(), "liveness") != options.sections.end();
  if (options.tile >= 0 && !liveness)
    return base::badInput("--tile tells what is live on one tile; it goes with --section liveness.");
  const sections::Context context{*reader, *catalog, executable->id, options.tile};
  PIPESCOPE_ASSIGN(const auto made, makeSections(context, options.sections));
  const int printed = print(render(options, made));
  if (printed != kDone) return printed;
  return checkThresholds(options, context);
}

std::function<int()> setUpReport(CLI::App& command) {
  auto options = std::make_shared<ReportOptions>();
  command.add_option("profile", options->profile, "Profile to read")->required();
  command.add_option("--section", options->sections,
                     "Sections to print, repeatable (default all): " + sectionNames());
  command.add_option("--executable", options->executable, "training (default), inference …");
  command
      .add_option("--tile", options->tile,
                  "With --section liveness: what is live on this tile of each device")
      ->check(CLI::Range(std::int64_t{0}, kMostTiles));
  command.add_option("--format", options->format, "text, json or csv")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  command.add_option("--fail-if", options->failIf,
                     "Exit 1 where this holds: 'stages.imbalance > 1.2'; repeatable");
  return [options] {
    const base::Result<int> status = report(*options);
    return status.ok() ? *status : fail(status.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(report) {
  registry.add({"report", "Print sections of a profile, and check thresholds", setUpReport});
}

}  // namespace pipescope::cli
