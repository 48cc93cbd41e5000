// The published tables of schedules, read back from a profile.pop.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "profiler/analysis/pipeline/stages.h"
#include "profiler/analysis/pipeline/waits.h"
#include "recorded_schedule.h"

namespace pipescope::tests {
namespace {

struct CycleTable {
  int stages = 0, microBatches = 0;
  bool training = true;
  std::vector<std::vector<std::string>> cells;
};

std::vector<CycleTable> readCycleTables() {
  std::ifstream file(std::string(PIPESCOPE_TEST_DATA) + "/popart_cycles.txt");
  std::vector<CycleTable> tables;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word[0] == '#') continue;
    if (word == "table") {
      std::string kind;
      tables.emplace_back();
      words >> tables.back().stages >> tables.back().microBatches >> kind;
      tables.back().training = kind == "training";
      continue;
    }
    tables.back().cells.emplace_back();
    do tables.back().cells.back().push_back(word);
    while (words >> word);
  }
  return tables;
}

std::vector<std::vector<std::string>> cellsOf(const RecordedSchedule& recorded, std::size_t devices,
                                              std::size_t cycles) {
  std::vector<std::vector<std::string>> cells(devices, std::vector<std::string>(cycles));
  for (const model::Placement& p : recorded.placements) {
    if (!model::isComputePass(p.pass)) continue;
    const auto cycle = static_cast<std::size_t>(p.slot);
    EXPECT_LT(cycle, cycles);
    if (cycle < cycles)
      cells[static_cast<std::size_t>(p.device.value)][cycle] +=
          (p.pass == model::Pass::forward ? "F" : "B") + std::to_string(p.microBatch);
  }
  for (auto& row : cells) {
    for (auto& cell : row) cell = cell.empty() ? "." : cell;
  }
  return cells;
}

TEST(ScheduleTables, PopartCyclesCellByCell) {
  const std::vector<CycleTable> tables = readCycleTables();
  ASSERT_EQ(tables.size(), 6u);
  for (const CycleTable& table : tables) {
    SCOPED_TRACE(testing::Message() << "N=" << table.stages << " G=" << table.microBatches);
    const std::vector<double> ones(static_cast<std::size_t>(table.stages), 1.0),
        twos(table.training ? ones.size() : 0, 2.0);
    const RecordedSchedule recorded = record(fixedRun("popart", table.microBatches, ones, twos));
    EXPECT_EQ(cellsOf(recorded, ones.size(), table.cells.front().size()), table.cells);
    const int cycles = table.microBatches + (table.training ? 2 * table.stages - 2 : table.stages - 1);
    EXPECT_EQ(table.cells.front().size(), static_cast<std::size_t>(cycles));
  }
}

/// Number of micro-batches on a device after the forward pass of each cycle.
std::vector<int> liveByCycle(const RecordedSchedule& recorded, int device, int cycles) {
  std::vector<int> live;
  for (int cycle = 0; cycle < cycles; ++cycle) {
    int count = 0;
    for (const model::Placement& p : recorded.placements) {
      if (p.device.value != device) continue;
      count += p.pass == model::Pass::forward && p.slot <= cycle ? 1 : 0;
      count -= p.pass == model::Pass::backward && p.slot < cycle ? 1 : 0;
    }
    live.push_back(count);
  }
  return live;
}

TEST(ScheduleTables, LiveMicroBatchesAndStash) {
  const RecordedSchedule four = record(fixedRun("popart", 8, {1, 1, 1, 1}, {2, 2, 2, 2}));
  EXPECT_EQ(liveByCycle(four, 0, 14), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 3, 2, 1}));
  const std::vector<int> peaks = {7, 5, 3, 1};
  const std::vector<std::int64_t> stash = {7, 5, 3, 0};
  for (int device = 0; device < 4; ++device) {
    const auto d = static_cast<std::size_t>(device);
    const std::vector<int> live = liveByCycle(four, device, 14);
    EXPECT_EQ(*std::max_element(live.begin(), live.end()), peaks[d]);
    EXPECT_EQ(four.catalog->stages[d].stashEntries, stash[d]);
    // The counter in the profile has the same peak.
    double peak = 0;
    const auto samples = four.file->rows<model::CounterSample>();
    ASSERT_TRUE(samples.ok());
    const auto counters = four.file->rows<model::Counter>();
    ASSERT_TRUE(counters.ok());
    for (const model::CounterSample& sample : **samples) {
      const model::Counter& counter = (**counters)[static_cast<std::size_t>(sample.counter.value)];
      if (counter.name == "live_micro_batches" && counter.device.value == device)
        peak = std::max(peak, sample.value);
    }
    EXPECT_EQ(peak, peaks[d]);
  }
  const RecordedSchedule two = record(fixedRun("popart", 4, {1, 1}, {2, 2}));
  EXPECT_EQ(liveByCycle(two, 0, 6), (std::vector<int>{1, 2, 3, 3, 2, 1}));
  EXPECT_EQ(two.catalog->stages[0].stashEntries, 3);
  EXPECT_EQ(two.catalog->stages[1].stashEntries, 0);
}

struct TimeRow {
  int stages = 0, microBatches = 0;
  std::vector<double> forward, backward, utilisation;
  double popart = 0, gpipe = 0, bubble = 0;
};

std::vector<double> numbers(const std::string& text) {
  std::istringstream stream(text);
  std::vector<double> list;
  for (double x; stream >> x;) list.push_back(x);
  return list;
}

std::vector<TimeRow> readTimes() {
  std::ifstream file(std::string(PIPESCOPE_TEST_DATA) + "/schedule_times.csv");
  std::vector<TimeRow> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    rows.push_back({std::stoi(fields.at(0)), std::stoi(fields.at(1)), numbers(fields.at(2)),
                    numbers(fields.at(3)), numbers(fields.at(6)), std::stod(fields.at(4)),
                    std::stod(fields.at(5)), std::stod(fields.at(7))});
  }
  return rows;
}

TEST(ScheduleTables, MakespansUtilisationAndBubbles) {
  const std::vector<TimeRow> rows = readTimes();
  ASSERT_EQ(rows.size(), 7u);
  for (const TimeRow& row : rows) {
    SCOPED_TRACE(testing::Message() << "N=" << row.stages << " G=" << row.microBatches << " popart "
                                    << row.popart);
    const RecordedSchedule popart = record(fixedRun("popart", row.microBatches, row.forward, row.backward));
    EXPECT_DOUBLE_EQ(computeSpan(popart), row.popart);
    for (int d = 0; d < row.stages; ++d) {
      double busy = 0;
      for (const model::Placement& p : popart.placements)
        busy += p.device.value == d ? units(p.end - p.start) : 0;
      EXPECT_NEAR(busy / row.popart, row.utilisation[static_cast<std::size_t>(d)], 0.0005);
    }
    const auto report = analysis::stagesReport(*popart.file, *popart.catalog, popart.executable);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_NEAR(report->bubble.fraction(), row.bubble, 0.00005);
    EXPECT_NEAR(report->bubble.rampUp + report->bubble.steady + report->bubble.rampDown,
                report->bubble.fraction(), 1e-12);
    const RecordedSchedule gpipe = record(fixedRun("gpipe", row.microBatches, row.forward, row.backward));
    EXPECT_DOUBLE_EQ(computeSpan(gpipe), row.gpipe);
  }
}

TEST(ScheduleTables, CycleTimesOfPopart) {
  // 4 stages, 8 micro-batches, F = 1,1,2,1, B = 2,2,4,2: cycles 1,1,2,3,6×6,4,4,2,2.
  const RecordedSchedule recorded = record(fixedRun("popart", 8, {1, 1, 2, 1}, {2, 2, 4, 2}));
  std::vector<double> starts(15, 1e9);
  for (const model::Placement& p : recorded.placements) {
    auto& start = starts[static_cast<std::size_t>(p.slot)];
    start = std::min(start, units(p.start));
  }
  starts[14] = computeSpan(recorded);
  const std::vector<double> expected = {1, 1, 2, 3, 6, 6, 6, 6, 6, 6, 4, 4, 2, 2};
  for (std::size_t c = 0; c < expected.size(); ++c)
    EXPECT_DOUBLE_EQ(starts[c + 1] - starts[c], expected[c]) << "cycle " << c;
}

TEST(ScheduleTables, ShardedTakesTheSumOfEverything) {
  // T = D·(G·Σ(F+B) + ΣU)
  compile::FixedRun run = fixedRun("sharded", 5, {1, 2, 3}, {2, 4, 1});
  run.deviceIterations = 3;
  for (auto& stage : run.stages) stage.update = 0.5;
  const RecordedSchedule recorded = record(run);
  EXPECT_DOUBLE_EQ(units(recorded.run().end - recorded.run().start), 3 * (5 * 13 + 1.5));
  const RecordedSchedule inference = record(fixedRun("sharded", 6, {1, 2, 3}, {}));
  EXPECT_DOUBLE_EQ(units(inference.run().end - inference.run().start), 6 * 6);
}

TEST(ScheduleTables, GpipeStartTimes) {
  // p=4, m=4, F=1, B=2 (T=21): device 0 F@0,1,2,3 B@13,15,17,19; device 3 F@3,4,5,6 B@7,9,11,13.
  const RecordedSchedule recorded = record(fixedRun("gpipe", 4, {1, 1, 1, 1}, {2, 2, 2, 2}));
  const auto starts = [&](int device) {
    std::vector<double> list;
    for (const model::Placement& p : recorded.placements) {
      if (p.device.value == device) list.push_back(units(p.start));
    }
    return list;
  };
  EXPECT_EQ(starts(0), (std::vector<double>{0, 1, 2, 3, 13, 15, 17, 19}));
  EXPECT_EQ(starts(3), (std::vector<double>{3, 4, 5, 6, 7, 9, 11, 13}));
}

}  // namespace
}  // namespace pipescope::tests
