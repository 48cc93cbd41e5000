#pragma once
// Rows that say how a run was started and on which system.
#include <cstdint>
#include <string>

#include "profiler/model/row_declaration.h"

namespace pipescope::model {

/// The second part of a key is a number if the fact is about an executable: "replay.0.schedule" is of the
/// executable with the id 0.
struct Property {
  std::string key, value;
  PIPESCOPE_ROW("property", plain,
                "Facts about the profile: tool_version, created_utc, command_line, device_model …") {
    visit("key", row.key, "", "name of the fact");
    visit("value", row.value, "", "the fact as text");
  }
};

/// The number of calls of an executable that the run plans: readers of a profile that still grows show it.
inline Property plannedCallsProperty(ExecutableId id, std::int64_t calls) {
  return {"planned_calls." + std::to_string(id.value), std::to_string(calls)};
}

/// The title of the lanes of this role: "lane.matrix" is "MME" if the devices are Gaudis.
inline Property laneTitleProperty(LaneRole role, std::string title) {
  return {"lane." + toString(role), std::move(title)};
}

struct ConfigurationEntry {
  std::string path, value, origin;
  PIPESCOPE_ROW("configuration", plain, "Every option the run used, with where its value came from") {
    visit("path", row.path, "", "key as in the TOML file, e.g. training.gradient_accumulation");
    visit("value", row.value, "", "value as TOML");
    visit("origin", row.origin, "", "default, derived, model, file, environment or flag");
  }
};

struct Target {
  std::string name, family, description;
  std::int64_t devices = 0, devicesUsed = 0;
  TickMeaning tickMeaning = TickMeaning::clockCycle;
  PIPESCOPE_ROW("target", plain, "The emulated system") {
    visit("name", row.name, "", "system name, e.g. pod4");
    visit("family", row.family, "", "kind of device model that emulated it, e.g. ipu");
    visit("description", row.description, "", "one line for people");
    visit("devices", row.devices, "", "devices of the partition");
    visit("devices_used", row.devicesUsed, "", "devices that hold a stage");
    visit("tick_meaning", row.tickMeaning, "", "TickMeaning: what a tick of its devices stands for");
  }
};

struct Device {
  DeviceId id;
  std::string kind, name;
  std::int64_t ticksPerSecond = 1'000'000;
  std::int64_t units = 1;
  std::string unitName, clock;
  PIPESCOPE_ROW("device", plain, "One accelerator") {
    visit("id", row.id, "", "");
    visit("kind", row.kind, "", "chip, e.g. mk2");
    visit("name", row.name, "", "e.g. IPU0");
    visit("ticks_per_second", row.ticksPerSecond, "1/s", "timebase of all ticks of this device");
    visit("units", row.units, "", "parallel units: tiles, cores");
    visit("unit_name", row.unitName, "", "tile, core …");
    visit("clock", row.clock, "", "clock of the chip or of its engines, for people; empty: not modelled");
  }
};

struct Link {
  LinkId id;
  DeviceId from, to;
  std::string name;
  double bytesPerSecond = 0;
  PIPESCOPE_ROW("link", plain, "A directed connection between two devices, or host (none) and a device") {
    visit("id", row.id, "", "");
    visit("from_device", row.from, "", "none: the host");
    visit("to_device", row.to, "", "none: the host");
    visit("name", row.name, "", "");
    visit("bytes_per_second", row.bytesPerSecond, "B/s", "capacity in this direction; 0: not modelled");
  }
};

struct Lane {
  LaneId id;
  DeviceId device;
  std::string name;
  LaneRole role = LaneRole::compute;
  ClockDomain clock = ClockDomain::emulated;
  PIPESCOPE_ROW("lane", plain, "A row of a timeline; what lies on one lane never overlaps") {
    visit("id", row.id, "", "");
    visit("device", row.device, "", "none: the host");
    visit("name", row.name, "", "");
    visit("role", row.role, "", "LaneRole");
    visit("clock", row.clock, "", "emulated or wall");
  }
};

struct MemorySpace {
  MemorySpaceId id;
  DeviceId device;
  std::string kind;
  std::int64_t units = 1;
  Bytes bytesPerUnit;
  Bytes interleavedStart;
  Bytes elementBytes = {};
  PIPESCOPE_ROW("memory_space", plain,
                "Memory of one kind on one device: 1,472 tiles of 624 KiB, one HBM …") {
    visit("id", row.id, "", "");
    visit("device", row.device, "", "none: the host");
    visit("kind", row.kind, "", "tile_memory, hbm, streaming_memory …");
    visit("units", row.units, "", "how many equal units");
    visit("bytes_per_unit", row.bytesPerUnit, "B", "capacity of one unit");
    visit("interleaved_start", row.interleavedStart, "B", "address where interleaved memory begins; 0: none");
    visit("element_bytes", row.elementBytes, "B", "of a memory element; 0: the memory has none");
  }
};

}  // namespace pipescope::model
