// Numbers that the specification states beside its tables: columns of the figure in the tutorial, long
// inference, makespans that need several schedules, idle times and limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "app/run/request/schedule_table.h"
#include "recorded_schedule.h"

namespace pipescope::tests {
namespace {

std::vector<double> all(int stages, double cost) {
  return std::vector<double>(static_cast<std::size_t>(stages), cost);
}

/// Forward and backward tasks of each cycle.
struct Halves {
  int forward = 0, backward = 0;
};
std::vector<Halves> halvesOf(const app::ScheduleTable& made) {
  std::vector<Halves> cycles(static_cast<std::size_t>(made.cycles));
  for (const app::ScheduleSlot& slot : made.slots) {
    Halves& cycle = cycles.at(static_cast<std::size_t>(slot.slot));
    ++(slot.kind == "forward" ? cycle.forward : cycle.backward);
  }
  return cycles;
}

/// §2.2: the figure draws the forward half and the backward half of a cycle as columns, if there is such a
/// half. 3(N − 1) columns come before all are full. The fill takes 2(N − 1) cycles; after it every device
/// does both halves.
TEST(StatedNumbers, ColumnsOfTheTutorialsFigure) {
  for (int n = 2; n <= 8; ++n) {
    SCOPED_TRACE(n);
    const std::vector<Halves> cycles = halvesOf(tableOf(fixedRun("popart", 3 * n, all(n, 1), all(n, 2))));
    std::vector<int> columns;
    for (const Halves& cycle : cycles) {
      if (cycle.forward > 0) columns.push_back(cycle.forward);
      if (cycle.backward > 0) columns.push_back(cycle.backward);
    }
    std::size_t before = 0;  // the first two full columns in a row
    while (before + 1 < columns.size() && (columns[before] < n || columns[before + 1] < n)) ++before;
    EXPECT_EQ(before, static_cast<std::size_t>(3 * (n - 1)));
    const auto first = std::find_if(cycles.begin(), cycles.end(),
                                    [n](const Halves& c) { return c.forward == n && c.backward == n; });
    EXPECT_EQ(first - cycles.begin(), 2 * (n - 1));  // number 2N − 1
  }
}

/// §2.1: 100 micro-batches of inference in four stages.
TEST(StatedNumbers, LongInference) {
  const app::ScheduleTable made = tableOf(fixedRun("popart", 100, all(4, 1), {}));
  EXPECT_EQ(made.cycles, 103);
  for (const double utilisation : made.utilisation) EXPECT_NEAR(utilisation, .971, .0005);
}

/// The order of PopART without its barriers: a task waits only for its device and its neighbour.
double withoutBarriers(int g, const std::vector<double>& forward, const std::vector<double>& backward) {
  const int n = static_cast<int>(forward.size());
  std::map<std::pair<int, int>, double> f, b;  // stage, micro-batch → end
  std::vector<double> free(forward.size(), 0);
  for (int cycle = 0; cycle < g + 2 * n - 2; ++cycle) {
    const auto run = [&](int i, int k, double input, double cost) {
      double& device = free[static_cast<std::size_t>(i)];
      return k < 0 || k >= g ? 0.0 : device = std::max(device, input) + cost;
    };
    // The inputs of a cycle are results of the previous one, except within the loss stage.
    for (int i = 0; i < n; ++i) {
      const auto s = static_cast<std::size_t>(i);
      const int k = cycle - i, j = cycle - (2 * n - 2 - i);
      f[{i, k}] = run(i, k, i > 0 ? f[{i - 1, k}] : 0, forward[s]);
      b[{i, j}] = run(i, j, i + 1 < n ? b[{i + 1, j}] : f[{i, j}], backward[s]);
    }
  }
  return *std::max_element(free.begin(), free.end());
}

/// §2.4: all four columns of makespans. The column with barriers also holds for TensorFlow's grouped
/// schedule.
TEST(StatedNumbers, MakespansOfFourWaysToRunTheSameStages) {
  struct Row {
    int g;
    std::vector<double> forward, backward;
    double barrier, dependencies, oneForwardOneBackward, gpipe;
  };
  for (const Row& row : {Row{8, {1, 1, 1, 1}, {2, 2, 2, 2}, 33, 33, 33, 33},
                         {10, {1, 1, 1, 1}, {2, 2, 2, 2}, 39, 39, 39, 39},
                         {4, {1, 1}, {2, 2}, 15, 15, 15, 15},
                         {8, {1, 1, 2, 1}, {2, 2, 4, 2}, 55, 54, 55, 57},
                         {8, {2, 1, 1, 1}, {4, 2, 2, 2}, 51, 48, 51, 57},
                         {8, {1, 1, 1, 1}, {3, 3, 3, 2}, 42, 41, 42, 43},
                         {8, {1, 1, 1, 1}, {2, 2, 2, 4}, 49, 49, 49, 49}}) {
    SCOPED_TRACE(testing::Message() << row.g << " micro-batches, " << row.barrier);
    const auto span = [&](const char* schedule) {
      return tableOf(fixedRun(schedule, row.g, row.forward, row.backward)).makespan;
    };
    EXPECT_DOUBLE_EQ(span("popart"), row.barrier);
    EXPECT_DOUBLE_EQ(withoutBarriers(row.g, row.forward, row.backward), row.dependencies);
    EXPECT_DOUBLE_EQ(span("1f1b"), row.oneForwardOneBackward);
    EXPECT_DOUBLE_EQ(span("gpipe"), row.gpipe);
    if (row.g % (2 * static_cast<int>(row.forward.size())) == 0) {  // tf-grouped accepts this number
      EXPECT_DOUBLE_EQ(span("tf-grouped"), row.barrier);
    }
  }
}

/// §2.4: one device at a time.
TEST(StatedNumbers, ShardedUsesOneDeviceAtATime) {
  for (const int n : {2, 3, 8}) {
    for (const double utilisation : tableOf(fixedRun("sharded", 12, all(n, 1), all(n, 2))).utilisation)
      EXPECT_DOUBLE_EQ(utilisation, 1.0 / n);
  }
}

/// §2.5: in the long run slots as long as the longer pass cost 2·max(F, B) ÷ (F + B) times as much, for half
/// the stash.
TEST(StatedNumbers, InterleavedTradesSpeedForStash) {
  for (const auto& [forward, backward] : {std::pair{1.0, 2.0}, {1.0, 3.0}, {2.0, 2.0}}) {
    const app::ScheduleTable grouped =
                                 tableOf(fixedRun("tf-grouped", 4000, all(4, forward), all(4, backward))),
                             interleaved =
                                 tableOf(fixedRun("tf-interleaved", 4000, all(4, forward), all(4, backward)));
    EXPECT_NEAR(interleaved.makespan / grouped.makespan,
                2 * std::max(forward, backward) / (forward + backward), .002);
    for (std::size_t s = 0; s < 4; ++s) EXPECT_EQ(2 * interleaved.stashEntries[s], grouped.stashEntries[s]);
  }
}

/// §3: the time that a flush on equal devices takes beyond its work, and its share of the whole.
TEST(StatedNumbers, BubblesOfEqualDevices) {
  for (const int p : {2, 4, 8}) {
    const int m = 4 * p;
    const auto made = [&](const char* schedule, int chunks) {
      compile::FixedRun run =
          fixedRun(schedule, m, all(p * std::max(chunks, 1), 1), all(p * std::max(chunks, 1), 2));
      run.chunks = chunks;
      return tableOf(run);
    };
    for (const char* schedule : {"gpipe", "1f1b", "popart", "tf-grouped"}) {
      const app::ScheduleTable one = made(schedule, 0);
      EXPECT_DOUBLE_EQ(one.makespan / (3.0 * m) - 1, (p - 1.0) / m) << schedule;
      for (const double u : one.utilisation) EXPECT_DOUBLE_EQ(1 - u, (p - 1.0) / (m + p - 1)) << schedule;
    }
    for (const int v : {2, 3})
      EXPECT_NEAR(made("interleaved-1f1b", v).makespan / (3.0 * m * v) - 1, (p - 1.0) / (v * m), 1e-12);
  }
}

/// §3: idle units of each device if an overlapped pair takes as long as its parts.
TEST(StatedNumbers, IdleTimeOfDualPipe) {
  for (const auto& [p, m, idle] : {std::tuple{4, 8, 2.0}, {8, 16, 6.0}, {8, 20, 6.0}}) {
    const app::ScheduleTable made = tableOf(fixedRun("dualpipe", m, all(p, 1), all(p, 2)));
    EXPECT_DOUBLE_EQ(made.makespan - 3.0 * m, idle);
    for (const double u : made.utilisation) EXPECT_NEAR(made.makespan * (1 - u), idle, 1e-9);
  }
}

/// §3: from its first task to its last, a device of ZB-H2 takes m(F + B) + (p − 1)(F + b − 2W), and it holds
/// at most 2p − 1 micro-batches.
TEST(StatedNumbers, SpanOfADeviceUnderZeroBubble2) {
  for (const int p : {2, 4, 8}) {
    for (const auto& [forward, input, weight] :
         {std::tuple{1.0, 1.0, 1.0}, {2.0, 2.0, 2.0}, {2.0, 1.0, 1.0}}) {
      const int m = 4 * p;
      compile::FixedRun run = fixedRun("zb-h2", m, all(p, forward), all(p, input + weight));
      for (auto& stage : run.stages) stage.weight = weight;
      const app::ScheduleTable made = tableOf(run);
      double first = 1e300, last = 0;
      for (const app::ScheduleSlot& slot : made.slots) {
        if (slot.device != 0) continue;
        first = std::min(first, slot.start);
        last = std::max(last, slot.end);
      }
      EXPECT_DOUBLE_EQ(last - first,
                       m * (forward + input + weight) + (p - 1) * (forward + input - 2 * weight));
      EXPECT_EQ(made.peakLive.front(), 2 * p - 1);
    }
  }
}

}  // namespace
}  // namespace pipescope::tests
