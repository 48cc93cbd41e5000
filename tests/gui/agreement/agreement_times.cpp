#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "agreement_figures.h"

namespace pipescope::testing {

using base::Ticks;
using model::StepKind;
using nlohmann::json;

void expectStepTimesAgree(const Figures& of) {
  const double step = of["stages"]["step_cycles"].get<double>();
  const auto& spans = of.trace().iterations;
  ASSERT_FALSE(spans.empty());
  EXPECT_EQ(spans.size(), of.grids().size());
  EXPECT_NEAR(step, of.callTicks() / static_cast<double>(spans.size()), 1e-6 * step);
  EXPECT_NEAR(analysis::meanStepTime(spans), step, 1e-6 * step);
  double flush = 0;
  for (std::size_t i = 0; i < spans.size() && i < of.grids().size(); ++i) {
    const analysis::PipelineGrid& grid = of.grids()[i];
    EXPECT_NEAR(grid.meanStepTime, step, 1e-6 * step) << i;
    EXPECT_EQ(grid.span.start, spans[i].start) << i;
    EXPECT_EQ(grid.span.end, spans[i].end) << i;
    EXPECT_GE(grid.start, grid.span.start) << "a flush lies in its iteration";
    EXPECT_LE(grid.end, grid.span.end);
    flush += static_cast<double>((grid.end - grid.start).count) / static_cast<double>(spans.size());
  }
  EXPECT_NEAR(of["stages"]["flush_cycles"].get<double>(), flush, 1e-6 * flush);
  const json& stages = of["stages"];
  double sum = 0;
  for (const char* part : {"useful_cycles", "lost_fill_and_drain_cycles", "lost_imbalance_cycles",
                           "lost_exchange_update_host_cycles"})
    sum += stages[part].get<double>();
  EXPECT_NEAR(sum, step, 1e-6 * step);
}

void expectBusyAgrees(const Figures& of) {
  std::map<int, double> ofStages, ofGrid;  // ticks per iteration, keyed by device
  for (const analysis::StageReport& stage : of.stages().stages)
    ofStages[stage.device] += stage.busy * static_cast<double>(of.stages().microBatches);
  double idle = 0, flush = 0;
  for (const analysis::PipelineGrid& grid : of.grids()) {
    for (const analysis::PipelineRow& row : grid.rows) {
      const auto busy = static_cast<double>(row.busy.count);
      ofGrid[static_cast<int>(row.device.value)] += busy / static_cast<double>(of.grids().size());
      flush = static_cast<double>((grid.end - grid.start).count);
      idle += (1 - busy / flush) / static_cast<double>(grid.rows.size() * of.grids().size());
    }
  }
  // The parts of the bubble, from the phases that the pipeline page shows.
  double rampUp = 0, rampDown = 0;
  for (const analysis::PipelineGrid& grid : of.grids()) {
    const auto idleIn = [&](Ticks from, Ticks to) {
      std::int64_t idleTicks = (to - from).count * static_cast<std::int64_t>(grid.rows.size());
      for (const model::Placement& p : of.passes(grid.iteration))
        idleTicks -= std::max<std::int64_t>(0, (std::min(p.end, to) - std::max(p.start, from)).count);
      return static_cast<double>(idleTicks) /
             static_cast<double>((grid.end - grid.start).count * static_cast<std::int64_t>(grid.rows.size()));
    };
    rampUp += idleIn(grid.start, grid.rampUpEnd) / static_cast<double>(of.grids().size());
    rampDown += idleIn(grid.rampDownStart, grid.end) / static_cast<double>(of.grids().size());
  }
  EXPECT_NEAR(of["stages"]["bubble_ramp_up"].get<double>(), rampUp, 1e-6);
  EXPECT_NEAR(of["stages"]["bubble_ramp_down"].get<double>(), rampDown, 1e-6);
  ASSERT_EQ(ofStages.size(), ofGrid.size());
  for (const auto& [device, busy] : ofStages) EXPECT_NEAR(ofGrid[device], busy, 1e-6 * busy) << device;
  // Recorded passes of a device may overlap by rounding.
  EXPECT_NEAR(of["stages"]["bubble_fraction"].get<double>(), idle, of.catalog().measured() ? 1e-5 : 1e-6);
  EXPECT_EQ(of["stages"]["bubble_fraction"], of["summary"]["bubble_fraction"]);
  EXPECT_EQ(of["stages"]["imbalance"], of["summary"]["imbalance"]);
}

void expectTimesOfDevicesAgree(const Figures& of) {
  const std::vector<analysis::RangeStatistics> ranges = of.ranges();
  base::SilentProgress progress;
  const auto far =
      analysis::farStatistics(of.context().source, of.trace(), of.run().start, of.run().end, progress);
  ASSERT_TRUE(far.ok());
  const auto& devices = of.execution().devices;
  ASSERT_EQ(devices.size(), of["execution"]["devices"].size());
  double compute = 0, total = 0;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const analysis::DeviceExecution& device = devices[d];
    const auto index = of.trace().deviceIndex(model::DeviceId(device.index));
    const auto same = [&](const auto& row) { return row.device == index; };
    const auto range = std::ranges::find_if(ranges, same);
    ASSERT_NE(range, ranges.end()) << device.name;
    EXPECT_EQ(range->total, device.total) << device.name;
    EXPECT_EQ(range->idle, device.idle) << device.name;
    for (std::size_t kind = 0; kind < analysis::kStepKinds; ++kind) {
      EXPECT_NEAR(static_cast<double>(range->byKind[kind]), static_cast<double>(device.byKind[kind]),
                  kRounding)
          << device.name << ": " << model::toString(static_cast<StepKind>(kind));
    }
    const auto afar = std::ranges::find_if(*far, same);
    ASSERT_NE(afar, far->end());
    EXPECT_NEAR(static_cast<double>(afar->byKind[analysis::kindIndex(StepKind::compute)]),
                static_cast<double>(device.ofKind(StepKind::compute).count), kRounding)
        << device.name;
    EXPECT_NEAR(static_cast<double>(afar->idle.count), static_cast<double>(device.idle.count), 4 * kRounding)
        << device.name;
    std::int64_t sum = device.idle.count;
    for (const std::int64_t ticks : device.byKind) sum += ticks;
    EXPECT_EQ(sum, device.total.count) << device.name;
    EXPECT_LE(device.exposed, device.communicating) << device.name;
    EXPECT_NEAR(range->tileBalance, device.tileBalance, 1e-9) << device.name;
    EXPECT_NEAR(range->parallelEfficiency, device.parallelEfficiency, 1e-6) << device.name;
    EXPECT_EQ(range->streamIn, device.streamIn) << device.name;
    EXPECT_EQ(range->streamOut, device.streamOut) << device.name;
    EXPECT_EQ(range->globalIn, device.globalIn) << device.name;
    EXPECT_EQ(range->globalOut, device.globalOut) << device.name;
    EXPECT_EQ(afar->streamIn, device.streamIn) << device.name;
    EXPECT_EQ(afar->globalOut, device.globalOut) << device.name;
    if (!device.holdsStage) continue;
    Ticks waits = device.transfersAlone - device.transfersOutside;
    for (const auto& [cause, ticks] : device.waits) waits += ticks;
    EXPECT_EQ(waits, device.idle) << device.name << ": every idle moment is a wait with a cause";
    compute += static_cast<double>(device.ofKind(StepKind::compute).count);
    total += static_cast<double>(device.total.count);
  }
  double shares = 0;
  for (const auto& [name, share] : of["summary"]["time_shares"].items()) {
    shares += share.get<double>();
    EXPECT_GE(share.get<double>(), -1e-9) << name;
  }
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_NEAR(of["summary"]["time_shares"]["unknown"].get<double>(), 0, 1e-9)
      << "every gap of a device has a cause";
  EXPECT_NEAR(of["summary"]["time_shares"]["compute"].get<double>(), compute / total, 1e-9);
}

/// The waits of a device per iteration, from the table of stages and from the table of waits.
void expectWaitsAgree(const Figures& of) {
  std::map<int, double> ofDevices;
  for (const json& row : of["waits"]["waits"]) {
    ofDevices[row["device"].get<int>()] += row["cycles"].get<double>();
    EXPECT_NE(row["device"], row["waits_for_device"])
        << "a device waits for something else: " << row["sentence"];
  }
  for (const analysis::StageReport& stage : of.stages().stages) {
    double sum = 0;
    for (const auto& [cause, ticks] : stage.waits) sum += ticks;
    EXPECT_NEAR(ofDevices[stage.device], sum, 1e-6 * sum) << stage.deviceName;
  }
}

void expectEnginesAgree(const Figures& of) {
  for (const json& engine : of["engines"]["devices"]) {
    const json& devices = of["execution"]["devices"];
    const auto device =
        std::ranges::find_if(devices, [&](const json& each) { return each["index"] == engine["index"]; });
    ASSERT_NE(device, devices.end());
    const double total = (*device)["total_cycles"].get<double>();
    EXPECT_NEAR(engine["idle_share"].get<double>(), (*device)["idle_cycles"].get<double>() / total, 1e-9);
    EXPECT_NEAR(engine["any_busy"].get<double>() + engine["sync_share"].get<double>() +
                    engine["control_share"].get<double>() + engine["idle_share"].get<double>(),
                1, 1e-9);
    if (engine["nic_utilisation"].is_number()) {
      EXPECT_LE(engine["nic_utilisation"].get<double>() * total,
                engine["communication_cycles"].get<double>() * (1 + 1e-9))
          << "a NIC works only while something is sent";
    }
    EXPECT_LE(engine["exposed_communication_cycles"], engine["communication_cycles"]);
    double most = 0;
    for (const auto& [key, value] : engine.items()) {
      if (key.ends_with("_utilisation") && value.is_number()) most = std::max(most, value.get<double>());
    }
    EXPECT_GE(engine["any_busy"].get<double>() + engine["control_share"].get<double>(), most - 1e-6)
        << "no lane works longer than all together";
  }
}

void expectPathsAgree(const Figures& of) {
  const json& waits = of["waits"];
  EXPECT_EQ(waits["critical_path_cycles"].get<double>(), of.callTicks());
  double sum = 0;
  for (const char* part : {"compute", "exchange", "update", "memory", "host"})
    sum += waits["critical_path_" + std::string(part) + "_cycles"].get<double>();
  EXPECT_EQ(sum, of.callTicks());
  analysis::PathSums all;
  // Only recorded runs hold something outside their iterations.
  Ticks outside = of.run().end - of.run().start;
  for (const analysis::PipelineGrid& grid : of.grids()) {
    ASSERT_TRUE(grid.criticalKnown);
    EXPECT_EQ(grid.path.total(), grid.span.length());
    all.compute += grid.path.compute;
    all.host += grid.path.host;
    outside -= grid.span.length();
  }
  EXPECT_EQ(all.compute.count, waits["critical_path_compute_cycles"].get<std::int64_t>());
  EXPECT_TRUE(outside.count == 0 || of.catalog().measured());
  EXPECT_EQ((all.host + outside).count, waits["critical_path_host_cycles"].get<std::int64_t>());
  std::int64_t table = 0;
  for (const json& row : waits["critical_path"]) table += row["cycles"].get<std::int64_t>();
  EXPECT_EQ(table, waits["critical_path_cycles"].get<std::int64_t>());
}

void expectLimitingStagesAgree(const Figures& of) {
  EXPECT_EQ(of["summary"]["limiting_stage"], of["stages"]["limiting_stage"]);
  EXPECT_EQ(of["summary"]["slowest_stage"], of["stages"]["slowest_stage"]);
  const json& table = of["stages"]["stages"];
  double longest = 0;
  for (const json& stage : table) longest = std::max(longest, stage["occupied_cycles"].get<double>());
  for (const json& stage : table) {
    EXPECT_GE(stage["occupied_cycles"].get<double>(), stage["busy_cycles"].get<double>() * (1 - 1e-12));
    EXPECT_EQ(stage["limits"].get<bool>(), stage["occupied_cycles"].get<double>() >= 0.99 * longest);
    if (stage["index"] == of["stages"]["limiting_stage"]) {
      EXPECT_EQ(stage["occupied_cycles"].get<double>(), longest);
    }
  }
  for (const json& row : of["stages"]["slowest_operations"])
    EXPECT_EQ(row["stage"], of["stages"]["limiting_stage"]);
}

}  // namespace pipescope::testing
