// pipescope devices lists the devices and systems that can be emulated, with figures, grades and sources.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "app/cli/frame/command.h"
#include "app/run/request/user_folders.h"
#include "engine/devices/core/device_files.h"
#include "engine/devices/system_registry.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::cli {
namespace {

/// A figure as a number, so that JSON holds one. Figures that are words stay words.
sections::Cell figureCell(const std::string& figure) {
  std::string text = figure;
  std::erase(text, ',');
  const char *begin = text.data(), *end = begin + text.size();
  std::int64_t whole = 0;
  double value = 0;
  if (const auto read = std::from_chars(begin, end, whole); read.ec == std::errc() && read.ptr == end)
    return whole;
  const auto read = std::from_chars(begin, end, value);
  if (read.ec == std::errc() && read.ptr == end && std::isfinite(value)) return value;
  return figure;
}

/// The figures of a chip, a system or a host with their sources.
sections::Section describe(const std::string& title, const std::vector<devices::Figure>& figures) {
  sections::Section section{"device", title, {}, {}, {}};
  sections::SectionTable table{"figures", "Figures", "", {}, {}};
  table.columns = {{"name", "Figure", sections::Format::plain, ""},
                   {"value", "Value", sections::Format::number, ""},
                   {"unit", "Unit", sections::Format::plain, ""},
                   {"grade", "Grade", sections::Format::plain, ""},
                   {"source", "Source", sections::Format::plain, ""}};
  for (const devices::Figure& figure : figures)
    table.rows.push_back({figure.name, figureCell(figure.value), figure.unit, figure.grade, figure.source});
  section.tables.push_back(std::move(table));
  section.remarks.push_back(
      "Grades: D vendor document, C vendor code, M measured and published, X derived from other figures, R "
      "recalled.");
  return section;
}

base::Result<sections::Section> describe(const std::string& name) {
  devices::SystemOptions options;
  options.userFolder = app::userConfigurationFolder();
  const devices::DeviceFiles files(options.userFolder);
  if (files.hasHost(name) && !files.hasChip(name) && !files.hasSystem(name)) {
    PIPESCOPE_ASSIGN(const devices::FigureFile host, files.host(name));
    std::vector<devices::Figure> figures;
    for (const auto& [key, figure] : host.figures)
      figures.push_back(devices::readableFigure(key, figure.value, figure.unit, figure.grade, figure.source));
    return describe(fmt::format("{}: {}", host.name, host.description), figures);
  }
  PIPESCOPE_ASSIGN(const auto system, devices::makeSystem(name, options));
  return describe(fmt::format("{}: {}", system->name(), system->description()), system->figures());
}

base::Result<sections::Section> list() {
  sections::Section section{"devices", "What can be emulated", {}, {}, {}};
  sections::SectionTable table{"systems", "Systems and chips", "", {}, {}};
  table.columns = {{"name", "Name", sections::Format::plain, ""},
                   {"family", "Family", sections::Format::plain, ""},
                   {"devices", "Devices", sections::Format::index, ""},
                   {"description", "Description", sections::Format::plain, ""}};
  devices::SystemOptions options;
  options.userFolder = app::userConfigurationFolder();
  for (const std::string& name : devices::knownSystems(options.userFolder)) {
    PIPESCOPE_ASSIGN(const auto system, devices::makeSystem(name, options));
    sections::Cell devices;
    if (!system->facts().costsGiven) devices = static_cast<std::int64_t>(system->devices().size());
    table.rows.push_back({name, system->family(), devices, system->description()});
  }
  section.tables.push_back(std::move(table));
  sections::SectionTable hosts{"hosts", "Hosts, for host.name", "", {}, {}};
  hosts.columns = {{"name", "Name", sections::Format::plain, ""},
                   {"description", "Description", sections::Format::plain, ""}};
  const devices::DeviceFiles files(options.userFolder);
  for (const std::string& name : files.hosts()) {
    PIPESCOPE_ASSIGN(const devices::FigureFile host, files.host(name));
    hosts.rows.push_back({name, host.description});
  }
  section.tables.push_back(std::move(hosts));
  return section;
}

constexpr const char* kOwnCard =
    R"(To describe a card of your own, write devices/mine.toml into the user folder (by default
~/.config/pipescope). It takes over the figures of the card `base`; state those that differ:

  family = "card"
  base = "a100-80"
  description = "My card"
  [figures]
  peak_bf16 = { value = 400e12, unit = "FLOP/s", grade = "D", source = "data sheet" }
  peak_fp16 = { value = 400e12, unit = "FLOP/s", grade = "D", source = "data sheet" }
  peak_fp32 = { value = 30e12, unit = "FLOP/s", grade = "D", source = "data sheet" }
  vector_fp32 = { value = 30e12, unit = "FLOP/s", grade = "D", source = "data sheet" }
  hbm = { value = 64e9, unit = "B", grade = "D", source = "data sheet" }
  hbm_bandwidth = { value = 2e12, unit = "B/s", grade = "D", source = "data sheet" }

A box of eight is systems/mybox.toml:

  family = "card"
  base = "dgx-a100"
  chip = "mine"
  description = "8 of my card"
  [figures]
  inside_bandwidth = { value = 200e9, unit = "B/s", grade = "D", source = "one direction" }

Then `pipescope run CONFIG.toml --system mybox`, or mybox:2 for two cards, myboxx4 for four boxes. `pipescope
devices mybox` lists all figures with their sources. A card that multiplies float8 has h100 as its base, and
peak_fp8. The key noun, beside description, is the word for one card in reports (by default GPU).)";

std::function<int()> setUpDevices(CLI::App& command) {
  auto name = std::make_shared<std::string>(), format = std::make_shared<std::string>("text");
  command.add_option("name", *name, "Chip, system or host; without, all are listed");
  command.add_option("--format", *format, "text, json or csv")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  auto csv = std::make_shared<CsvOptions>();
  addCsvOptions(command, *csv, "With --format csv: the table to write");
  return [name, format, csv] {
    if (const base::Status fits = refuseCsvOptions(*format, *csv); !fits.ok()) return fail(fits.error());
    const base::Result<sections::Section> section = name->empty() ? list() : describe(*name);
    if (!section.ok()) return fail(section.error());
    if (*format != "csv")
      return print(*format == "json" ? sections::toJson(*section) + "\n" : sections::toText(*section));
    const base::Result<std::string> text = csvOf(*section, *csv);
    return text.ok() ? print(*text) : fail(text.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(devices) {
  registry.add({"devices", "List emulated devices and systems, or show one with its figures and sources",
                setUpDevices, "pipescope devices gaudi2", kOwnCard});
}

}  // namespace pipescope::cli
