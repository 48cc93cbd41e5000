#include <fmt/format.h>

#include "profiler/sections/reports.h"
#include "profiler/sections/words.h"

namespace pipescope::sections {
namespace {

using analysis::DeviceExecution;
using analysis::Execution;
using model::StepKind;

std::int64_t executionTicksOf(const DeviceExecution& device, StepKind kind) {
  const auto found = device.byKind.find(kind);
  return found == device.byKind.end() ? 0 : found->second.count;
}

std::string executionKeyOf(std::string name) {
  for (char& c : name) c = c == ' ' ? '_' : c;
  return name;
}

template <class Map>
Breakdown executionParts(const Map& map) {
  Breakdown result;
  for (const auto& [key, ticks] : map)
    result.emplace_back(executionKeyOf(model::toString(key)), static_cast<double>(ticks.count));
  return result;
}

constexpr std::pair<StepKind, const char*> kKinds[] = {{StepKind::compute, "compute_cycles"},
                                                       {StepKind::exchange, "exchange_cycles"},
                                                       {StepKind::sync, "sync_cycles"},
                                                       {StepKind::streamCopy, "stream_copy_cycles"},
                                                       {StepKind::globalExchange, "global_exchange_cycles"}};

std::vector<Fact> executionFacts(const Execution& e, const Words& words) {
  std::vector<Fact> list = {
      {"total_cycles", words.timed("Total"), e.total.count, Format::ticks,
       "Length of the last call in ticks of device 0, from the host's call until the last device has "
       "finished."},
      {"time_us", "Time, µs", e.seconds * 1e6, Format::plain, "The same span in emulated microseconds.",
       std::string_view(words.time.unit) != "µs"},
      {"samples", "Samples", e.samples, Format::count, "Samples that the call consumes in one replica."},
      {"samples_per_second", "Samples per second", e.samplesPerSecond, Format::rate,
       "Samples ÷ time: the speed of the emulated system."},
  };
  if (!words.tiles || e.devices.empty()) return list;
  for (const auto& [kind, key] : kKinds) {
    std::int64_t sum = 0;
    for (const DeviceExecution& device : e.devices) sum += executionTicksOf(device, kind);
    list.push_back({key, words.timed("  " + model::toString(kind)), sum, Format::ticks, "Sum over devices."});
  }
  double balance = 0, withWork = 0;
  for (const DeviceExecution& device : e.devices) {
    if (device.tileBalance <= 0) continue;
    balance += device.tileBalance;
    ++withWork;
  }
  list.push_back({"tile_balance", "Tile balance", withWork > 0 ? Cell(balance / withWork) : Cell(),
                  Format::fraction, "Mean over devices and compute steps of mean ÷ slowest tile's cycles."});
  return list;
}

Table executionDeviceTable(const Execution& e, const Words& words) {
  Table table{"devices", "Devices", words.basis("last call, one replica"), {}, {}};
  table.columns = {{"index", "Device", Format::plain, ""},
                   {"name", "Name", Format::plain, ""},
                   {"kind", "Kind", Format::plain, ""},
                   {"clock_hz", "Clock", Format::count, "ticks per second", words.time.isCycles()},
                   {"total_cycles", "Total", Format::ticks, ""},
                   {"idle_cycles", "Idle", Format::ticks, "time without work and without transfers"},
                   {"by_lane", "By lane", Format::ticks, "", !words.tiles},
                   {"by_kind", "By kind", Format::ticks, "", !words.tiles}};
  if (words.tiles) {
    for (const auto& [kind, key] : kKinds)
      table.columns.push_back({key, model::toString(kind), Format::ticks, ""});
    table.columns.push_back(
        {"tile_balance", "Tile balance", Format::fraction, "mean over compute steps of mean ÷ slowest tile"});
    table.columns.push_back(
        {"parallel_efficiency", "Efficiency", Format::fraction, "compute tile-cycles ÷ (tiles × total)"});
  }
  for (const DeviceExecution& d : e.devices) {
    std::vector<Cell> row = {static_cast<std::int64_t>(d.index),
                             d.name,
                             d.kind,
                             d.clockHz,
                             d.total.count,
                             d.idle.count,
                             executionParts(d.byLane),
                             executionParts(d.byKind)};
    if (words.tiles) {
      for (const auto& [kind, key] : kKinds) row.push_back(executionTicksOf(d, kind));
      row.push_back(d.tileBalance);
      row.push_back(d.parallelEfficiency);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table trafficTable(const Execution& e) {
  Table table{"traffic", "Traffic", "bytes of the last call, one replica", {}, {}};
  table.columns = {
      {"index", "Device", Format::plain, ""},
      {"stream_in_bytes", "Stream Rx", Format::bytes, "from the host"},
      {"stream_out_bytes", "Stream Tx", Format::bytes, "to the host"},
      {"exchange_bytes", "Exchange", Format::bytes, "received over the on-chip exchange, sum over units"},
      {"global_in_bytes", "Global Rx", Format::bytes, "from other devices"},
      {"global_out_bytes", "Global Tx", Format::bytes, "to other devices"}};
  for (const DeviceExecution& d : e.devices) {
    table.rows.push_back({static_cast<std::int64_t>(d.index), d.streamIn.count, d.streamOut.count,
                          d.exchangeIn.count, d.globalIn.count, d.globalOut.count});
  }
  return table;
}

base::Result<Section> makeExecution(const Context& context) {
  PIPESCOPE_ASSIGN(const auto made, executionOf(context));
  const Execution& e = *made;
  const Words words = wordsOf(context.catalog);
  Section section{"execution",
                  "Execution",
                  executionFacts(e, words),
                  {executionDeviceTable(e, words), trafficTable(e)},
                  {}};
  if (e.replicasNotRecorded > 0) {
    section.remarks.push_back(
        fmt::format("The profile leaves out {} replica{} because {} the same as a recorded one. Run with "
                    "--record-replicas all to record every replica.",
                    e.replicasNotRecorded, e.replicasNotRecorded == 1 ? "" : "s",
                    e.replicasNotRecorded == 1 ? "it does" : "they do"));
  }
  if (e.devices.empty()) section.remarks.push_back("Nothing has run, or the run recorded no placements.");
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(execution) {
  registry.add({"execution", "Execution",
                "Time per device by kind of step and by lane, idle time, traffic, samples per second", 20,
                makeExecution});
}

}  // namespace pipescope::sections
