#include <algorithm>
#include <set>

#include "engine/devices/core/bands.h"
#include "engine/emulate/executable.h"
#include "profiler/base/check.h"

namespace pipescope::emulate {
namespace {

/// Records what the figures of these kinds of device were checked against and how large their errors were,
/// under keys such as "band.mk2.convolution.cycles". A kind of layer without an entry is unchecked, and so is
/// the division of the time of a layer into its passes.
void recordBands(record::Recorder& recorder, const std::set<std::string>& kinds) {
  const base::Result<std::vector<devices::Band>> bands = devices::embeddedBands();
  PIPESCOPE_CHECK(bands.ok(), "the program's own error bands cannot be read");
  for (const devices::Band& band : *bands) {
    if (kinds.contains(band.device))
      recorder.add(
          model::Property{"band." + band.device + "." + band.kind + "." + band.quantity, band.describe()});
  }
}

}  // namespace

SystemIds recordSystem(record::Recorder& recorder, const devices::System& system, int devicesUsed) {
  SystemIds ids;
  recorder.add(model::Target{system.name(), system.family(), system.description(),
                             static_cast<std::int64_t>(system.devices().size()), devicesUsed});
  std::set<std::string> kinds;
  for (const devices::DeviceInfo& info : system.devices()) kinds.insert(info.kind);
  recordBands(recorder, kinds);
  for (const devices::Figure& figure : system.figures()) {
    const std::string space = figure.unit.empty() ? "" : " ";
    recorder.add(model::Property{"figure." + figure.name, figure.value + space + figure.unit + "; grade " +
                                                              figure.grade + "; " + figure.source});
  }
  for (const devices::DeviceInfo& info : system.devices()) {
    model::Device device;
    device.kind = info.kind;
    device.name = info.name;
    device.ticksPerSecond = info.ticksPerSecond;
    device.units = info.units;
    device.unitName = info.unitName;
    const model::DeviceId id = recorder.add(device);
    ids.devices.push_back(id);
    auto& lanes = ids.lanes.emplace_back();
    for (const model::LaneRole role : info.lanes) {
      model::Lane lane;
      lane.device = id;
      lane.name = info.name + " " + model::toString(role);
      lane.role = role;
      lanes[role] = recorder.add(lane);
    }
    auto& spaces = ids.memory.emplace_back();
    for (const devices::MemorySpaceInfo& space : info.memory) {
      spaces.push_back(recorder.add(
          model::MemorySpace{{}, id, space.kind, space.units, space.bytesPerUnit, space.interleavedStart}));
    }
  }
  const bool hosted = std::any_of(system.links().begin(), system.links().end(),
                                  [](const devices::LinkInfo& link) { return link.from < 0; });
  if (hosted) ids.host = recorder.add(model::MemorySpace{{}, {}, "host", 1, {}, {}});
  for (const devices::LinkInfo& link : system.links()) {
    const auto device = [&](int index) {
      return index < 0 ? model::DeviceId() : ids.devices[static_cast<std::size_t>(index)];
    };
    ids.links[{link.from, link.to}] =
        recorder.add(model::Link{{}, device(link.from), device(link.to), link.name, link.bytesPerSecond});
  }
  return ids;
}

}  // namespace pipescope::emulate
