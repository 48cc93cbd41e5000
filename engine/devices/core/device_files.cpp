#include "engine/devices/core/device_files.h"
#include "engine/config/suggestion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>
#include <system_error>

#include <toml++/toml.h>

#include "profiler/base/files/text_file.h"
#include "profiler/base/files/toml_depth.h"

namespace pipescope::devices {

std::span<const std::pair<std::string_view, std::string_view>> embeddedDeviceFiles();

namespace {

constexpr int kMaximumBases = 8;
/// Files in resources/devices that do not describe chips: bands.toml and FAMILY_bands.toml.
bool isBands(std::string_view stem) {
  return stem == "bands" || stem.ends_with("_bands");
}

std::optional<std::string> stemBelow(std::string_view file, std::string_view folder) {
  if (!file.starts_with(folder) || !file.ends_with(".toml")) return std::nullopt;
  const std::string_view stem = file.substr(folder.size(), file.size() - folder.size() - 5);
  if (stem.empty() || isBands(stem) || stem.find('/') != std::string_view::npos) return std::nullopt;
  return std::string(stem);
}

/// One TOML file before its base has been looked up.
struct ParsedFile {
  FigureFile file;
  std::string base;
};

class Parser {
 public:
  Parser(const std::string& name, const std::string& display) : display_(display) {
    parsed_.file.name = name;
    parsed_.file.file = display;
  }

  base::Result<ParsedFile> parse(std::string_view text) {
    PIPESCOPE_TRY(base::checkTomlDepth(text, display_));
    toml::table table;
    try {  // The parser throws on faulty TOML; no exception leaves this function.
      table = toml::parse(text);
    } catch (const toml::parse_error& error) {
      return base::badInput(
          fmt::format("{}, line {}: {}.", display_, error.source().begin.line, error.description()));
    }
    for (const auto& [key, node] : table) PIPESCOPE_TRY(top(std::string(key.str()), node));
    return std::move(parsed_);
  }

 private:
  base::Status top(const std::string& key, const toml::node& node) {
    if (key == "figures" || key == "chip_figures") {
      const toml::table* figures = node.as_table();
      if (!figures)
        return base::badInput(fmt::format("{}: \"{}\" must be a table, [{}].", display_, key, key));
      auto& to = key == "figures" ? parsed_.file.figures : parsed_.file.chipFigures;
      for (const auto& [name, figure] : *figures)
        PIPESCOPE_TRY(addFigure(std::string(name.str()), figure, to));
      return {};
    }
    const std::map<std::string, std::string*> texts{{"family", &parsed_.file.family},
                                                    {"base", &parsed_.base},
                                                    {"chip", &parsed_.file.chip},
                                                    {"noun", &parsed_.file.noun},
                                                    {"description", &parsed_.file.description}};
    const auto found = texts.find(key);
    if (found == texts.end()) {
      const std::string nearest =
          config::nearest(key, {"family", "base", "chip", "noun", "description", "figures", "chip_figures"});
      return base::badInput(
          fmt::format("{}: unknown key \"{}\"{}", display_, key,
                      nearest.empty() ? "." : fmt::format("; did you mean \"{}\"?", nearest)));
    }
    const std::optional<std::string> text = node.value<std::string>();
    if (!text) return base::badInput(fmt::format("{}: \"{}\" must be a text in quotes.", display_, key));
    *found->second = *text;
    return {};
  }

  base::Status addInterval(const std::string& name, const toml::node& node, FigureValue& figure) {
    const toml::array* bounds = node.as_array();
    const auto bound = [&](std::size_t i) { return (*bounds)[i].value<double>(); };
    if (!bounds || bounds->size() != 2 || !bound(0) || !bound(1))
      return fault(name, "needs two numbers as interval: [least, most]");
    if (*bound(0) > figure.value || *bound(1) < figure.value)
      return fault(name, fmt::format("is {}, which is outside of its interval {} … {}", figure.value,
                                     *bound(0), *bound(1)));
    figure.interval = {*bound(0), *bound(1)};
    return {};
  }

  base::Status addFigure(const std::string& name, const toml::node& node,
                         std::map<std::string, FigureValue>& to) {
    const toml::table* table = node.as_table();
    if (!table) {
      return fault(name, "must be a table { value = …, unit = \"…\", grade = \"…\", source = \"…\" }");
    }
    FigureValue figure;
    figure.file = display_;
    const std::optional<double> value = (*table)["value"].value<double>();
    if (!value) return fault(name, "needs a number as value");
    figure.value = *value;
    for (const auto& [part, text] :
         {std::pair{"unit", &figure.unit}, {"grade", &figure.grade}, {"source", &figure.source}}) {
      const std::optional<std::string> found = (*table)[part].value<std::string>();
      if (!found || found->empty()) return fault(name, fmt::format("needs a text as {}", part));
      *text = *found;
    }
    if (!isGrade(figure.grade)) {
      return fault(
          name,
          fmt::format("has grade \"{}\"; grades are D (vendor document), C (vendor code), M (measured), "
                      "X (derived) and R (recalled)",
                      figure.grade));
    }
    for (const auto& [part, unused] : *table) {
      const std::string_view known = part.str();
      if (known == "value" || known == "unit" || known == "grade" || known == "source") continue;
      if (known != "interval")
        return fault(
            name, fmt::format("has an unknown part \"{}\"; it takes value, unit, grade, source and interval",
                              known));
      PIPESCOPE_TRY(addInterval(name, unused, figure));
    }
    to.emplace(name, std::move(figure));
    return {};
  }

  base::Error fault(const std::string& figure, const std::string& what) const {
    return base::badInput(fmt::format("{}: figure \"{}\" {}.", display_, figure, what));
  }

  std::string display_;
  ParsedFile parsed_;
};

}  // namespace

DeviceFiles::DeviceFiles(const std::filesystem::path& userFolder) {
  for (const auto& [file, text] : embeddedDeviceFiles()) {
    const Source source{std::string(text), {}, std::string(file)};
    if (const auto chip = stemBelow(file, "devices/")) chips_[*chip] = source;
    if (const auto system = stemBelow(file, "systems/")) systems_[*system] = source;
    if (const auto host = stemBelow(file, "hosts/")) hosts_[*host] = source;
  }
  if (userFolder.empty()) return;
  addUserFiles(userFolder / "devices", chips_);
  addUserFiles(userFolder / "systems", systems_);
  addUserFiles(userFolder / "hosts", hosts_);
}

base::Status DeviceFiles::add(const std::string& path) {
  PIPESCOPE_ASSIGN(const std::string text, base::readTextFile(path, "device file"));
  PIPESCOPE_ASSIGN(const ParsedFile parsed, Parser(path, path).parse(text));
  const bool system = !parsed.file.chip.empty() || hasSystem(parsed.base);
  (system ? systems_ : chips_)[path] = {text, {}, path};
  return {};
}

std::vector<std::string> DeviceFiles::names(const Sources& sources) {
  std::vector<std::string> names;
  for (const auto& [name, source] : sources) names.push_back(name);
  return names;
}

void DeviceFiles::addUserFiles(const std::filesystem::path& folder, Sources& sources) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::filesystem::path& path = it->path();
    if (path.extension() != ".toml" || isBands(path.stem().string())) continue;
    sources[path.stem().string()] = {{}, path, path.string()};
  }
}

base::Result<FigureFile> DeviceFiles::read(const Sources& sources, const std::string& kind,
                                           const std::string& name, int depth) {
  const auto found = sources.find(name);
  if (found == sources.end()) {
    const std::string nearest = config::nearest(name, names(sources));
    return base::badInput(fmt::format("There is no {} \"{}\"{} Known: {}.", kind, name,
                                      nearest.empty() ? "." : fmt::format("; did you mean \"{}\"?", nearest),
                                      fmt::join(names(sources), ", ")));
  }
  const Source& source = found->second;
  std::string text = source.text;
  if (!source.path.empty()) {
    PIPESCOPE_ASSIGN(text, base::readTextFile(source.path.string(), kind + " file"));
  }
  PIPESCOPE_ASSIGN(ParsedFile parsed, Parser(name, source.display).parse(text));
  FigureFile& file = parsed.file;
  if (kind != "system" && !file.chipFigures.empty())
    return base::badInput(fmt::format(
        "{}: \"chip_figures\" belongs into the file of a system; write [figures] instead.", source.display));
  if (kind != "chip" && !file.noun.empty())
    return base::badInput(
        fmt::format("{}: \"noun\" belongs into the file of a chip; leave it out.", source.display));
  if (!parsed.base.empty()) {
    if (depth >= kMaximumBases) {
      return base::badInput(
          fmt::format("{}: the chain of \"base\" files is longer than {} or goes in a circle.",
                      source.display, kMaximumBases));
    }
    base::Result<FigureFile> below = read(sources, kind, parsed.base, depth + 1);
    if (!below) {
      return base::Error{below.error().kind,
                         fmt::format("{} (base of {})", below.error().message, source.display)};
    }
    file.figures.insert(below->figures.begin(), below->figures.end());
    file.chipFigures.insert(below->chipFigures.begin(), below->chipFigures.end());
    if (file.family.empty()) file.family = below->family;
    if (file.chip.empty()) file.chip = below->chip;
    if (file.noun.empty()) file.noun = below->noun;
    if (file.description.empty()) file.description = below->description;
  }
  if (file.family.empty() && kind != "host") {
    return base::badInput(
        fmt::format("{}: key \"family\" is missing; say which kind of device it is, e.g. family = \"ipu\".",
                    source.display));
  }
  return std::move(file);
}

}  // namespace pipescope::devices
