#include "views/pages/parts/data/memory_data.h"

#include <QObject>
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string_view>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/memory/purpose_use.h"
#include "profiler/analysis/memory/tile_use.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/memory_spaces.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using sections::Format;
using Breakdown = MemoryBreakdown;
using Choice = MemoryChoice;
using Layer = MemoryLayer;
using Space = ShownSpace;

constexpr const char* kUnusedBetween = "gap";
/// Regions beyond this number share a colour.
constexpr std::size_t kMostLayers = 11;

/// Categories of all device families, in the order of the colours that they get.
constexpr std::array<std::string_view, 23> kCategories = {"variable",
                                                          "weight",
                                                          "optimizer_state",
                                                          "accumulator",
                                                          "activation",
                                                          "gradient",
                                                          "stash",
                                                          "temporary",
                                                          "vertexCode",
                                                          "controlCode",
                                                          "internalExchangeCode",
                                                          "input",
                                                          "copyDescriptor",
                                                          "vertexInstanceState",
                                                          "vertexFieldData",
                                                          "stack",
                                                          "constant",
                                                          "globalExchangeCode",
                                                          "output",
                                                          "globalExchangePacketHeader",
                                                          "hostExchangeCode",
                                                          "hostExchangePacketHeader",
                                                          "stream_buffer"};

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

void append(std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from, std::size_t units) {
  to.insert(to.end(), from.begin(), from.end());
  to.resize(to.size() + (units - std::min(units, from.size())), 0);
}

bool isDivided(Breakdown breakdown) {
  return breakdown == Breakdown::purpose || breakdown == Breakdown::layer;
}

/// Divides what the units hold by purpose or layer, one result for each space.
base::Result<std::vector<analysis::DividedUnits>> divided(const sections::Context& context,
                                                          const std::vector<Space>& shown,
                                                          const Choice& choice, base::Progress& progress) {
  std::vector<model::MemorySpaceId> spaces;
  for (const Space& space : shown) spaces.push_back(space.id);
  PIPESCOPE_ASSIGN(auto made, analysis::divideUnits(
                                  context.source, context.catalog, context.executable, spaces,
                                  choice.breakdown == Breakdown::purpose ? analysis::UnitDivision::purpose
                                                                         : analysis::UnitDivision::layer,
                                  progress));
  for (analysis::DividedUnits& units : made) {
    if (!choice.gaps) units.parts.erase(kUnusedBetween);
    if (choice.peakOnly) units.parts.erase(analysis::kLiveInOtherSteps);
  }
  return made;
}

std::vector<Layer> layersOf(const sections::Context& context, const std::vector<Space>& shown,
                            const Choice& choice, const std::vector<analysis::DividedUnits>& divided,
                            base::Status& status) {
  std::map<std::string, std::vector<std::int64_t>> columns;
  std::size_t before = 0;
  for (const Space& space : shown) {
    const auto units = static_cast<std::size_t>(space.units);
    std::map<std::string, std::vector<std::int64_t>> here;
    if (isDivided(choice.breakdown)) {
      here = divided[static_cast<std::size_t>(&space - shown.data())].parts;
    } else if (choice.breakdown == Breakdown::category) {
      auto made = analysis::unitUseByCategory(context.source, context.catalog, context.executable, space.id);
      if (!made.ok()) return status = made.error(), std::vector<Layer>();
      here = *std::move(made);
      if (!choice.gaps) here.erase(kUnusedBetween);
    } else if (choice.breakdown == Breakdown::region) {
      auto made = analysis::unitUseByRegion(context.source, context.catalog, context.executable, space.id);
      if (!made.ok()) return status = made.error(), std::vector<Layer>();
      here = *std::move(made);
      if (!choice.gaps) here.erase(kUnusedBetween);
    } else {
      auto made = analysis::unitUse(context.source, context.catalog, context.executable, space.id);
      if (!made.ok()) return status = made.error(), std::vector<Layer>();
      if (choice.breakdown == Breakdown::none) {
        here["bytes"] = choice.gaps ? made->includingGaps : made->excludingGaps;
      } else {
        here["always live"] = made->alwaysLive;
        here["not always live (peak)"] = made->notAlwaysLive;
        std::vector<std::int64_t> gaps(made->includingGaps.size());
        for (std::size_t i = 0; i < gaps.size(); ++i)
          gaps[i] = made->includingGaps[i] - made->excludingGaps[i];
        if (choice.gaps) here["gaps"] = std::move(gaps);
      }
    }
    for (auto& [name, values] : here) {
      columns[name].resize(before, 0);
      append(columns[name], values, units);
    }
    before += units;
    for (auto& [name, values] : columns) values.resize(before, 0);
  }
  std::vector<Layer> layers;
  for (auto& [name, values] : columns) {
    const bool isLayer = choice.breakdown == Breakdown::layer && name != analysis::kNoLayer &&
                         name != analysis::kLiveInOtherSteps && name != kUnusedBetween;
    layers.push_back({name, isLayer ? text(name) : memoryWords(name), ColourRole::series, std::move(values)});
  }
  return layers;
}

/// Sorts the layers, the largest first and gaps last. Layers beyond the number of colours become "other".
void arrange(std::vector<Layer>& layers, Breakdown breakdown) {
  const auto isGap = [](const Layer& layer) {
    return layer.name == QLatin1String(kUnusedBetween) || layer.name == QLatin1String("gaps");
  };
  const auto isRest = [](const Layer& layer) { return layer.key == analysis::kLiveInOtherSteps; };
  std::stable_sort(layers.begin(), layers.end(), [&](const Layer& a, const Layer& b) {
    if (isGap(a) != isGap(b)) return isGap(b);
    if (isRest(a) != isRest(b)) return isRest(b);
    return (breakdown == Breakdown::category || isDivided(breakdown)) && sum(a.values) > sum(b.values);
  });
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (isGap(layers[i])) {
      layers[i].role = ColourRole::gaps;
    } else if (breakdown == Breakdown::liveness) {
      layers[i].role = i == 0 ? ColourRole::alwaysLive : ColourRole::notAlwaysLive;
    } else if (isRest(layers[i])) {
      layers[i].role = ColourRole::notAlwaysLive;
    } else if (breakdown == Breakdown::category || breakdown == Breakdown::purpose) {
      layers[i].role = roleOfCategory(layers[i].key);
    } else {
      layers[i].role = geometry::seriesRole(static_cast<int>(std::min(i, kMostLayers)));
    }
  }
}

}  // namespace

sections::SectionTable breakdownTable(const MemoryData& content, const std::vector<int>& chosen) {
  const std::string unit = memoryUnit(content.unitName);
  std::vector<std::size_t> units(chosen.begin(), chosen.end());
  if (units.empty()) {
    units.resize(content.units);
    std::iota(units.begin(), units.end(), std::size_t{0});
  }
  sections::SectionTable table{"categories",
                               "What uses the memory",
                               chosen.empty()       ? "over the " + unit + "s shown"
                               : chosen.size() == 1 ? "on the selected " + unit
                                                    : "over the selected " + unit + "s",
                               {{"name", content.partName, Format::plain, ""},
                                {"bytes", "Bytes", Format::bytes, "sum over " + unit + "s"},
                                {"share", "Share", Format::fraction, "of all bytes shown"},
                                {"mean", "Mean", Format::bytes, "per " + unit},
                                {"max", "Most", Format::bytes, "on one " + unit},
                                {"unit", "On", Format::plain, "the " + unit + " that holds most of it"}},
                               {}};
  const auto sumOf = [&](const Layer& layer) {
    std::int64_t total = 0;
    for (const std::size_t i : units) total += layer.values[i];
    return total;
  };
  std::int64_t all = 0;
  for (const Layer& layer : content.layers) all += layer.values.empty() ? 0 : sumOf(layer);
  for (const Layer& layer : content.layers) {
    if (layer.values.empty() || units.empty()) continue;
    const std::int64_t total = sumOf(layer);
    std::size_t most = units.front();
    for (const std::size_t i : units) most = layer.values[i] > layer.values[most] ? i : most;
    table.rows.push_back({layer.name.toStdString(), total,
                          all > 0 ? static_cast<double>(total) / static_cast<double>(all) : 0.0,
                          static_cast<double>(total) / static_cast<double>(units.size()), layer.values[most],
                          content.nameOf(most).toStdString()});
  }
  return table;
}

QString MemoryData::nameOf(std::size_t unit) const {
  auto at = static_cast<std::int64_t>(unit);
  for (const Space& space : shown) {
    if (at < space.units)
      return space.units == 1 ? QObject::tr("%1 %2").arg(space.name, memoryWords(space.kind))
                              : QObject::tr("%1 %2 %3").arg(space.name, text(unitName)).arg(at);
    at -= space.units;
  }
  return {};
}

geometry::ColourRole roleOfCategory(const std::string& category) {
  // A purpose has the colour of its most frequent category.
  const std::string_view like = category == "code"           ? "vertexCode"
                                : category == "control"      ? "controlCode"
                                : category == "vertex_state" ? "vertexInstanceState"
                                                             : std::string_view(category);
  const auto known = std::ranges::find(kCategories, like);
  return geometry::seriesRole(static_cast<int>(known - kCategories.begin()));
}

QString memoryWords(const std::string& kind) {
  return text(sections::formatCell(kind, sections::Format::term));
}

std::string memoryUnit(const std::string& unitName) {
  return unitName.empty() ? "device" : unitName;
}

QString unitWords(const MemoryData& content, std::size_t unit) {
  const auto bytes = [](std::int64_t count) { return text(formatCell(count, Format::bytes)); };
  const std::int64_t used = unit < content.used.size() ? content.used[unit] : 0,
                     span = unit < content.spans.size() ? content.spans[unit] : 0;
  const double share =
      content.capacity > 0 ? static_cast<double>(used) / static_cast<double>(content.capacity) : 0;
  return QObject::tr("%1, %2 of %3 used (%4), address span %5")
      .arg(content.nameOf(unit), bytes(used), bytes(content.capacity),
           text(formatCell(share, Format::fraction)), bytes(span));
}

QString largestSpanWords(const MemoryData& content, std::size_t unit) {
  const auto largest = std::ranges::max_element(content.spans);
  if (largest == content.spans.end() || (unit < content.spans.size() && content.spans[unit] == *largest))
    return {};
  return QObject::tr("largest address span %1 on %2")
      .arg(text(formatCell(*largest, Format::bytes)),
           content.nameOf(static_cast<std::size_t>(largest - content.spans.begin())));
}

base::Result<MemoryData> collectMemory(const sections::Context& context, const MemoryChoice& choice,
                                       base::Progress& progress) {
  MemoryData content;
  PIPESCOPE_ASSIGN(const auto made, memoryOf(context));
  const analysis::Memory& memory = *made;
  for (const auto* list : {&memory.devices, &memory.others}) {
    for (const analysis::DeviceMemory& device : *list) {
      const QString name = device.name.empty() ? QObject::tr("host") : text(device.name);
      content.spaces.push_back({device.space, model::DeviceId(device.index), name, device.spaceKind,
                                device.units, device.bytesPerUnit.count});
    }
  }
  // A chart shows memory of one kind: of the chosen space, or else of the memory that devices compute from.
  const auto chosen = std::find_if(content.spaces.begin(), content.spaces.end(),
                                   [&](const Space& space) { return space.id == choice.space; });
  const bool one = chosen != content.spaces.end();
  const std::string kind = one                      ? chosen->kind
                           : content.spaces.empty() ? std::string()
                                                    : content.spaces.front().kind;
  for (const Space& space : content.spaces) {
    if (one ? space.id == choice.space : space.kind == kind) content.shown.push_back(space);
  }
  for (const Space& space : content.shown) {
    content.capacity = std::max(content.capacity, space.bytesPerUnit);
    const model::Device* device = context.catalog.device(space.device);
    if (device != nullptr && space.units > 1) content.unitName = device->unitName;
  }
  for (const Space& space : content.shown) {
    PIPESCOPE_ASSIGN(const analysis::UnitUse use,
                     analysis::unitUse(context.source, context.catalog, context.executable, space.id));
    const auto units = static_cast<std::size_t>(space.units);
    append(content.used, use.excludingGaps, units);
    append(content.spans, use.includingGaps, units);
  }
  std::vector<analysis::DividedUnits> parts;
  if (isDivided(choice.breakdown)) {
    PIPESCOPE_ASSIGN(parts, divided(context, content.shown, choice, progress));
    content.divided = std::ranges::all_of(parts, &analysis::DividedUnits::known);
  }
  base::Status status;
  content.layers = layersOf(context, content.shown, choice, parts, status);
  PIPESCOPE_TRY(status);
  arrange(content.layers, choice.breakdown);
  for (const Space& space : content.shown) content.units += static_cast<std::size_t>(space.units);
  content.partName = choice.breakdown == Breakdown::purpose  ? "Purpose"
                     : choice.breakdown == Breakdown::layer  ? "Layer"
                     : choice.breakdown == Breakdown::region ? "Region"
                                                             : "Category";
  content.table = breakdownTable(content, {});
  for (const Layer& layer : content.layers) {
    if (!layer.values.empty()) content.marks.push_back(layer.role);
  }
  PIPESCOPE_ASSIGN(content.allSpaces, sections::memorySpaces(context));
  return content;
}

}  // namespace pipescope::pages
