#include "engine/emulate/executable.h"

namespace pipescope::emulate {

SystemIds recordSystem(record::Recorder& recorder, const devices::System& system, int devicesUsed) {
  SystemIds ids;
  recorder.add(model::Target{system.name(), system.family(), system.description(),
                             static_cast<std::int64_t>(system.devices().size()), devicesUsed});
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
