// The section on when the most memory is live and what is live then, for devices or for one tile of each
// device.
#include <fmt/format.h>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/memory/unit_layout.h"
#include "profiler/analysis/memory/unit_liveness.h"
#include "profiler/sections/frame/no_memory.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {
namespace {

std::string programOf(const Context& context, const analysis::LivenessPoint& point) {
  return context.catalog.programPath(point.program);
}

std::string unitNameOf(const Context& context, const analysis::DeviceMemory& memory) {
  const model::Device* device = context.catalog.device(model::DeviceId(memory.index));
  return device == nullptr || device->unitName.empty() ? "unit" : device->unitName;
}

SectionTable unitTable(const std::string& unit) {
  SectionTable table{
      "tiles", "One " + unit + " of each device", fmt::format("bytes on the {} itself", unit), {}, {}};
  table.columns = {{"index", "Device", Format::index, ""},
                   {"tile", "Tile", Format::index, ""},
                   {"always_live_bytes", "Always live", Format::bytes, "reserved for the whole program"},
                   {"peak_step", "Peak step", Format::index, "program step with the most live memory"},
                   {"peak_program", "At", Format::plain, "program of the peak step"},
                   {"peak_bytes", "Peak", Format::bytes, "not always live"},
                   {"bytes_per_tile", "Capacity", Format::bytes, ""},
                   {"name", "Name", Format::plain, "", false}};
  return table;
}

SectionTable variableTable() {
  SectionTable table{
      "tile_variables", "Live at its peak", "with always-live variables, largest first", {}, {}, 20};
  table.columns = {{"device", "Device", Format::index, ""},
                   {"name", "Variable", Format::plain, ""},
                   {"category", "Category", Format::term, ""},
                   {"shape", "Shape", Format::plain, ""},
                   {"always_live", "Always live", Format::truth, ""},
                   {"tile_bytes", "On the tile", Format::bytes, ""},
                   {"address", "Offset", Format::count, "address of the first byte"},
                   {"device_name", "Name", Format::plain, "", false}};
  return table;
}

/// Address at which a variable begins during a step; an empty cell if it is not live then or has no known
/// address.
Cell addressOf(const analysis::UnitLayout& layout, model::VariableId variable, std::int64_t step) {
  for (const analysis::PlacedVariable& placed : layout.variables) {
    const bool live = placed.alwaysLive || (placed.firstStep <= step && step < placed.endStep);
    if (placed.id == variable && live && placed.address >= 0) return placed.address;
  }
  return Cell();
}

/// Adds tables about one tile, which has the same number on each device.
base::Status addUnit(const Context& context, const analysis::Memory& memory, Section& section) {
  if (memory.devices.empty()) {
    lack(section, noMemory(context));
    return {};
  }
  if (memory.devices.front().units <= 1)
    return base::badInput(
        "These devices have no tiles. Leave --tile out to see when most of their memory is live.");
  SectionTable tiles = unitTable(unitNameOf(context, memory.devices.front())), variables = variableTable();
  for (const analysis::DeviceMemory& d : memory.devices) {
    if (context.unit >= d.units)
      return base::badInput(fmt::format("{0} has {1}s 0 to {2}; there is no {1} {3}.", d.name,
                                        unitNameOf(context, d), d.units - 1, context.unit));
    PIPESCOPE_ASSIGN(
        const analysis::UnitLiveness live,
        analysis::unitLiveness(context.source, context.catalog, context.executable, d.space, context.unit));
    if (!live.known)
      return base::badInput(
          "This profile does not say which tile holds what. Run again with --record steps or --record "
          "tiles.");
    if (live.peakStep < 0) continue;
    PIPESCOPE_ASSIGN(const analysis::Liveness steps,
                     analysis::liveness(context.source, context.catalog, context.executable, d.space));
    const auto peak = static_cast<std::size_t>(live.peakStep);
    tiles.rows.push_back({static_cast<std::int64_t>(d.index), context.unit, live.alwaysLive.count,
                          live.peakStep,
                          peak < steps.steps.size() ? programOf(context, steps.steps[peak]) : std::string(),
                          live.notAlwaysLive[peak].count, d.bytesPerUnit.count, d.name});
    PIPESCOPE_ASSIGN(const auto found,
                     analysis::variablesOnUnit(context.source, context.catalog, context.executable, d.space,
                                               context.unit, static_cast<std::int32_t>(live.peakStep)));
    PIPESCOPE_ASSIGN(
        const analysis::UnitLayout layout,
        analysis::unitLayout(context.source, context.catalog, context.executable, d.space, context.unit));
    for (const analysis::UnitVariable& row : found) {
      variables.rows.push_back({static_cast<std::int64_t>(d.index), row.name, row.category, row.shape,
                                row.alwaysLive, row.bytes.count, addressOf(layout, row.id, live.peakStep),
                                d.name});
    }
  }
  section.tables[2] = std::move(tiles);
  section.tables[3] = std::move(variables);
  return {};
}

SectionTable peakTable(const Words& words) {
  SectionTable peaks{"devices", "Peaks", words.overTiles("not always live"), {}, {}};
  peaks.columns = {{"index", "Device", Format::index, ""},
                   {"steps", "Steps", Format::count, "program steps"},
                   {"peak_step", "Peak step", Format::index, ""},
                   {"peak_program", "At", Format::plain, "program of the peak step"},
                   {"always_live_bytes", "Always live", Format::bytes, ""},
                   {"peak_bytes", "Peak", Format::bytes, "not always live"},
                   {"name", "Name", Format::plain, "", false}};
  return peaks;
}

SectionTable peakVariableTable() {
  SectionTable variables{
      "peak_variables", "Live at the peak", "not always live, largest first, at most ten per device", {}, {}};
  variables.columns = {{"device", "Device", Format::index, ""},
                       {"name", "Variable", Format::plain, ""},
                       {"category", "Category", Format::term, ""},
                       {"shape", "Shape", Format::plain, ""},
                       {"bytes", "Bytes", Format::bytes, ""},
                       {"first_step", "From step", Format::index, ""},
                       {"end_step", "To step", Format::index, "exclusive"},
                       {"device_name", "Name", Format::plain, "", false}};
  return variables;
}

/// Fills the tables about whole devices.
base::Status addDevices(const Context& context, const analysis::Memory& m, Section& section) {
  SectionTable &peaks = section.tables[0], &variables = section.tables[1];
  for (const analysis::DeviceMemory& d : m.devices) {
    PIPESCOPE_ASSIGN(const analysis::Liveness live,
                     analysis::liveness(context.source, context.catalog, context.executable, d.space));
    if (live.peakStep < 0) continue;
    const analysis::LivenessPoint& peak = live.steps[static_cast<std::size_t>(live.peakStep)];
    peaks.rows.push_back({static_cast<std::int64_t>(d.index), static_cast<std::int64_t>(live.steps.size()),
                          live.peakStep, programOf(context, peak), live.alwaysLive.count,
                          peak.notAlwaysLive.count, d.name});
    PIPESCOPE_ASSIGN(const auto found,
                     analysis::liveVariables(context.source, context.catalog, context.executable, d.space,
                                             peak.step, false));
    constexpr std::size_t kMostShown = 10;
    for (std::size_t i = 0; i < found.size() && i < kMostShown; ++i) {
      variables.rows.push_back({static_cast<std::int64_t>(d.index), found[i].name, found[i].category,
                                found[i].shape, found[i].bytes.count,
                                static_cast<std::int64_t>(found[i].firstStep),
                                static_cast<std::int64_t>(found[i].endStep), d.name});
    }
  }
  if (m.devices.empty()) lack(section, noMemory(context));
  return {};
}

base::Result<Section> makeLiveness(const Context& context) {
  PIPESCOPE_ASSIGN(const auto made, memoryOf(context));
  Section section{"liveness", "Liveness", {}, {}, {}};
  section.tables = {peakTable(wordsOf(context.catalog)), peakVariableTable(), unitTable("unit"),
                    variableTable()};
  PIPESCOPE_TRY(context.unit >= 0 ? addUnit(context, *made, section) : addDevices(context, *made, section));
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(liveness) {
  registry.add(
      {"liveness", "Liveness", "When the most memory is live, and what is live then", 60, makeLiveness});
}

}  // namespace pipescope::sections
