// Compares the emulated start times of every schedule with a simulation of its published rule. The two share
// no code.
#include <gtest/gtest.h>

#include <random>

#include "app/run/request/schedule_table.h"
#include "brute_force.h"

namespace pipescope::tests {
namespace {

constexpr double kUnit = 4;  ///< costs are quarters, which the fixed device represents exactly

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int pick(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1));
  }

 private:
  std::mt19937 random_;
};

/// Each stage has a device of its own, or neighbours share one, or a device is visited again.
std::vector<int> someDevices(Dice& dice, int stages, bool mayRevisit) {
  std::vector<int> devices;
  for (int s = 0; s < stages; ++s) devices.push_back(s);
  if (!mayRevisit || stages < 3 || dice.pick(0, 1) == 0) return devices;
  if (dice.pick(0, 1) == 0) {  // 0, 1, 2, 1, …: back to an earlier one
    for (int s = 3; s < stages; ++s) devices[static_cast<std::size_t>(s)] = dice.pick(0, 2);
  } else {  // 0, 0, 1, 1, 2, …
    for (int s = 0; s < stages; ++s) devices[static_cast<std::size_t>(s)] = s / 2;
  }
  return devices;
}

BruteForceCase someCase(const std::string& schedule, Dice& dice) {
  BruteForceCase c;
  c.schedule = schedule;
  c.devices = dice.pick(2, 8);
  c.microBatches = dice.pick(1, 32);
  const int n = c.devices;
  if (schedule == "interleaved-1f1b") {
    c.chunks = dice.pick(2, 4);
    c.microBatches = n * dice.pick(1, 32 / n);
    for (int s = 0; s < n * c.chunks; ++s) c.placeOfStage.push_back(s % n);
  } else if (schedule == "zb-v" || schedule == "dualpipe") {
    c.chunks = 2;
    if (schedule == "dualpipe") {
      c.devices = 2 * dice.pick(1, 4);
      c.microBatches = 2 * dice.pick(c.devices, 16);
    }
    for (int s = 0; s < 2 * c.devices; ++s) c.placeOfStage.push_back(std::min(s, 2 * c.devices - 1 - s));
  } else {
    c.placeOfStage =
        someDevices(dice, n, schedule == "popart" || schedule == "gpipe" || schedule == "tf-grouped");
    // PopTorch counts one stage for each change of device.
    if (schedule == "popart") c.microBatches = std::max(c.microBatches, 2 * n - 1);
    if (schedule == "tf-grouped") c.microBatches = 2 * n * dice.pick(1, std::max(1, 32 / (2 * n)));
    if (schedule == "tf-interleaved") c.microBatches = n * dice.pick(1, 32 / n);
  }
  const std::size_t pipes = schedule == "dualpipe" ? 2 : 1, stages = c.placeOfStage.size() / pipes;
  for (std::size_t s = 0; s < stages; ++s) {
    c.forward.push_back(dice.pick(1, 12));
    c.backward.push_back(dice.pick(2, 24));
    c.weight.push_back(dice.pick(1, static_cast<int>(c.backward.back()) - 1));
  }
  for (std::size_t s = stages; s < c.placeOfStage.size(); ++s) {
    c.forward.push_back(c.forward[s - stages]);
    c.backward.push_back(c.backward[s - stages]);
    c.weight.push_back(c.weight[s - stages]);
  }
  c.exchange = dice.pick(0, 1) == 0 ? 0 : dice.pick(1, 9);
  return c;
}

compile::FixedRun runOf(const BruteForceCase& c) {
  compile::FixedRun run;
  run.schedule = c.schedule;
  run.microBatches = c.microBatches;
  run.training = c.training;
  run.exchange = static_cast<double>(c.exchange) / kUnit;
  const bool laidOut = c.chunks > 1;
  if (laidOut) {
    run.chunks = c.chunks;
  } else {
    run.placeOfStage = c.placeOfStage;
  }
  const std::size_t stages = c.placeOfStage.size() / (c.schedule == "dualpipe" ? 2 : 1);
  for (std::size_t s = 0; s < stages; ++s) {
    run.stages.push_back({static_cast<double>(c.forward[s]) / kUnit, 0,
                          static_cast<double>(c.backward[s]) / kUnit, 0,
                          static_cast<double>(c.weight[s]) / kUnit});
  }
  return run;
}

/// The stages of a device in ascending order, which is what `chunk` counts.
int stageOf(const BruteForceCase& c, int device, int chunk) {
  for (std::size_t s = 0; s < c.placeOfStage.size(); ++s) {
    if (c.placeOfStage[s] == device && chunk-- == 0) return static_cast<int>(s);
  }
  return -1;
}

class EverySchedule : public testing::TestWithParam<const char*> {};

TEST_P(EverySchedule, StartsItsTasksWhenTheRuleSays) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Dice dice(seed * 97 + 13);
    const BruteForceCase c = someCase(GetParam(), dice);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << c.devices << " devices, " << c.microBatches
                                    << " micro-batches, exchange " << c.exchange);
    const BruteForceResult expected = bruteForce(c);
    const auto table = app::scheduleTable(runOf(c));
    ASSERT_TRUE(table.ok()) << table.error().message;
    ASSERT_EQ(table->slots.size(), expected.tasks.size());
    for (const app::ScheduleSlot& slot : table->slots) {
      const char kind = slot.kind == "forward" ? 'F' : slot.kind == "weight" ? 'W' : 'B';
      const TaskName name{kind, stageOf(c, slot.device, slot.chunk), slot.microBatch};
      ASSERT_TRUE(expected.tasks.contains(name)) << kind << slot.microBatch << " on " << slot.device;
      const TaskTime& time = expected.tasks.at(name);
      ASSERT_EQ(slot.device, time.device);
      ASSERT_DOUBLE_EQ(slot.start * kUnit, static_cast<double>(time.start))
          << kind << slot.microBatch << " of stage " << std::get<1>(name);
      ASSERT_DOUBLE_EQ(slot.end * kUnit, static_cast<double>(time.end));
    }
    ASSERT_DOUBLE_EQ(table->makespan * kUnit, static_cast<double>(expected.end));
    for (std::size_t d = 0; d < table->peakLive.size(); ++d)
      ASSERT_EQ(table->peakLive[d], peakLive(c, expected, static_cast<int>(d)));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EverySchedule,
                         testing::Values("popart", "tf-grouped", "tf-interleaved", "tf-sequential", "gpipe",
                                         "1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "zb-v", "dualpipe",
                                         "sharded"));

TEST(EveryScheduleThereIs, IsAmongThoseAbove) {
  EXPECT_EQ(schedules::scheduleRegistry().all().size(), 12u);
}

}  // namespace
}  // namespace pipescope::tests
