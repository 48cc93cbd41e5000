#include <fmt/format.h>

#include <algorithm>

#include "profiler/sections/frame/figure_facts.h"
#include "profiler/sections/frame/words.h"
#include "profiler/sections/out_of_memory.h"

namespace pipescope::sections {
namespace {

using analysis::DeviceExecution;
using analysis::Execution;
using model::StepKind;

/// Without steps, a pass counts as one step of its own kind: nothing is known of exchange within it.
bool knows(const Recorded& recorded, StepKind kind) {
  return recorded.placements && (recorded.steps || kind != StepKind::exchange);
}

/// The ticks of every kind of step, also of those that the device never does.
Breakdown partsByKind(const DeviceExecution& device, const Recorded& recorded) {
  Breakdown parts;
  for (int i = 0; i <= static_cast<int>(StepKind::remoteCopy); ++i) {
    const auto kind = static_cast<StepKind>(i);
    parts.emplace_back(model::toString(kind),
                       knows(recorded, kind) ? Amount(device.ofKind(kind).count) : Amount());
  }
  return parts;
}

/// The ticks of every lane. A lane that the device does not have has no value.
Breakdown partsByLane(const DeviceExecution& device, const analysis::Catalog& catalog, bool placed) {
  Breakdown parts;
  for (int i = 0; i <= static_cast<int>(model::LaneRole::network); ++i) {
    const auto role = static_cast<model::LaneRole>(i);
    const auto found = device.byLane.find(role);
    const bool has = std::any_of(catalog.lanes.begin(), catalog.lanes.end(), [&](const model::Lane& lane) {
      return lane.device.value == device.index && lane.role == role;
    });
    const std::int64_t ticks = found == device.byLane.end() ? 0 : found->second.count;
    parts.emplace_back(model::laneKey(role), placed && (has || ticks != 0) ? Amount(ticks) : Amount());
  }
  return parts;
}

/// Titles of lanes, which each kind of device has its own ones of: MME on a Gaudi, matrix on another card.
std::map<std::string, std::string> laneTitles(const analysis::Catalog& catalog) {
  std::map<std::string, std::string> titles;
  for (int i = 0; i <= static_cast<int>(model::LaneRole::network); ++i) {
    const auto role = static_cast<model::LaneRole>(i);
    titles[model::laneKey(role)] = catalog.laneTitle(role);
  }
  return titles;
}

constexpr std::pair<StepKind, const char*> kKinds[] = {{StepKind::compute, "compute_cycles"},
                                                       {StepKind::exchange, "exchange_cycles"},
                                                       {StepKind::sync, "sync_cycles"},
                                                       {StepKind::streamCopy, "stream_copy_cycles"},
                                                       {StepKind::globalExchange, "global_exchange_cycles"},
                                                       {StepKind::remoteCopy, "remote_copy_cycles"}};

/// Most programs load nothing from streaming memory, so its column stands only where one does.
bool showsKind(const Execution& e, const Words& words, StepKind kind) {
  return words.tiles &&
         (kind != StepKind::remoteCopy || std::ranges::any_of(e.devices, [](const DeviceExecution& device) {
            return device.ofKind(StepKind::remoteCopy).count > 0;
          }));
}

/// The sum of a kind of step over the devices, or nothing: these devices have no tiles, or nothing ran.
Cell kindSum(const Execution& e, const Words& words, const Recorded& recorded, StepKind kind) {
  if (!words.tiles || !knows(recorded, kind)) return {};
  std::int64_t sum = 0;
  for (const DeviceExecution& device : e.devices) sum += device.ofKind(kind).count;
  return sum;
}

Cell meanTileBalance(const Execution& e) {
  double balance = 0, withWork = 0;
  for (const DeviceExecution& device : e.devices) {
    if (device.tileBalance <= 0) continue;
    balance += device.tileBalance;
    ++withWork;
  }
  return withWork > 0 ? Cell(balance / withWork) : Cell();
}

std::vector<Fact> executionFacts(const figures::Analyses& from, const Words& words,
                                 const Recorded& recorded) {
  const Execution& e = *from.execution;
  const bool ran = e.total.count > 0, samples = e.samples > 0;
  std::vector<Fact> list = {
      {"total_cycles", "Total", ran ? Cell(e.total.count) : Cell(), Format::ticks,
       "Length of the last call in ticks of device 0, from the host's call until the last device has "
       "finished."},
      {"time_us", "Time, µs", ran ? Cell(e.seconds * 1e6) : Cell(), Format::number,
       "The same span in emulated microseconds. Where the configuration states costs, a cost unit counts as "
       "a second.",
       words.time.isCycles()},
      factOf("hypothetical", from),
      {"samples", "Samples", samples ? Cell(e.samples) : Cell(), Format::count,
       "Samples that the call consumes, over all replicas.", samples || !ran},
      factOf("samples_per_second", from),
      factOf("tokens_per_second", from),
  };
  const auto named = [&](const char* key) -> Fact& { return *std::ranges::find(list, key, &Fact::key); };
  named("hypothetical").inText = false;
  named("samples_per_second").inText = samples || !ran;
  named("tokens_per_second").inText =
      !std::holds_alternative<std::monostate>(named("tokens_per_second").value);
  for (const auto& [kind, key] : kKinds)
    list.push_back({key, "  " + model::toString(kind), kindSum(e, words, recorded, kind), Format::ticks,
                    "Sum over devices; only where devices consist of tiles.", showsKind(e, words, kind)});
  list.push_back({"tile_balance", "Tile balance", words.tiles ? meanTileBalance(e) : Cell(), Format::fraction,
                  "Mean over devices and compute steps of mean ÷ slowest tile's cycles.", words.tiles});
  return list;
}

SectionTable executionDeviceTable(const Execution& e, const analysis::Catalog& catalog, const Words& words,
                                  const Recorded& recorded) {
  SectionTable table{"devices", "Devices", words.basis("last call, one replica"), {}, {}};
  table.columns = {{"index", "Device", Format::index, ""},
                   {"name", "Name", Format::plain, ""},
                   {"kind", "Kind", Format::plain, ""},
                   {"clock_hz", "Clock", Format::count, "ticks per second", words.time.isCycles()},
                   {"total_cycles", "Total", Format::ticks, ""},
                   {"idle_cycles", "Idle", Format::ticks, "time without work and without transfers"},
                   {"by_lane", "By lane", Format::ticks, "time in which each lane works; lanes may overlap",
                    !words.tiles, laneNames(), laneTitles(catalog)},
                   {"by_kind", "By kind", Format::ticks,
                    "every moment counts once, so the kinds and idle add up to the total; control is time of "
                    "passes in which no lane computes or moves data",
                    !words.tiles, stepKindNames()}};
  for (const auto& [kind, key] : kKinds)
    table.columns.push_back({key, model::toString(kind), Format::ticks, "", showsKind(e, words, kind)});
  table.columns.push_back({"tile_balance", "Tile balance", Format::fraction,
                           "mean over compute steps of mean ÷ slowest tile", words.tiles});
  table.columns.push_back({"parallel_efficiency", "Efficiency", Format::fraction,
                           "compute tile-cycles ÷ (tiles × total)", words.tiles});
  for (const DeviceExecution& d : e.devices) {
    std::vector<Cell> row = {static_cast<std::int64_t>(d.index),
                             d.name,
                             d.kind,
                             d.clockHz,
                             d.total.count,
                             recorded.placements ? Cell(d.idle.count) : Cell(),
                             partsByLane(d, catalog, recorded.placements),
                             partsByKind(d, recorded)};
    for (const auto& [kind, key] : kKinds)
      row.push_back(words.tiles && knows(recorded, kind) ? Cell(d.ofKind(kind).count) : Cell());
    row.push_back(words.tiles && d.tileBalance > 0 ? Cell(d.tileBalance) : Cell());
    row.push_back(words.tiles && recorded.steps && recorded.placements ? Cell(d.parallelEfficiency) : Cell());
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Most traces of other tools do not state bytes.
bool statesTraffic(const Execution& e, const analysis::Catalog& catalog) {
  return !catalog.measured() || std::ranges::any_of(e.devices, [](const DeviceExecution& d) {
    const base::Bytes all[] = {d.streamIn, d.streamOut, d.exchangeIn, d.globalIn, d.globalOut};
    return std::ranges::any_of(all, [](base::Bytes bytes) { return bytes.count > 0; });
  });
}

/// A recorded trace, or a configuration of costs, states the sizes of some transfers only, so no bytes mean
/// there that nothing is known.
SectionTable trafficTable(const Execution& e, const Words& words, const Recorded& recorded, bool measured) {
  SectionTable table{"traffic", "Traffic", "bytes of the last call, one replica", {}, {}};
  table.columns = {
      {"index", "Device", Format::index, ""},
      {"name", "Name", Format::plain, "", false},
      {"stream_in_bytes", "Stream Rx", Format::bytes, "from the host"},
      {"stream_out_bytes", "Stream Tx", Format::bytes, "to the host"},
      {"exchange_bytes", "Exchange", Format::bytes, "received over the on-chip exchange, sum over units"},
      {"global_in_bytes", "Global Rx", Format::bytes, "from other devices"},
      {"global_out_bytes", "Global Tx", Format::bytes, "to other devices"}};
  for (const DeviceExecution& d : e.devices) {
    std::vector<Cell> row = {static_cast<std::int64_t>(d.index), d.name};
    const auto cell = [&](base::Bytes bytes, bool isKnown) {
      return isKnown && (bytes.count > 0 || (words.bytes && !measured)) ? Cell(bytes.count) : Cell();
    };
    for (const base::Bytes bytes : {d.streamIn, d.streamOut, d.exchangeIn})
      row.push_back(cell(bytes, recorded.placements && recorded.steps));
    for (const base::Bytes bytes : {d.globalIn, d.globalOut}) row.push_back(cell(bytes, recorded.placements));
    table.rows.push_back(std::move(row));
  }
  return table;
}

base::Result<Section> makeExecution(const Context& context) {
  PIPESCOPE_ASSIGN(const auto made, executionOf(context));
  PIPESCOPE_ASSIGN(const auto memory, memoryOf(context));
  const Execution& e = *made;
  const figures::Analyses analyses{.catalog = &context.catalog,
                                   .executable = context.executable,
                                   .execution = made.get(),
                                   .memory = memory.get()};
  const Words words = wordsOf(context.catalog);
  PIPESCOPE_ASSIGN(const Recorded recorded, recordedOf(context));
  const bool hypothetical = !figures::fitsInMemory(*analyses.memory);
  Section section{"execution",
                  "Execution",
                  executionFacts(analyses, words, recorded),
                  {executionDeviceTable(e, context.catalog, words, recorded),
                   trafficTable(e, words, recorded, context.catalog.measured())},
                  {}};
  if (!statesTraffic(e, context.catalog))
    section.remarks.push_back(
        "The trace does not state how many bytes were moved, so the traffic is not known.");
  if (e.replicasNotRecorded > 0) {
    section.remarks.push_back(
        fmt::format("The profile leaves out {} replica{} because {} the same as a recorded one. Run with "
                    "--record-replicas all to record every replica.",
                    e.replicasNotRecorded, e.replicasNotRecorded == 1 ? "" : "s",
                    e.replicasNotRecorded == 1 ? "it does" : "they do"));
  }
  if (e.ranksNotRecorded > 0)
    section.remarks.push_back(fmt::format(
        "Each device stands for {} that share the work of its place. They do equal work at equal times.",
        context.catalog.widthOf(context.executable)));
  if (hypothetical) section.remarks.push_back(kHypothetical);
  if (e.total.count <= 0) {
    lack(section, kNothingRan);
  } else if (!recorded.placements) {
    lack(section, nothingPlaced(context.catalog));
  } else if (!recorded.steps) {
    lack(section, kNoSteps);
  }
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(execution) {
  registry.add({"execution", "Execution",
                "Time per device by kind of step and by lane, idle time, traffic, samples per second", 20,
                makeExecution});
}

}  // namespace pipescope::sections
