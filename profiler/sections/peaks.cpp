#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/memory/peak_attribution.h"
#include "profiler/analysis/memory/unit_liveness.h"
#include "profiler/analysis/model/origins.h"
#include "profiler/sections/frame/no_memory.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {
namespace {

/// The table of what the fullest tile of each device holds at its peak.
base::Result<SectionTable> fullestTiles(const Context& context) {
  PIPESCOPE_ASSIGN(const auto made, memoryOf(context));
  const analysis::Memory& memory = *made;
  PIPESCOPE_ASSIGN(const analysis::Origins origins,
                   analysis::Origins::read(context.source, context.catalog, context.executable));
  SectionTable table{"fullest_tiles",
                     "The fullest tile",
                     "each device's, at its own peak step, at most ten variables",
                     {},
                     {}};
  table.columns = {{"device", "Index", Format::index, "Device index", false},
                   {"device_name", "Device", Format::plain, ""},
                   {"tile", "Tile", Format::index, ""},
                   {"step", "Step", Format::index, ""},
                   {"name", "Variable", Format::plain, ""},
                   {"layer", "Layer", Format::plain, "block"},
                   {"category", "Category", Format::term, ""},
                   {"always_live", "Always live", Format::truth, ""},
                   {"tile_bytes", "On the tile", Format::bytes, ""}};
  for (const analysis::DeviceMemory& device : memory.devices) {
    PIPESCOPE_ASSIGN(const analysis::UnitLiveness live,
                     analysis::unitLiveness(context.source, context.catalog, context.executable, device.space,
                                            device.worstUnit));
    if (!live.known || live.peakStep < 0) continue;
    PIPESCOPE_ASSIGN(
        const auto variables,
        analysis::variablesOnUnit(context.source, context.catalog, context.executable, device.space,
                                  device.worstUnit, static_cast<std::int32_t>(live.peakStep)));
    constexpr std::size_t kMostShown = 10;
    for (std::size_t i = 0; i < variables.size() && i < kMostShown; ++i) {
      const analysis::UnitVariable& row = variables[i];
      table.rows.push_back({static_cast<std::int64_t>(device.index), device.name, device.worstUnit,
                            live.peakStep, row.name, origins.of(row.name).block, row.category, row.alwaysLive,
                            row.bytes.count});
    }
  }
  return table;
}

base::Result<Section> makePeaks(const Context& context) {
  PIPESCOPE_ASSIGN(const auto peaks,
                   analysis::attributePeaks(context.source, context.catalog, context.executable));
  Section section{"peaks", "Memory at the peak", {}, {}, {}};
  std::int64_t always = 0, notAlways = 0, variables = 0;
  const Words words = wordsOf(context.catalog);
  SectionTable layers{"layers", "By layer", words.overTiles("each device at its peak step"), {}, {}};
  layers.columns = {{"device", "Index", Format::index, "Device index", false},
                    {"device_name", "Device", Format::plain, ""},
                    {"layer", "Layer", Format::plain, "block or operator; empty for memory of no layer"},
                    {"always_live_bytes", "Always live", Format::bytes, "weights, state, stashes, code"},
                    {"not_always_live_bytes", "Live now", Format::bytes, "not always live"},
                    {"share", "Share", Format::fraction, "of all that the device holds at that step"}};
  SectionTable categories{
      "categories", "By category", words.overTiles("each device at its peak step"), {}, {}};
  categories.columns = {{"device", "Index", Format::index, "Device index", false},
                        {"device_name", "Device", Format::plain, ""},
                        {"category", "Category", Format::term, ""},
                        {"always_live", "Always live", Format::truth, ""},
                        {"bytes", "Bytes", Format::bytes, ""}};
  SectionTable steps{"devices", "Peak steps", words.overTiles(), {}, {}};
  steps.columns = {
      {"device", "Index", Format::index, "Device index", false},
      {"device_name", "Device", Format::plain, ""},
      {"step", "Step", Format::index, ""},
      {"program", "At", Format::plain, "program of the step"},
      {"variables", "Variables", Format::count, "live during the step, with always-live variables"},
      {"always_live_bytes", "Always live", Format::bytes, ""},
      {"not_always_live_bytes", "Live now", Format::bytes, "not always live"}};
  for (const analysis::PeakAttribution& peak : peaks) {
    const model::Device* device = context.catalog.device(peak.device);
    const Cell name = device ? Cell(device->name) : Cell(), index = deviceIndexCell(peak.device);
    const auto whole = static_cast<double>((peak.parts.alwaysLive + peak.parts.notAlwaysLive).count);
    steps.rows.push_back({index, name, peak.step, peak.program, peak.parts.variables,
                          peak.parts.alwaysLive.count, peak.parts.notAlwaysLive.count});
    for (const analysis::LayerBytes& row : peak.parts.layers) {
      const auto bytes = static_cast<double>((row.alwaysLive + row.notAlwaysLive).count);
      layers.rows.push_back({index, name, row.layer.empty() ? Cell() : Cell(row.layer), row.alwaysLive.count,
                             row.notAlwaysLive.count, whole > 0 ? Cell(bytes / whole) : Cell()});
    }
    for (const analysis::CategoryBytes& row : peak.parts.categories)
      categories.rows.push_back({index, name, row.category, row.alwaysLive, row.bytes.count});
    always += peak.parts.alwaysLive.count;
    notAlways += peak.parts.notAlwaysLive.count;
    variables += peak.parts.variables;
  }
  const auto known = [&](std::int64_t sum) { return peaks.empty() ? Cell() : Cell(sum); };
  section.facts = {
      {"always_live_bytes", "Always live", known(always), Format::bytes, "Sum over devices of one replica."},
      {"not_always_live_bytes", "Live at the peaks", known(notAlways), Format::bytes,
       "Memory that is not always live: sum over devices, each at its own peak."},
      {"variables", "Variables", known(variables), Format::count,
       "Variables that are live at the peaks, always-live ones included."},
  };
  PIPESCOPE_ASSIGN(SectionTable tiles, fullestTiles(context));
  section.tables = {std::move(steps), std::move(layers), std::move(categories), std::move(tiles)};
  for (SectionTable& table : section.tables) table.mostInText = 40;
  if (peaks.empty()) lack(section, noMemory(context));
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(peaks) {
  registry.add({"peaks", "Memory at the peak",
                "What each device holds when most of its memory is live, by layer and category", 66,
                makePeaks});
}

}  // namespace pipescope::sections
