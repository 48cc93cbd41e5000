#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "engine/devices/core/bands.h"
#include "engine/emulate/emulated_executable.h"
#include "profiler/base/check.h"

namespace pipescope::emulate {
namespace {

/// Records the error bands of these kinds of device. A band names the reference that figures were checked
/// against, and the errors. A key reads "band.mk2.convolution.cycles". Kinds of layer without an entry are
/// unchecked. The division of a layer's time into passes is always unchecked.
void recordBands(record::Recorder& recorder, const std::set<std::string>& kinds) {
  const base::Result<std::vector<devices::Band>> bands = devices::embeddedBands();
  PIPESCOPE_CHECK(bands.ok(), "the program's own error bands cannot be read");
  for (const devices::Band& band : *bands) {
    if (kinds.contains(band.device))
      recorder.add(
          model::Property{"band." + band.device + "." + band.kind + "." + band.quantity, band.describe()});
  }
}

/// Ticks are costs if the configuration states all costs. A system without a word for ticks counts time.
model::TickMeaning tickMeaning(const devices::SystemFacts& facts) {
  if (facts.costsGiven) return facts.costsAreTimes ? model::TickMeaning::time : model::TickMeaning::cost;
  return facts.tickNoun.empty() ? model::TickMeaning::time : model::TickMeaning::clockCycle;
}

/// "MME 1.65 GHz, TPC 1.8 GHz"; empty if the system states no clocks of engines.
std::string engineClocks(const devices::System& system) {
  constexpr std::string_view suffix = "_clock";
  std::string engines;
  for (const devices::Figure& figure : system.figures()) {
    if (!figure.name.ends_with(suffix)) continue;
    std::string engine = figure.name.substr(0, figure.name.size() - suffix.size());
    for (char& c : engine) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    engines += (engines.empty() ? "" : ", ") + engine + " " + figure.value +
               (figure.unit.empty() ? "" : " " + figure.unit);
  }
  return engines;
}

/// Number of first chips that get all of their lanes and links. Nobody draws those of more chips, and they
/// would be most of the file: later chips get those on which something is recorded.
constexpr std::size_t kMostWholeChips = 2048;

}  // namespace

model::LaneId recordLane(record::Recorder& recorder, SystemIds& ids, const devices::DeviceInfo& info,
                         model::DeviceId device, model::LaneRole role) {
  std::map<model::LaneRole, model::LaneId>& lanes = ids.lanes[device];
  for (const model::LaneRole each : lanes.empty() ? info.lanes : devices::SharedList<model::LaneRole>()) {
    model::Lane lane;
    lane.device = device;
    const bool titled = info.laneTitles != nullptr && info.laneTitles->contains(each);
    lane.name = info.name + " " + (titled ? info.laneTitles->at(each) : model::toString(each));
    lane.role = each;
    lanes[each] = recorder.add(lane);
  }
  const auto found = lanes.find(role);
  PIPESCOPE_CHECK(found != lanes.end(), "device has no lane " + model::toString(role));
  return found->second;
}

model::LinkId recordLink(record::Recorder& recorder, SystemIds& ids, const devices::LinkInfo& link) {
  model::LinkId& id = ids.links[{link.from, link.to}];
  const auto device = [&](int index) {
    return index < 0 ? model::DeviceId() : ids.devices[static_cast<std::size_t>(index)];
  };
  if (!id.valid())
    id = recorder.add(model::Link{{}, device(link.from), device(link.to), link.name, link.bytesPerSecond});
  return id;
}

SystemIds recordSystem(record::Recorder& recorder, const devices::System& system, int devicesWithStages,
                       Bytes hostMemory) {
  SystemIds ids;
  recorder.add(model::Target{system.name(), system.family(), system.description(),
                             static_cast<std::int64_t>(system.devices().size()), devicesWithStages,
                             tickMeaning(system.facts())});
  std::set<std::string> kinds;
  std::map<model::LaneRole, std::string> titles;
  const devices::DeviceInfo* last = nullptr;  // neighbours are mostly alike
  for (const devices::DeviceInfo& info : system.devices()) {
    if (last == nullptr || last->kind != info.kind) kinds.insert(info.kind);
    if (info.laneTitles != nullptr && (last == nullptr || last->laneTitles != info.laneTitles))
      titles.insert(info.laneTitles->begin(), info.laneTitles->end());
    last = &info;
  }
  for (const auto& [role, title] : titles) recorder.add(model::laneTitleProperty(role, title));
  recordBands(recorder, kinds);
  for (const devices::Figure& figure : system.figures()) {
    const std::string space = figure.unit.empty() ? "" : " ";
    recorder.add(model::Property{"figure." + figure.name, figure.value + space + figure.unit + "; grade " +
                                                              figure.grade + "; " + figure.source});
  }
  const bool clocked = !system.facts().costsGiven;
  const std::string engines = clocked ? engineClocks(system) : "";
  // A card's ticks are picoseconds, which are no cycles of a clock.
  const bool ticksAreCycles =
      tickMeaning(system.facts()) == model::TickMeaning::clockCycle && engines.empty();
  recorder.reserve<model::Device>(system.devices().size());
  recorder.reserve<model::MemorySpace>(system.devices().size());
  ids.devices.reserve(system.devices().size());
  ids.memory.reserve(system.devices().size());
  for (const devices::DeviceInfo& info : system.devices()) {
    recorder.gather();
    model::Device device;
    device.kind = info.kind;
    device.name = info.name;
    device.ticksPerSecond = info.ticksPerSecond;
    device.units = info.units;
    device.unitName = info.unitName;
    device.clock =
        ticksAreCycles ? fmt::format("{:.4g} GHz", static_cast<double>(info.ticksPerSecond) / 1e9) : engines;
    const model::DeviceId id = recorder.add(std::move(device));
    ids.devices.push_back(id);
    if (ids.devices.size() <= kMostWholeChips && !info.lanes.empty())
      recordLane(recorder, ids, info, id, info.lanes.front());
    model::MemorySpaceId& first = ids.memory.emplace_back();
    for (const devices::MemorySpaceInfo& space : info.memory) {
      const model::MemorySpaceId added = recorder.add(model::MemorySpace{
          {}, id, space.kind, space.units, space.bytesPerUnit, space.interleavedStart, space.elementBytes});
      if (!first.valid()) first = added;
    }
  }
  const bool hosted = std::any_of(system.links().begin(), system.links().end(),
                                  [](const devices::LinkInfo& link) { return link.from < 0; });
  if (hosted) ids.host = recorder.add(model::MemorySpace{{}, {}, "host", 1, hostMemory, {}});
  for (const devices::LinkInfo& link : system.links())
    if (std::max(link.from, link.to) < static_cast<int>(kMostWholeChips)) recordLink(recorder, ids, link);
  return ids;
}

}  // namespace pipescope::emulate
