#include "profiler/sections/memory_spaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/device_places.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/links/axis_traffic.h"
#include "profiler/analysis/pipeline/links/system_links.h"
#include "profiler/analysis/recorded_devices.h"
#include "profiler/base/number_ranges.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {
namespace {

std::string systemWords(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// The names of the lanes of each device. Late chips of a large system have no rows of lanes, but the lanes
/// of their kind.
base::IdVector<model::DeviceId, std::vector<std::string>> lanesOfDevices(const analysis::Catalog& catalog) {
  base::IdVector<model::DeviceId, std::vector<std::string>> lanes(catalog.devices.size());
  for (const model::Lane& lane : catalog.lanes)
    if (std::vector<std::string>* names = lanes.find(lane.device))
      names->push_back(catalog.measured() ? lane.name : catalog.laneTitle(lane.role));
  std::map<std::string, model::DeviceId> first;
  for (const model::Device& device : catalog.devices) {
    const auto [like, isNew] = first.try_emplace(device.kind, device.id);
    if (!catalog.measured() && !isNew && lanes[device.id].empty()) lanes[device.id] = lanes[like->second];
  }
  return lanes;
}

/// "passes, thread 7 (3 levels)": a thread of a recorded run has a lane for each level of its slices.
std::string lanesInWords(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, int>> lanes;
  for (const std::string& name : names) {
    if (!lanes.empty() && name == fmt::format("{}, level {}", lanes.back().first, lanes.back().second + 1)) {
      ++lanes.back().second;
    } else {
      lanes.emplace_back(name, 1);
    }
  }
  std::string words;
  for (const auto& [name, levels] : lanes) {
    words += (words.empty() ? "" : ", ") + name;
    if (levels > 1) words += fmt::format(" ({} levels)", levels);
  }
  return words;
}

SectionTable systemDeviceTable(const Context& context) {
  const analysis::Catalog& catalog = context.catalog;
  SectionTable table{"devices",
                     "Devices",
                     "of the partition",
                     {{"name", "Device", Format::plain, ""},
                      {"kind", "Chip", Format::plain, ""},
                      {"stages", "Stages", Format::plain, "of the executable"},
                      {"units", "Units", Format::count, "tiles, cores"},
                      {"unit", "Unit", Format::plain, ""},
                      {"clock", "Clock", Format::plain, "of the chip, or of its engines"},
                      {"lanes", "Lanes", Format::plain, "lanes that can work at the same time"},
                      {"recorded_as", "Recorded as", Format::plain,
                       "device whose rows stand for it, because it does equal work at the same ticks; empty: "
                       "it has no work"},
                      {"index", "Index", Format::index, "Device index", false}},
                     {}};
  const auto places = analysis::devicePlaces(catalog, context.executable);
  const auto lanes = lanesOfDevices(catalog);
  const auto stands = analysis::recordedDevices(catalog, context.executable);
  bool shared = false, clocks = false;
  for (const model::Device& device : catalog.devices) {
    const analysis::DevicePlace* found = places.find(device.id);
    const analysis::DevicePlace place = found == nullptr ? analysis::DevicePlace() : *found;
    const std::string stages = base::numberRanges(place.stages);
    const std::string clock =
        catalog.target.tickMeaning == model::TickMeaning::cost ? "cost units" : device.clock;
    clocks = clocks || !clock.empty();
    // A recorded device without stages, such as a host, may work on other things, so it is not called idle.
    Cell held = stages;
    if (stages.empty()) held = catalog.measured() ? Cell() : Cell(std::string("idle"));
    const model::DeviceId of = stands[device.id];
    shared = shared || (of.valid() && of != device.id);
    table.rows.push_back({device.name, device.kind, held, device.units, device.unitName,
                          clock.empty() ? Cell() : Cell(clock), lanesInWords(lanes[device.id]),
                          of.valid() ? Cell(catalog.devices[of].name) : Cell(), device.id.value});
  }
  // A device that is one unit says nothing with it.
  const bool many = std::ranges::any_of(catalog.devices, [](const auto& device) { return device.units > 1; });
  for (SectionColumn& column : table.columns)
    if (column.key == "units" || column.key == "unit")
      column.inText = many;
    else if (column.key == "recorded_as")
      column.inText = shared;
    else if (column.key == "clock")
      column.inText = clocks;
  return table;
}

Cell rate(double bytesPerSecond) {
  return bytesPerSecond > 0 ? Cell(bytesPerSecond) : Cell();
}

SectionTable linkTable(const analysis::SystemUse& use, const Words& words) {
  SectionTable table{
      "links",
      "Links",
      "over the last call; in use: share of the call's length",
      {{"from", "From", Format::plain, ""},
       {"to", "To", Format::plain, ""},
       {"name", "Link", Format::plain, ""},
       {"capacity_bytes_per_second", "Capacity", Format::byteRate, "in this direction"},
       {"bytes", "Bytes", Format::bytes, "in the call"},
       {"transfers", "Transfers", Format::count, "in the call; each stream copy counts as one"},
       {"busy", "In use", Format::fraction, "time with at least one transfer ÷ length of the call"},
       {"rate_bytes_per_second", "While in use", Format::byteRate, "bytes ÷ time in use"}},
      {}};
  // Links with traffic come first, because most links of a fully connected system carry none.
  std::vector<const analysis::LinkUse*> usedFirst;
  for (const analysis::LinkUse& link : use.links) usedFirst.push_back(&link);
  std::ranges::stable_sort(usedFirst, std::ranges::greater(),
                           [](const auto* link) { return std::pair(link->transfers > 0, link->known); });
  for (const analysis::LinkUse* each : usedFirst) {
    const analysis::LinkUse& link = *each;
    const bool ran = use.run.valid() && link.known;
    // Costs are no seconds.
    const auto rateCell = [&](double bytesPerSecond) { return words.bytes ? rate(bytesPerSecond) : Cell(); };
    // Traces may record messages without their size, and the costs of a configuration have sizes only where
    // it states them.
    const bool sized = link.bytes.count > 0 || (words.bytes && link.transfers == 0);
    table.rows.push_back({link.from, link.to, link.name, rateCell(link.bytesPerSecond),
                          ran && sized ? Cell(link.bytes.count) : Cell(), ran ? Cell(link.transfers) : Cell(),
                          ran ? Cell(link.share) : Cell(), rateCell(link.rate)});
  }
  return table;
}

SectionTable spaceTable(const analysis::Catalog& catalog, const analysis::Memory& memory,
                        const analysis::SystemUse& use) {
  SectionTable table{"memory_spaces",
                     "Memory spaces",
                     "capacity and use of the executable; traffic in its last call",
                     {{"device_name", "Device", Format::plain, ""},
                      {"kind", "Kind", Format::term, ""},
                      {"units", "Units", Format::count, ""},
                      {"capacity_bytes", "Capacity", Format::bytes, "all units"},
                      {"used_bytes", "Used", Format::bytes, "without gaps, sum over units"},
                      {"share", "Used of it", Format::fraction, "used ÷ capacity"},
                      {"fullest_bytes", "Fullest unit", Format::bytes, "bytes used on it"},
                      {"largest_span_bytes", "Largest address span", Format::bytes,
                       "of a unit: its bytes with gaps; decides what fits"},
                      {"in_bytes", "Received", Format::bytes, "from other memory in the last call"},
                      {"out_bytes", "Sent", Format::bytes, "to other memory in the last call"},
                      {"device", "Index", Format::index, "Device index; none: the host", false}},
                     {}};
  for (const model::MemorySpace& space : catalog.memorySpaces) {
    const model::Device* device = catalog.device(space.device);
    const std::int64_t capacity = space.units * space.bytesPerUnit.count;
    Cell used, share, fullest, span;
    for (const auto* list : {&memory.devices, &memory.others}) {
      for (const analysis::DeviceMemory& one : *list) {
        if (one.space != space.id) continue;
        used = one.total.count;
        fullest = one.maxUnit.count;
        span = one.maxUnitIncludingGaps.count;
        if (capacity > 0) share = static_cast<double>(one.total.count) / static_cast<double>(capacity);
      }
    }
    const analysis::SpaceTraffic* found = use.spaces.find(space.id);
    const analysis::SpaceTraffic traffic = found == nullptr ? analysis::SpaceTraffic() : *found;
    const bool ran = use.run.valid() && traffic.known;
    const bool known = device != nullptr;
    table.rows.push_back({known ? device->name : "host", systemWords(space.kind), space.units,
                          capacity > 0 ? Cell(capacity) : Cell(), used, share, fullest, span,
                          ran ? Cell(traffic.in.count) : Cell(), ran ? Cell(traffic.out.count) : Cell(),
                          known ? Cell(device->id.value) : Cell()});
  }
  return table;
}

std::string reachInWords(analysis::LinkReach reach) {
  switch (reach) {
    case analysis::LinkReach::withinBox:
      return "within a box";
    case analysis::LinkReach::betweenBoxes:
      return "between boxes";
    default:
      return "not known";
  }
}

SectionTable axisTable(const std::vector<analysis::AxisTraffic>& rows) {
  SectionTable table{"axes",
                     "Bytes by axis and link",
                     "per iteration",
                     {{"axis", "Axis", Format::plain, "Axis of the mesh along which the chips lie."},
                      {"links", "Links", Format::plain,
                       "Within a box of the system, or between boxes. Sums, gathers and scatters run inside "
                       "boxes and then between chips of equal number; in an exchange of all with all, each "
                       "part goes straight to its receiver; on a ring, chips send to the next one."},
                      {"chips", "Chips", Format::count, "of the largest group that communicates"},
                      {"senders", "Senders", Format::count, "chips that send over such links"},
                      {"mean_bytes", "A chip sends", Format::bytes, "mean over the senders"},
                      {"all_bytes", "All send", Format::bytes, "all stages, ranks and replicas"}},
                     {}};
  for (const analysis::AxisTraffic& row : rows)
    table.rows.push_back({model::toString(row.axis), reachInWords(row.reach), row.chips, row.senders,
                          static_cast<std::int64_t>(std::llround(row.mean)),
                          static_cast<std::int64_t>(std::llround(row.all))});
  return table;
}

base::Result<Section> makeSystem(const Context& context) {
  base::SilentProgress progress;
  PIPESCOPE_ASSIGN(const analysis::SystemUse use,
                   analysis::systemUse(context.source, context.catalog, context.executable, progress));
  PIPESCOPE_ASSIGN(const auto made, memoryOf(context));
  const analysis::Memory& memory = *made;
  const model::Target& target = context.catalog.target;
  Section section{"system", "System", {}, {}, {}};
  // An initializer list would copy the tables, and a large system has many rows.
  section.tables.push_back(systemDeviceTable(context));
  section.tables.push_back(linkTable(use, wordsOf(context.catalog)));
  section.tables.push_back(spaceTable(context.catalog, memory, use));
  PIPESCOPE_ASSIGN(const auto axes,
                   analysis::axisTraffic(context.source, context.catalog, context.executable));
  section.tables.push_back(axisTable(axes));
  constexpr std::size_t kMostLinksInText = 40;
  section.tables[1].mostInText = kMostLinksInText;
  if (use.unknownCollectives)
    section.remarks.push_back(
        "The link \"collectives\" has what a device sends to other chips in collectives. Which of the links "
        "between them carry it is not recorded, so their figures are not known.");
  if (std::ranges::any_of(use.spaces, [](const auto& space) { return !space.known; }))
    section.remarks.push_back(
        "The profile leaves out replicas that do the same as a recorded one, so the traffic of their devices "
        "is not known. Run with --record-replicas all to record every replica.");
  section.facts = {{"system", "System", target.name, Format::plain, target.description},
                   {"devices_total", "Devices", target.devices, Format::count, "of the partition"},
                   {"devices_used", "  with a stage",
                    // No stage of a recorded trace means only that its passes were not recognised.
                    target.devicesUsed == 0 && context.catalog.measured() ? Cell() : Cell(target.devicesUsed),
                    Format::count, "devices that hold a stage; empty where a recorded trace does not tell"}};
  return section;
}

}  // namespace

base::Result<SectionTable> memorySpaces(const Context& context) {
  base::SilentProgress progress;
  PIPESCOPE_ASSIGN(const analysis::SystemUse use,
                   analysis::systemUse(context.source, context.catalog, context.executable, progress));
  PIPESCOPE_ASSIGN(const auto memory, memoryOf(context));
  return spaceTable(context.catalog, *memory, use);
}

PIPESCOPE_REGISTER_SECTION(system) {
  registry.add({"system", "System", "Devices, links with their traffic, memory spaces", 70, makeSystem});
}

}  // namespace pipescope::sections
