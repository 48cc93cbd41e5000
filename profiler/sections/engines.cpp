// What each lane of a device does: an IPU's compute, exchange and host; a Gaudi's MME, TPC, DMA, NIC and
// host.
#include "profiler/analysis/pipeline/engines.h"
#include "profiler/analysis/device_places.h"

#include <set>

#include "profiler/sections/section.h"

namespace pipescope::sections {
namespace {

using analysis::DeviceEngines;
using base::Ticks;
using model::LaneRole;

std::string headingOf(LaneRole role) {
  std::string name = analysis::laneTitle(role);
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

std::string enginesKeyOf(LaneRole role) {
  std::string key = model::toString(role) + "_utilisation";
  for (char& c : key) c = c == ' ' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return key;
}

Cell share(Ticks part, Ticks whole) {
  if (whole.count <= 0) return {};
  return static_cast<double>(part.count) / static_cast<double>(whole.count);
}

Table tableOf(const std::vector<DeviceEngines>& devices, const analysis::Catalog& catalog) {
  std::set<LaneRole> roles;
  for (const DeviceEngines& device : devices) {
    for (const model::Lane& lane : catalog.lanes) {
      if (lane.device.value == device.device && lane.clock == model::ClockDomain::emulated)
        roles.insert(lane.role);
    }
  }
  Table table{"devices", "Engines", "share of the last call, one replica", {}, {}};
  table.columns = {{"index", "Device", Format::plain, ""},
                   {"name", "Name", Format::plain, ""},
                   {"total_cycles", "Total", Format::ticks, ""}};
  for (const LaneRole role : roles)
    table.columns.push_back({enginesKeyOf(role), headingOf(role), Format::fraction, "lane busy ÷ total"});
  table.columns.push_back({"any_busy", "Any engine", Format::fraction,
                           "union of the engines' work ÷ total, without communication"});
  table.columns.push_back(
      {"communication_cycles", "Communication", Format::ticks, "union of transfers and collectives"});
  table.columns.push_back(
      {"exposed_communication_cycles", "Exposed", Format::ticks, "waiting for transfers and collectives"});
  table.columns.push_back({"exposed_share", "Exposed share", Format::fraction, "of total"});
  for (const DeviceEngines& device : devices) {
    std::vector<Cell> row = {static_cast<std::int64_t>(device.device),
                             catalog.devices[static_cast<std::size_t>(device.device)].name,
                             device.total.count};
    for (const LaneRole role : roles) {
      const auto found = device.busy.find(role);
      row.push_back(share(found == device.busy.end() ? Ticks(0) : found->second, device.total));
    }
    row.push_back(share(device.anyBusy, device.total));
    row.push_back(device.communicating.count);
    row.push_back(device.exposed.count);
    row.push_back(share(device.exposed, device.total));
    table.rows.push_back(std::move(row));
  }
  return table;
}

base::Result<Section> makeEngines(const Context& context) {
  PIPESCOPE_ASSIGN(const std::vector<DeviceEngines> devices,
                   analysis::engines(context.source, context.catalog, context.executable));
  Section section{"engines", "Engines", {}, {tableOf(devices, context.catalog)}, {}};
  if (devices.empty()) section.remarks.push_back("Nothing has run, or the run recorded no placements.");
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(engines) {
  registry.add({"engines", "Engines",
                "Utilisation of each engine per device, communication and how much of it is exposed", 25,
                makeEngines});
}

}  // namespace pipescope::sections
