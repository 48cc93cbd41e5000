#include "profiler/analysis/memory/memory.h"

#include <algorithm>

#include "profiler/sections/frame/figure_facts.h"
#include "profiler/sections/frame/no_memory.h"
#include "profiler/sections/frame/tile_tables.h"
#include "profiler/sections/out_of_memory.h"

namespace pipescope::sections {
namespace {

template <class Map>
Breakdown memoryParts(const Map& map) {
  Breakdown result;
  for (const auto& [name, bytes] : map) result.emplace_back(name, bytes.count);
  return result;
}

/// The table has a row per category and a column per device.
SectionTable categoryTable(const analysis::Memory& m) {
  SectionTable memoryTable{"categories", "By category", "bytes used, largest first", {}, {}};
  memoryTable.moreColumns = "device_[0-9]+_bytes";
  memoryTable.columns = {{"category", "Category", Format::term, ""},
                         {"total_bytes", "Total", Format::bytes, "all devices"}};
  for (const analysis::DeviceMemory& d : m.devices)
    memoryTable.columns.push_back(
        {"device_" + std::to_string(d.index) + "_bytes", d.name, Format::bytes, ""});
  std::vector<std::pair<std::string, base::Bytes>> sorted(m.byCategory.begin(), m.byCategory.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [category, bytes] : sorted) {
    std::vector<Cell> row = {category, bytes.count};
    for (const analysis::DeviceMemory& d : m.devices) {
      const auto found = d.byCategory.find(category);
      row.push_back(found == d.byCategory.end() ? std::int64_t{0} : found->second.count);
    }
    memoryTable.rows.push_back(std::move(row));
  }
  return memoryTable;
}

/// The table of streaming memory and host memory.
SectionTable otherTable(const analysis::Memory& m) {
  SectionTable memoryTable{"other_memory",
                           "Other memory",
                           "streaming memory beside the chips, and stream buffers of the host",
                           {},
                           {}};
  memoryTable.columns = {{"index", "Device", Format::index, "none: the host", false},
                         {"name", "Name", Format::plain, ""},
                         {"space", "Memory", Format::term, ""},
                         {"total_bytes", "Total", Format::bytes, ""},
                         {"capacity_bytes", "Capacity", Format::bytes, "empty where it is not modelled"},
                         {"fits", "Fits", Format::truth, ""}};
  for (const analysis::DeviceMemory& d : m.others) {
    memoryTable.rows.push_back({d.index < 0 ? Cell() : Cell(static_cast<std::int64_t>(d.index)),
                                d.name.empty() ? "host" : d.name, d.spaceKind, d.total.count,
                                d.bytesPerUnit.count > 0 ? Cell(d.bytesPerUnit.count) : Cell(), d.fits});
  }
  return memoryTable;
}

}  // namespace

base::Result<Section> memoryOfDevices(const Context& context) {
  PIPESCOPE_ASSIGN(const auto made, memoryOf(context));
  const analysis::Memory& m = *made;
  figures::Analyses analyses;
  analyses.catalog = &context.catalog;
  analyses.executable = context.executable;
  analyses.memory = &m;
  Section section{"memory", "Memory", {}, {}, {}};
  // A device with a single memory, such as HBM, has no fullest tile.
  const bool whole = !m.devices.empty() && std::all_of(m.devices.begin(), m.devices.end(),
                                                       [](const auto& d) { return d.units == 1; });
  for (const char* key : {"total_bytes", "max_tile_bytes", "max_tile_bytes_including_gaps",
                          "always_live_bytes", "not_always_live_peak_bytes"}) {
    section.facts.push_back(factOf(key, analyses));
    for (std::string* text : {&section.facts.back().label, &section.facts.back().doc})
      *text = forUnits(*text, !whole);
    if (std::string_view(key) != "max_tile_bytes") continue;
    for (Fact& fact : memoryIntervalFacts(analyses)) {
      fact.doc = forUnits(std::move(fact.doc), !whole);
      section.facts.push_back(std::move(fact));
    }
  }
  for (const char* key : {"cache_block_bytes", "cache_blocks", "cache_samples"})
    section.facts.push_back(ifKnown(factOf(key, analyses)));
  section.facts.push_back({"by_category", "By category", memoryParts(m.byCategory), Format::bytes,
                           "Bytes used, sum over devices.", false, kAnyParts});
  SectionTable memoryTable{"devices", "Devices", "one replica", {}, {}};
  memoryTable.columns = {
      {"index", "Device", Format::index, ""},
      {"name", "Name", Format::plain, ""},
      {"space", "Memory", Format::term, ""},
      {"total_bytes", "Used", Format::bytes, "without gaps"},
      {"total_bytes_including_gaps", whole ? "Address span" : "Sum of spans", Format::bytes,
       whole ? "bytes used, with the gaps between variables; decides what fits"
             : "address spans of all units, which include gaps"},
      {"always_live_bytes", "Always live", Format::bytes, ""},
      {"not_always_live_peak_bytes", "Peak not always live", Format::bytes, ""},
      {"max_tile_bytes", "Fullest tile", Format::bytes, "used on it", !whole},
      {"worst_tile", "Tile", Format::index, "the fullest", !whole},
      {"max_tile_bytes_including_gaps", "Largest address span", Format::bytes,
       "of a tile: its bytes with gaps; decides what fits", !whole},
      {"bytes_per_tile", whole ? "Capacity" : "Tile capacity", Format::bytes,
       whole ? "for models" : "of a tile"},
      {"fits", "Fits", Format::truth, ""},
      {"by_category", "By category", Format::bytes, "", false, kAnyParts},
      {"by_region", "By region", Format::bytes, "with gaps", false, kAnyParts}};
  for (const analysis::DeviceMemory& d : m.devices) {
    memoryTable.rows.push_back({static_cast<std::int64_t>(d.index), d.name, d.spaceKind, d.total.count,
                                d.totalIncludingGaps.count, d.alwaysLive.count, d.notAlwaysLivePeak.count,
                                d.maxUnit.count, whole ? Cell() : Cell(d.worstUnit),
                                d.maxUnitIncludingGaps.count, d.bytesPerUnit.count, d.fits,
                                memoryParts(d.byCategory), memoryParts(d.byRegion)});
  }
  PIPESCOPE_ASSIGN(SectionTable overflow, overflowTable(context, m));
  section.tables.push_back(std::move(overflow));
  section.tables.push_back(adviceTable(context));
  section.tables.push_back(std::move(memoryTable));
  section.tables.push_back(otherTable(m));
  section.tables.push_back(categoryTable(m));
  if (m.devices.empty()) lack(section, noMemory(context));
  return section;
}

namespace {

base::Result<Section> makeMemory(const Context& context) {
  PIPESCOPE_ASSIGN(Section section, memoryOfDevices(context));
  PIPESCOPE_ASSIGN(const auto memory, memoryOf(context));
  PIPESCOPE_ASSIGN(std::vector<SectionTable> ofTile, tileTables(context, *memory));
  for (SectionTable& table : ofTile) section.tables.push_back(std::move(table));
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(memory) {
  registry.add(
      {"memory", "Memory", "Bytes by device, category and region, and the fullest tile", 50, makeMemory});
}

}  // namespace pipescope::sections
