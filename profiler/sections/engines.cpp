// The section on how busy each lane of a device is.
#include <set>

#include "profiler/analysis/pipeline/execution.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {
namespace {

using analysis::DeviceExecution;
using base::Ticks;
using model::LaneRole;

std::string headingOf(const analysis::Catalog& catalog, LaneRole role) {
  std::string name = catalog.laneTitle(role);
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

std::string enginesKeyOf(LaneRole role) {
  return model::laneKey(role) + "_utilisation";
}

Cell share(Ticks part, Ticks whole) {
  if (whole.count <= 0) return {};
  return static_cast<double>(part.count) / static_cast<double>(whole.count);
}

SectionTable enginesTable(const std::vector<DeviceExecution>& devices, const analysis::Catalog& catalog) {
  // Every profile has all columns. Those of lanes that no device has are empty.
  std::set<LaneRole> roles;
  for (const DeviceExecution& device : devices) {
    for (const model::Lane& lane : catalog.lanes) {
      if (lane.device.value == device.index && lane.clock == model::ClockDomain::emulated)
        roles.insert(lane.role);
    }
  }
  // Recorded engines stand beside a lane of passes, which holds nothing if none were recognised.
  const bool computes = std::any_of(devices.begin(), devices.end(), [](const DeviceExecution& device) {
    const auto found = device.byLane.find(LaneRole::compute);
    return found != device.byLane.end() && found->second.count > 0;
  });
  if (catalog.measured() && roles.size() > 1 && !computes) roles.erase(LaneRole::compute);
  constexpr LaneRole kRoles[] = {LaneRole::compute, LaneRole::exchange, LaneRole::host,   LaneRole::matrix,
                                 LaneRole::vector,  LaneRole::copy,     LaneRole::network};
  SectionTable table{
      "devices", "Engines", wordsOf(catalog).basis("share of the last call, one replica"), {}, {}};
  table.columns = {{"index", "Device", Format::index, ""},
                   {"name", "Name", Format::plain, ""},
                   {"total_cycles", "Total", Format::ticks, ""}};
  for (const LaneRole role : kRoles)
    table.columns.push_back({enginesKeyOf(role), headingOf(catalog, role), Format::fraction,
                             "time in which the lane works ÷ total, without waiting for a sync; of a "
                             "recorded accelerator, compute is "
                             "the time in which a kernel runs that does not communicate",
                             roles.contains(role)});
  for (const SectionColumn& column :
       {SectionColumn{"any_busy", "Any engine", Format::fraction,
                      "time in which at least one lane computes or moves data ÷ total"},
        SectionColumn{"sync_share", "Sync", Format::fraction,
                      "time in which the device does nothing but synchronise with others ÷ total"},
        SectionColumn{
            "control_share", "Control", Format::fraction,
            "time of passes in which no lane does, for example while the host starts a copy ÷ total"},
        SectionColumn{"idle_share", "Idle", Format::fraction,
                      "time without passes and transfers ÷ total; the four add up to 1"},
        SectionColumn{"communication_cycles", "Communication", Format::ticks,
                      "time in which a transfer or collective goes on, from its launch to its end"},
        SectionColumn{"exposed_communication_cycles", "Exposed", Format::ticks,
                      "part of it in which the device does nothing else"}})
    table.columns.push_back(column);
  table.columns.push_back({"exposed_share", "Exposed share", Format::fraction, "of total"});
  for (const DeviceExecution& device : devices) {
    std::vector<Cell> row = {static_cast<std::int64_t>(device.index), device.name, device.total.count};
    for (const LaneRole role : kRoles) {
      const auto found = device.byLane.find(role);
      const Ticks busy = found == device.byLane.end() ? Ticks(0) : found->second;
      row.push_back(roles.contains(role) ? share(busy, device.total) : Cell());
    }
    const Ticks control = device.ofKind(model::StepKind::control),
                sync = device.ofKind(model::StepKind::sync);
    row.push_back(share(device.total - device.idle - control - sync, device.total));
    row.push_back(share(sync, device.total));
    row.push_back(share(control, device.total));
    row.push_back(share(device.idle, device.total));
    row.push_back(device.communicating.count);
    row.push_back(device.exposed.count);
    row.push_back(share(device.exposed, device.total));
    table.rows.push_back(std::move(row));
  }
  hideUnused(table, {"sync_share", "control_share", "communication_cycles", "exposed_communication_cycles",
                     "exposed_share"});
  return table;
}

base::Result<Section> makeEngines(const Context& context) {
  PIPESCOPE_ASSIGN(const auto execution, executionOf(context));
  std::vector<DeviceExecution> devices = execution->devices;
  std::erase_if(devices, [](const DeviceExecution& device) { return !device.placed; });
  // Kernels tell which time of a recorded accelerator is communication.
  PIPESCOPE_ASSIGN(const auto recorded, acceleratorsOf(context));
  for (const analysis::AcceleratorTimes& times : recorded->devices)
    for (DeviceExecution& device : devices)
      if (device.index == times.device.value && times.communication.count > 0) {
        device.communicating = times.communication;
        device.exposed = times.exposedCommunication;
      }
  // Several streams of an accelerator compute, copy and communicate beside each other.
  for (const analysis::AcceleratorTimes& times : recorded->devices)
    for (DeviceExecution& device : devices)
      if (device.index == times.device.value && times.count > 0)
        device.byLane[LaneRole::compute] = times.compute;
  Section section{"engines", "Engines", {}, {enginesTable(devices, context.catalog)}, {}};
  if (execution->total.count <= 0) {
    lack(section, kNothingRan);
  } else if (devices.empty()) {
    lack(section, nothingPlaced(context.catalog));
  }
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(engines) {
  registry.add(
      {"engines", "Engines",
       "How much of the time each engine of a device works, and which communication other work does not hide",
       25, makeEngines});
}

}  // namespace pipescope::sections
