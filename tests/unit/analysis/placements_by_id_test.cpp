// Compares what finds placements, devices, medians and the critical path of large runs with maps and with
// searches over all rows.
#include "profiler/analysis/placements_by_id.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "profiler/analysis/pipeline/pass_medians.h"
#include "profiler/analysis/pipeline/waits.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::analysis {
namespace {

TEST(PlacementsById, FindsTheLastRowOfAnId) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    std::vector<model::Placement> rows;
    std::map<std::int64_t, std::size_t> expected;
    std::int64_t id = static_cast<std::int64_t>(random() % 5) - 2;
    for (int i = 0; i < 40; ++i) {
      // Ids are in turn without gaps, with gaps, and in any order.
      id = round % 3 == 2 ? static_cast<std::int64_t>(random() % 30) : id + 1 + (round % 3) * (random() % 3);
      expected[id] = rows.size();
      rows.emplace_back().id = model::PlacementId(id);
    }
    const PlacementsById byId(rows);
    for (std::int64_t wanted = -5; wanted < 150; ++wanted) {
      const auto found = expected.find(wanted);
      EXPECT_EQ(byId.find(model::PlacementId(wanted)),
                found == expected.end() ? nullptr : &rows[found->second])
          << round << " " << wanted;
    }
  }
  const std::vector<model::Placement> none;
  EXPECT_EQ(PlacementsById(none).find(model::PlacementId(0)), nullptr);
}

TEST(PerDevice, KeepsAValueForAnyNumber) {
  PerDevice<int> values;
  EXPECT_EQ(values.find(model::DeviceId(3)), nullptr);
  const std::int64_t devices[] = {3, 0, -1, 70'000, INT64_MAX};
  for (int i = 0; i < 5; ++i) values[model::DeviceId(devices[i])] = i + 1;
  for (int i = 0; i < 5; ++i) {
    ASSERT_NE(values.find(model::DeviceId(devices[i])), nullptr);
    EXPECT_EQ(*values.find(model::DeviceId(devices[i])), i + 1);
  }
  EXPECT_EQ(values.find(model::DeviceId(70'001)), nullptr);
  int sum = 0;
  values.forEach([&](int value) { sum += value; });
  EXPECT_EQ(sum, 15);
}

/// A random run on three devices whose rows come in any order. Devices work without overlaps, and wait for
/// each other before some placements.
struct RandomRun {
  model::RowSet rows;
  record::MemoryProfile profile;
  std::shared_ptr<const Catalog> catalog;

  explicit RandomRun(std::uint32_t seed) {
    std::mt19937 random(seed);
    auto& placements = rows.of<model::Placement>();
    rows.of<model::Executable>().emplace_back().id = model::ExecutableId(0);
    std::int64_t last = 0;
    for (int d = 0; d < 3; ++d) {
      model::Device device;
      device.id = model::DeviceId(d);
      device.ticksPerSecond = 1000;
      rows.of<model::Device>().push_back(device);
      std::int64_t at = d;
      for (int i = 0; i < 30; ++i) {
        const auto gap = static_cast<std::int64_t>(random() % 3) * 4;
        if (gap > 0) addWait(d, at, at + gap - static_cast<std::int64_t>(random() % 2), random);
        at += gap;
        const std::int64_t length = 1 + static_cast<std::int64_t>(random() % 9);
        addPlacement(d, i, at, at + length, random);
        at += length;
        last = std::max(last, at);
      }
    }
    std::shuffle(placements.begin(), placements.end(), random);
    if (seed % 2 == 0)
      std::sort(placements.begin(), placements.end(),
                [](const auto& a, const auto& b) { return a.id < b.id; });
    model::Run run;
    run.id = model::RunId(0);
    run.executable = model::ExecutableId(0);
    run.end = Ticks(last + 3);
    rows.of<model::Run>() = {run};
    EXPECT_TRUE(profile.commit(rows).ok());
    catalog = loadCatalog(profile).value();
  }

  void addWait(int device, std::int64_t start, std::int64_t end, std::mt19937& random) {
    model::Wait wait;
    wait.device = model::DeviceId(device);
    wait.start = Ticks(start), wait.end = Ticks(end);
    wait.cause = random() % 4 == 0 ? model::WaitCause::host : model::WaitCause::slowerStage;
    wait.waitedFor = model::PlacementId(static_cast<std::int64_t>(random() % 95));
    wait.waitedForDevice = model::DeviceId(static_cast<std::int64_t>(random() % 3));
    wait.run = model::RunId(0);
    rows.of<model::Wait>().push_back(wait);
  }
  void addPlacement(int device, int number, std::int64_t start, std::int64_t end, std::mt19937& random) {
    model::Placement row;
    row.id = model::PlacementId(device * 30 + number);
    row.segment = model::SegmentId(static_cast<std::int64_t>(random() % 5));
    row.device = model::DeviceId(device);
    row.start = Ticks(start), row.end = Ticks(end);
    row.run = model::RunId(0);
    row.stage = device;
    row.pass = random() % 2 == 0 ? model::Pass::forward : model::Pass::backward;
    row.microBatch = number / 2;
    rows.of<model::Placement>().push_back(row);
  }

  const model::Placement* placement(model::PlacementId id) const {
    for (const model::Placement& row : rows.of<model::Placement>())
      if (row.id == id) return &row;
    return nullptr;
  }

  /// Placement for which another one had to wait, by a search over all rows.
  const model::Placement* binding(const model::Placement& of) const {
    const model::Placement* before = nullptr;
    for (const model::Placement& row : rows.of<model::Placement>())
      if (row.device == of.device && row.end <= of.start && row.start < of.start &&
          (before == nullptr || row.start > before->start))
        before = &row;
    if (before != nullptr && before->end == of.start) return before;
    std::vector<const model::Wait*> waits;
    for (const model::Wait& wait : rows.of<model::Wait>())
      if (wait.device == of.device && wait.end <= of.start) waits.push_back(&wait);
    std::sort(waits.begin(), waits.end(), [](const auto* a, const auto* b) { return a->end > b->end; });
    for (const model::Wait* wait : waits) {
      if (before != nullptr && wait->start < before->end) break;
      const model::Placement* const waitedFor = placement(wait->waitedFor);
      if (wait->cause == model::WaitCause::host) return waitedFor;
      if (waitedFor != nullptr && waitedFor->device != of.device) return waitedFor;
    }
    return before;
  }
};

TEST(CriticalPath, EqualsThatOfASearchOverAllRows) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const RandomRun run(seed);
    const auto path = criticalPath(run.profile, *run.catalog, model::RunId(0));
    ASSERT_TRUE(path.ok());
    std::vector<std::int64_t> found, expected;
    for (auto link = path->rbegin(); link != path->rend(); ++link) {
      if (link->kind != CriticalLink::Kind::placement) continue;
      found.push_back(link->placement.value);
      EXPECT_EQ(link->segment, run.placement(link->placement)->segment);
    }
    const auto& all = run.rows.of<model::Placement>();
    const model::Placement* current = &*std::max_element(
        all.begin(), all.end(), [](const auto& a, const auto& b) { return a.end < b.end; });
    Ticks reached = run.rows.of<model::Run>()[0].end;
    for (std::size_t guard = 0; current != nullptr && guard <= all.size() && current->end <= reached;
         ++guard) {
      expected.push_back(current->id.value);
      reached = current->start;
      current = run.binding(*current);
    }
    EXPECT_EQ(found, expected) << seed;
  }
}

TEST(PassMedians, EqualThoseOfAMapOfPasses) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const RandomRun run(seed);
    const auto medians = passMedians(run.profile, *run.catalog, model::ExecutableId(0));
    ASSERT_TRUE(medians.ok());
    for (int stage = 0; stage < 3; ++stage) {
      for (const model::Pass pass : {model::Pass::forward, model::Pass::backward}) {
        std::map<int, double> lengths;  // keyed by micro-batch
        for (const model::Placement& row : run.rows.of<model::Placement>())
          if (row.stage == stage && row.pass == pass)
            lengths[row.microBatch] += static_cast<double>((row.end - row.start).count);
        std::vector<double> sorted;
        for (const auto& [microBatch, ticks] : lengths) sorted.push_back(ticks);
        std::sort(sorted.begin(), sorted.end());
        const std::size_t half = sorted.size() / 2;
        const double expected = sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
        const PassMedians& own = medians->at(stage);
        EXPECT_EQ(pass == model::Pass::forward ? own.forward : own.backward, expected) << seed;
      }
    }
  }
}

TEST(WaitGroups, EqualSumsOverAllRows) {
  const RandomRun run(3);
  const auto groups = waitGroups(run.profile, *run.catalog, model::ExecutableId(0));
  ASSERT_TRUE(groups.ok());
  std::int64_t counted = 0;
  for (const WaitGroup& group : *groups) {
    std::int64_t ticks = 0, count = 0;
    for (const model::Wait& wait : run.rows.of<model::Wait>()) {
      const model::Placement* const placement = run.placement(wait.waitedFor);
      if (wait.device != group.device || wait.waitedForDevice != group.waitedForDevice ||
          wait.cause != group.cause || (placement == nullptr ? -1 : placement->stage) != group.waitedForStage)
        continue;
      ticks += (wait.end - wait.start).count;
      ++count;
    }
    EXPECT_EQ(group.ticksPerIteration, static_cast<double>(ticks));
    EXPECT_EQ(group.countPerIteration, static_cast<double>(count));
    counted += count;
  }
  EXPECT_EQ(counted, static_cast<std::int64_t>(run.rows.of<model::Wait>().size()));
}

}  // namespace
}  // namespace pipescope::analysis
