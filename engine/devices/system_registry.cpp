#include "engine/devices/system_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "engine/config/suggestion.h"
#include "engine/devices/core/device_files.h"
#include "engine/devices/core/family.h"
#include "profiler/base/check.h"

namespace pipescope::devices {
namespace {

constexpr std::int64_t kMaximumCount = 131'072;

const FamilyRegistry& standardFamilies() {
  static const FamilyRegistry registry = [] {
    FamilyRegistry made;
    registerFamilies(made);
    return made;
  }();
  return registry;
}

std::vector<std::string> namesOf(const DeviceFiles& files) {
  std::vector<std::string> names = files.systems();
  const std::vector<std::string> chips = files.chips();
  names.insert(names.end(), chips.begin(), chips.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

struct ParsedName {
  std::string name;
  std::optional<std::int64_t> devices, boxes;
};

/// Removes ":123" or "x123" from the end and returns the number; leaves other texts alone.
std::optional<std::int64_t> takeSuffix(std::string& text, char mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) return std::nullopt;
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + at + 1, end, number);
  if (stop != end || text[at + 1] == '-') return std::nullopt;
  text.resize(at);
  return error == std::errc() ? number : kMaximumCount + 1;
}

ParsedName parseName(std::string_view text, const DeviceFiles& files) {
  const auto known = [&](const std::string& name) {
    return files.hasSystem(name) || files.hasChip(name) || name.ends_with(".toml");
  };
  ParsedName parsed{std::string(text), {}, {}};
  if (known(parsed.name)) return parsed;
  parsed.boxes = takeSuffix(parsed.name, 'x');
  if (parsed.boxes && known(parsed.name)) return parsed;
  parsed.devices = takeSuffix(parsed.name, ':');
  return parsed;
}

base::Status checkCount(std::string_view name, const char* what, std::int64_t count) {
  if (count >= 1 && count <= kMaximumCount) return {};
  return base::badInput(
      fmt::format("System \"{}\": the number of {} must be between 1 and {}.", name, what, kMaximumCount));
}

/// Names the devices that take a setting: "IPUs".
std::string devicesWith(const std::string& setting) {
  std::vector<std::string> nouns;
  for (const auto& [name, family] : standardFamilies().all()) {
    if (std::ranges::find(family.settings, setting) != family.settings.end())
      nouns.push_back(family.deviceNoun + "s");
  }
  return fmt::format("{}", fmt::join(nouns, " and "));
}

base::Status checkSettings(std::string_view name, const Family& family, const SystemOptions& options) {
  for (const FamilySetting& setting : options.settings) {
    if (std::ranges::find(family.settings, setting.name) != family.settings.end()) continue;
    const std::string devices = devicesWith(setting.name);
    PIPESCOPE_CHECK(!devices.empty(), "no family takes the setting " + setting.name);
    return base::badInput(
        fmt::format("Option {} is for {}, but system {} has none: leave it out, or choose another system.",
                    setting.name, devices, name));
  }
  return {};
}

base::Result<const Family*> familyOf(const SystemRequest& request) {
  if (const Family* family = standardFamilies().find(request.chip.family)) return family;
  std::vector<std::string> names;
  for (const auto& [name, family] : standardFamilies().all()) names.push_back(name);
  return base::badInput(fmt::format("{}: unknown family \"{}\"; known are {}.", request.chip.file,
                                    request.chip.family, fmt::join(names, ", ")));
}

base::Result<SystemRequest> requestOf(std::string_view name, const SystemOptions& options) {
  DeviceFiles files(options.userFolder);
  const ParsedName parsed = parseName(name, files);
  if (parsed.name.ends_with(".toml")) PIPESCOPE_TRY(files.add(parsed.name));
  SystemRequest request;
  request.name = std::string(name);
  if (files.hasSystem(parsed.name)) {
    PIPESCOPE_ASSIGN(request.system, files.system(parsed.name));
    if (request.system->chip.empty()) {
      return base::badInput(fmt::format("{}: key \"chip\" is missing; name one of {}.", request.system->file,
                                        fmt::join(files.chips(), ", ")));
    }
    PIPESCOPE_ASSIGN(request.chip, files.chip(request.system->chip));
    if (request.chip.family != request.system->family) {
      return base::badInput(fmt::format("{}: family is \"{}\", but its chip {} is of family \"{}\".",
                                        request.system->file, request.system->family, request.system->chip,
                                        request.chip.family));
    }
    for (const auto& [figure, value] : request.system->chipFigures)
      request.chip.figures.insert_or_assign(figure, value);
  } else if (files.hasChip(parsed.name)) {
    PIPESCOPE_ASSIGN(request.chip, files.chip(parsed.name));
  } else {
    const std::vector<std::string> names = namesOf(files);
    const std::string nearest = config::nearest(parsed.name, names);
    return base::badInput(
        fmt::format("There is no system \"{}\"{} Known: {}; with NAME:DEVICES or NAMExBOXES for a part "
                    "or several.",
                    name, nearest.empty() ? "." : fmt::format("; did you mean \"{}\"?", nearest),
                    fmt::join(names, ", ")));
  }
  if (parsed.boxes) PIPESCOPE_TRY(checkCount(name, "boxes", *parsed.boxes));
  if (parsed.devices) PIPESCOPE_TRY(checkCount(name, "devices", *parsed.devices));
  if (options.devices != 0) PIPESCOPE_TRY(checkCount(name, "devices", options.devices));
  request.boxes = parsed.boxes.value_or(1);
  request.devices = options.devices != 0 ? options.devices : parsed.devices.value_or(0);
  return request;
}

}  // namespace

base::Result<std::shared_ptr<const System>> makeSystem(std::string_view name, const SystemOptions& options) {
  PIPESCOPE_ASSIGN(const SystemRequest request, requestOf(name, options));
  PIPESCOPE_ASSIGN(const Family* family, familyOf(request));
  PIPESCOPE_TRY(checkSettings(name, *family, options));
  if (!request.chip.noun.empty() && !family->namedByFile) {
    return base::badInput(fmt::format("{}: a device of family \"{}\" is called {}, so leave \"noun\" out.",
                                      request.chip.file, request.chip.family, family->deviceNoun));
  }
  return family->make(request, options);
}

base::Result<SystemFigures> figuresOf(const std::string& name, const std::filesystem::path& userFolder) {
  SystemOptions options;
  options.userFolder = userFolder;
  PIPESCOPE_ASSIGN(SystemRequest request, requestOf(name, options));
  PIPESCOPE_ASSIGN(const Family* family, familyOf(request));
  SystemFigures figures{std::move(request.chip), std::move(request.system), {}, {},
                        family->corrected,       family->reservedMemory};
  figures.family = figures.chip.family;
  figures.suffix = name.substr((figures.system ? *figures.system : figures.chip).name.size());
  return figures;
}

base::Status checkSettings(std::string_view name, const SystemOptions& options) {
  PIPESCOPE_ASSIGN(const SystemRequest request, requestOf(name, options));
  PIPESCOPE_ASSIGN(const Family* family, familyOf(request));
  return checkSettings(name, *family, options);
}

bool hasGivenCosts(std::string_view name, const std::filesystem::path& userFolder) {
  SystemOptions options;
  options.userFolder = userFolder;
  const base::Result<SystemRequest> request = requestOf(name, options);
  if (!request.ok()) return false;
  const base::Result<const Family*> family = familyOf(*request);
  return family.ok() && (*family)->costsGiven;
}

std::string usualScheduleOf(std::string_view name, bool chunked, const std::filesystem::path& userFolder) {
  SystemOptions options;
  options.userFolder = userFolder;
  const base::Result<SystemRequest> request = requestOf(name, options);
  if (!request.ok()) return {};
  const base::Result<const Family*> family = familyOf(*request);
  if (!family.ok()) return {};
  return chunked ? (*family)->usualChunkedSchedule : (*family)->usualSchedule;
}

std::vector<Accelerator> accelerators() {
  std::vector<Accelerator> all;
  for (const auto& [name, family] : standardFamilies().all()) {
    if (!family.accelerator.empty()) all.push_back({family.accelerator, family.usualSystem, family.settings});
  }
  std::ranges::sort(all, {}, &Accelerator::name);
  return all;
}

std::vector<std::string> knownSystems(const std::filesystem::path& userFolder) {
  return namesOf(DeviceFiles(userFolder));
}

}  // namespace pipescope::devices
