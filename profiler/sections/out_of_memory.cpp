#include "profiler/sections/out_of_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "profiler/analysis/memory/unit_liveness.h"
#include "profiler/analysis/searched_stages.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {
namespace {

using analysis::DeviceMemory;

struct TooFull {
  std::int64_t units = 0, bytes = 0;  ///< bytes: what all of them lack together
  std::string text;                   ///< "0–1471, 1473"
};

/// Appends a range of units. After some ranges only their number grows.
void addRange(TooFull& full, std::int64_t first, std::int64_t last, int& ranges) {
  constexpr int kMostRanges = 4;
  if (++ranges > kMostRanges) return;
  full.text += full.text.empty() ? "" : ", ";
  full.text += first == last ? std::to_string(first) : fmt::format("{}–{}", first, last);
  if (ranges == kMostRanges) full.text += " …";
}

TooFull tooFull(const std::vector<std::int64_t>& use, std::int64_t capacity) {
  TooFull full;
  int ranges = 0;
  const auto count = static_cast<std::int64_t>(use.size());
  for (std::int64_t first = 0; first < count; ++first) {
    std::int64_t last = first - 1;
    while (last + 1 < count && use[static_cast<std::size_t>(last + 1)] > capacity) {
      ++last;
      ++full.units;
      full.bytes += use[static_cast<std::size_t>(last)] - capacity;
    }
    if (last < first) continue;
    addRange(full, first, last, ranges);
    first = last;
  }
  return full;
}

/// The bytes by category in the fullest unit when it holds most.
base::Result<std::map<std::string, std::int64_t>> heldBy(const Context& context, const DeviceMemory& device) {
  std::map<std::string, std::int64_t> held;
  PIPESCOPE_ASSIGN(const analysis::UnitLiveness live,
                   analysis::unitLiveness(context.source, context.catalog, context.executable, device.space,
                                          device.spanUnit));
  if (live.known && live.peakStep >= 0) {
    PIPESCOPE_ASSIGN(
        const auto variables,
        analysis::variablesOnUnit(context.source, context.catalog, context.executable, device.space,
                                  device.spanUnit, static_cast<std::int32_t>(live.peakStep)));
    for (const analysis::UnitVariable& row : variables) held[row.category] += row.bytes.count;
    return held;
  }
  PIPESCOPE_ASSIGN(const auto use, analysis::unitUseByCategory(context.source, context.catalog,
                                                               context.executable, device.space));
  for (const auto& [category, bytes] : use) {
    const auto unit = static_cast<std::size_t>(device.spanUnit);
    if (category != "gap" && unit < bytes.size() && bytes[unit] > 0) held[category] = bytes[unit];
  }
  return held;
}

/// Largest first.
Breakdown sortedParts(const std::map<std::string, std::int64_t>& held) {
  std::vector<std::pair<std::string, std::int64_t>> sorted(held.begin(), held.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return {sorted.begin(), sorted.end()};
}

base::Status addOverflow(const Context& context, const DeviceMemory& device, SectionTable& table) {
  constexpr std::size_t kMostNamed = 3;
  PIPESCOPE_ASSIGN(const analysis::UnitUse use,
                   analysis::unitUse(context.source, context.catalog, context.executable, device.space));
  PIPESCOPE_ASSIGN(const auto held, heldBy(context, device));
  const std::int64_t needs = device.maxUnitIncludingGaps.count, has = device.bytesPerUnit.count;
  const TooFull full = tooFull(use.includingGaps, has);
  const Breakdown parts = sortedParts(held);
  const Breakdown largest(parts.begin(),
                          parts.begin() + static_cast<std::ptrdiff_t>(std::min(kMostNamed, parts.size())));
  const bool units = device.units > 1;
  table.rows.push_back({device.index < 0 ? Cell() : Cell(std::int64_t{device.index}),
                        device.name.empty() ? "host" : device.name, device.spaceKind, needs, has, needs - has,
                        full.bytes, units ? Cell(full.units) : Cell(), units ? Cell(full.text) : Cell(),
                        units ? Cell(device.spanUnit) : Cell(), formatCell(largest, Format::bytes), parts});
  return {};
}

}  // namespace

base::Result<SectionTable> overflowTable(const Context& context, const analysis::Memory& memory) {
  const bool tiles = wordsOf(context.catalog).tiles;
  SectionTable table{"out_of_memory", "What does not fit", "gaps included", {}, {}};
  table.columns = {
      {"device", "Index", Format::index, "Device index; none: the host", false},
      {"device_name", "Device", Format::plain, ""},
      {"space", "Memory", Format::term, ""},
      {"needs_bytes", "Needs", Format::bytes,
       "largest address span of a tile, or of the device if it has no tiles"},
      {"has_bytes", "Has", Format::bytes, ""},
      {"too_much_bytes", "Too much", Format::bytes, "needs − has"},
      {"all_too_much_bytes", "In all", Format::bytes, "what all tiles lack together", tiles},
      {"tile_count", "Tiles", Format::count, "that are too full", tiles},
      {"tiles", "Which", Format::plain, "tiles that are too full", tiles},
      {"worst_tile", "Fullest", Format::index, "the tile that needs most", tiles},
      {"mostly", "Holds mostly", Format::plain, "the largest categories in the fullest tile or device"},
      {"holds", "Holds", Format::bytes, "bytes by category in the fullest tile or device when it holds most",
       false, kAnyParts}};
  for (const auto* list : {&memory.devices, &memory.others}) {
    for (const DeviceMemory& device : *list) {
      if (!device.fits) PIPESCOPE_TRY(addOverflow(context, device, table));
    }
  }
  return table;
}

SectionTable adviceTable(const Context& context) {
  SectionTable table{"advice", "What would help", "", {}, {}};
  if (const std::int64_t stages = analysis::searchedStages(context.catalog); stages > 0)
    table.basis = fmt::format(
        "tried with the stages as they are; a run with execution.stages = {} divides the model anew", stages);
  table.columns = {{"text", "Advice", Format::plain, ""},
                   {"devices", "Devices", Format::list, "names of the devices that it is for"}};
  std::vector<std::pair<std::string, std::string>> lines;
  for (const model::Diagnostic& row : context.catalog.diagnostics) {
    if (row.code != kMemoryAdvice || row.executable != context.executable) continue;
    const model::Device* device = context.catalog.device(row.device);
    const std::string name = device == nullptr ? "host" : device->name;
    const auto found =
        std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == row.text; });
    if (found == lines.end()) {
      lines.emplace_back(row.text, name);
    } else {
      found->second += " " + name;
    }
  }
  for (const auto& [line, devices] : lines) table.rows.push_back({line, devices});
  return table;
}

}  // namespace pipescope::sections
