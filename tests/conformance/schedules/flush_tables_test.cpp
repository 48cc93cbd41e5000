// Worked tables of schedules besides PopART's: slots, start times, makespans, live micro-batches; the
// formulas that the schedules are published with; and what must hold when costs change.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "app/run/request/schedule_table.h"
#include "recorded_schedule.h"

namespace pipescope::tests {
namespace {

compile::FixedRun flush(const std::string& schedule, int devices, int microBatches, double forward,
                        double backward, double weight, int chunks = 0) {
  compile::FixedRun run;
  run.schedule = schedule;
  run.microBatches = microBatches;
  const auto found = schedules::findSchedule(schedule);
  EXPECT_TRUE(found.ok());
  const auto each = schedules::chunksPerDevice(**found, chunks);
  EXPECT_TRUE(each.ok());
  run.chunks = *each;
  const int stages = (*found)->pipes > 1 ? devices : devices * *each;
  for (int s = 0; s < stages; ++s) run.stages.push_back({forward, 0, backward, 0, weight});
  return run;
}

std::string letter(const app::ScheduleSlot& slot) {
  return (slot.kind == "forward" ? "F" : slot.kind == "weight" ? "W" : "B") + std::to_string(slot.microBatch);
}

/// Lines of words of a data file, comments and empty lines left out.
std::vector<std::vector<std::string>> lines(const std::string& name) {
  std::ifstream file(std::string(PIPESCOPE_TEST_DATA) + "/" + name);
  std::vector<std::vector<std::string>> found;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    found.emplace_back();
    for (std::string word; words >> word;) found.back().push_back(word);
  }
  EXPECT_FALSE(found.empty()) << name;
  return found;
}

TEST(FlushTables, TensorFlowSlotsCellByCell) {
  std::vector<std::vector<std::string>> shown;
  int tables = 0;
  std::size_t device = 0;
  for (const auto& words : lines("tf_slots.txt")) {
    if (words[0] == "table") {
      const int stages = std::stoi(words[2]), g = std::stoi(words[3]);
      SCOPED_TRACE(words[1] + " " + words[2]);
      const app::ScheduleTable made = tableOf(flush(words[1], stages, g, 1, 2, 1));
      EXPECT_EQ(made.cycles, words[1] == "tf-grouped" ? g + 2 * stages - 1 : 2 * (g + stages - 1));
      shown.assign(static_cast<std::size_t>(stages),
                   std::vector<std::string>(static_cast<std::size_t>(made.cycles)));
      for (const app::ScheduleSlot& slot : made.slots)
        shown[static_cast<std::size_t>(slot.device)][static_cast<std::size_t>(slot.slot)] += letter(slot);
      for (auto& row : shown) {
        for (auto& cell : row) cell = cell.empty() ? "." : cell;
      }
      for (int i = 0; i < stages; ++i) {
        const int depth = words[1] == "tf-grouped" ? 2 * (stages - 1 - i) : stages - 1 - i;
        EXPECT_EQ(made.stashEntries[static_cast<std::size_t>(i)], depth);
      }
      ++tables;
      device = 0;
      continue;
    }
    ASSERT_LT(device, shown.size());
    EXPECT_EQ(shown[device++], words);
  }
  EXPECT_EQ(tables, 4);
}

TEST(FlushTables, StartTimes) {
  app::ScheduleTable made;
  int rows = 0;
  for (const auto& words : lines("start_times.txt")) {
    if (words[0] == "table") {
      made = tableOf(flush(words[1], std::stoi(words[2]), std::stoi(words[3]), std::stod(words[4]),
                           std::stod(words[5]), std::stod(words[6])));
      EXPECT_DOUBLE_EQ(made.makespan, std::stod(words[7])) << words[1];
      continue;
    }
    std::vector<std::string> starts = {words[0]};
    for (const app::ScheduleSlot& slot : made.slots) {
      if (slot.device != std::stoi(words[0])) continue;
      std::ostringstream text;
      text << letter(slot) << '@' << slot.start;
      starts.push_back(text.str());
    }
    EXPECT_EQ(starts, words);
    ++rows;
  }
  EXPECT_EQ(rows, 10);
}

TEST(FlushTables, MakespansAndLiveMicroBatches) {
  std::ifstream file(std::string(PIPESCOPE_TEST_DATA) + "/flush_times.csv");
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    std::vector<std::string> f;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) f.push_back(field);
    const app::ScheduleTable made =
        tableOf(flush(f.at(0), std::stoi(f.at(1)), std::stoi(f.at(3)), std::stod(f.at(4)), std::stod(f.at(5)),
                      std::stod(f.at(6)), std::stoi(f.at(2))));
    EXPECT_DOUBLE_EQ(made.makespan, std::stod(f.at(7)));
    std::ostringstream peaks;
    for (const int peak : made.peakLive) peaks << (peaks.tellp() > 0 ? " " : "") << peak;
    EXPECT_EQ(peaks.str(), f.at(8));
    ++rows;
  }
  EXPECT_EQ(rows, 28);
}

TEST(FlushTables, PublishedFormulasOverManyShapes) {
  for (int p = 2; p <= 8; ++p) {
    for (int m = 2 * p; m <= 4 * p; m += p) {
      SCOPED_TRACE(testing::Message() << "p=" << p << " m=" << m);
      struct Costs {
        double forward, backward, weight;
      };
      for (const Costs& costs : {Costs{1, 2, 1}, {2, 3, 1}, {2, 3, 2}, {3, 4, 1.5}}) {
        const double f = costs.forward, b = costs.backward, w = costs.weight;
        const double full = f + b, input = b - w;  // B = b + W
        const auto span = [&](const char* schedule, int chunks = 0) {
          return tableOf(flush(schedule, p, m, f, b, w, chunks)).makespan;
        };
        EXPECT_DOUBLE_EQ(span("gpipe"), (m + p - 1) * full);
        EXPECT_DOUBLE_EQ(span("1f1b"), (m + p - 1) * full);
        EXPECT_DOUBLE_EQ(span("popart"), (m + p - 1) * full);
        EXPECT_DOUBLE_EQ(span("sharded"), m * p * full);
        EXPECT_DOUBLE_EQ(span("tf-interleaved"), p * f + (2 * m + p - 2) * std::max(f, b));
        if (m % (2 * p) == 0) {
          EXPECT_DOUBLE_EQ(span("tf-grouped"), (m + p - 1) * full);
        }
        for (const int v : {2, 3}) EXPECT_DOUBLE_EQ(span("interleaved-1f1b", v), (m * v + p - 1) * full);
        EXPECT_DOUBLE_EQ(span("zb-h1"), m * full + (p - 1) * (w <= input ? f + input - w : f));
        if (p % 2 == 0 && m % 2 == 0 && w * 2 == b) {
          EXPECT_DOUBLE_EQ(span("dualpipe"), m * full + (p / 2 - 1) * (full + b - 3 * w));
        }
      }
      // Zero bubble: a device has no gaps. An isolated flush takes longer because each device starts later
      // than the one before it.
      EXPECT_DOUBLE_EQ(tableOf(flush("zb-h2", p, m, 1, 2, 1)).makespan, 3 * m + p - 1);
      EXPECT_DOUBLE_EQ(tableOf(flush("zb-v", p, m, 1, 2, 1)).makespan, 6 * m + p - 1);
    }
  }
}

TEST(FlushTables, NoGapWithinADeviceOfZeroBubble) {
  for (const char* schedule : {"zb-h2", "zb-v"}) {
    for (const int p : {2, 3, 4, 8}) {
      const app::ScheduleTable made = tableOf(flush(schedule, p, 2 * p - 1, 1, 2, 1));
      for (int d = 0; d < p; ++d) {
        double first = 1e300, last = 0, busy = 0;
        for (const app::ScheduleSlot& slot : made.slots) {
          if (slot.device != d) continue;
          first = std::min(first, slot.start);
          last = std::max(last, slot.end);
          busy += slot.end - slot.start;
        }
        EXPECT_DOUBLE_EQ(last - first, busy) << schedule << " p=" << p << " device " << d;
      }
    }
  }
}

// --- Properties that must hold when the shape or the costs change ---------------------------------

const char* const kAll[] = {"popart", "tf-grouped", "tf-interleaved",  "tf-sequential",
                            "gpipe",  "1f1b",       "zb-h1",           "zb-h2",
                            "zb-v",   "dualpipe",   "interleaved-1f1b"};

compile::FixedRun random(const std::string& schedule, std::mt19937& dice, int devices, int microBatches) {
  compile::FixedRun run = flush(schedule, devices, microBatches, 1, 2, 1);
  for (auto& stage : run.stages) {
    stage.forward = static_cast<double>(dice() % 12 + 1) / 4;
    stage.backward = static_cast<double>(dice() % 24 + 2) / 4;
    stage.weight = stage.backward / 2;
  }
  return run;
}

double utilisation(const app::ScheduleTable& made) {
  double sum = 0;
  for (const double u : made.utilisation) sum += u;
  return sum / static_cast<double>(made.utilisation.size());
}

TEST(Metamorphic, MoreMicroBatchesNeverLowerUtilisation) {
  for (const char* schedule : kAll) {
    for (unsigned seed = 0; seed < 8; ++seed) {
      std::mt19937 dice(seed);
      compile::FixedRun run = random(schedule, dice, 4, 8);
      double before = 0;
      for (const int m : {8, 16, 24, 32, 64}) {
        run.microBatches = m;
        const double now = utilisation(tableOf(run));
        EXPECT_GE(now, before - 1e-12) << schedule << " m=" << m << " seed " << seed;
        before = now;
      }
    }
  }
}

TEST(Metamorphic, ScalingAllCostsScalesTheTime) {
  for (const char* schedule : kAll) {
    std::mt19937 dice(7);
    compile::FixedRun run = random(schedule, dice, 4, 16);
    run.exchange = 0.25;
    const double one = tableOf(run).makespan;
    for (auto& stage : run.stages) stage = {stage.forward * 3, 0, stage.backward * 3, 0, stage.weight * 3};
    run.exchange *= 3;
    EXPECT_DOUBLE_EQ(tableOf(run).makespan, 3 * one) << schedule;
  }
}

TEST(Metamorphic, BarriersNeverMakeItFaster) {
  // PopART's order with dependencies only, computed by hand: each task waits for its device and its
  // neighbour.
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 dice(seed);
    const int n = 2 + static_cast<int>(dice() % 5), g = 2 * n - 1 + static_cast<int>(dice() % 8);
    const compile::FixedRun run = random("popart", dice, n, g);
    const app::ScheduleTable made = tableOf(run);
    std::vector<double> free(static_cast<std::size_t>(n), 0);
    std::vector<std::vector<double>> forward(static_cast<std::size_t>(n),
                                             std::vector<double>(static_cast<std::size_t>(g), 0)),
        backward = forward;
    double end = 0;
    for (int cycle = 0; cycle < g + 2 * n - 2; ++cycle) {
      for (int i = 0; i < n; ++i) {  // forwards of a cycle need those of the cycle before only
        const auto d = static_cast<std::size_t>(i);
        const int k = cycle - i, j = cycle - (2 * n - 2 - i);
        if (k >= 0 && k < g) {
          const double input = i > 0 ? forward[d - 1][static_cast<std::size_t>(k)] : 0;
          free[d] = forward[d][static_cast<std::size_t>(k)] =
              std::max(free[d], input) + run.stages[d].forward;
        }
        if (j >= 0 && j < g) {
          const double input = i + 1 < n ? backward[d + 1][static_cast<std::size_t>(j)] : 0;
          free[d] = backward[d][static_cast<std::size_t>(j)] =
              std::max(free[d], input) + run.stages[d].backward;
          end = std::max(end, free[d]);
        }
      }
    }
    EXPECT_GE(made.makespan, end - 1e-9);
  }
}

TEST(Metamorphic, ReversingABalancedPipelineChangesNothing) {
  for (const char* schedule : {"popart", "tf-grouped", "gpipe", "1f1b", "sharded"}) {
    compile::FixedRun run = flush(schedule, 4, 8, 1, 2, 1);
    const double there = tableOf(run).makespan;
    run.chunks = 0;
    run.placeOfStage = {3, 2, 1, 0};
    // PopTorch also counts the way to the device of the first stage as a stage, so popart needs one or two
    // more micro-batches.
    run.microBatches = 16;
    compile::FixedRun same = flush(schedule, 4, 16, 1, 2, 1);
    EXPECT_DOUBLE_EQ(tableOf(run).makespan, tableOf(same).makespan) << schedule;
    EXPECT_LT(there, tableOf(same).makespan);
  }
}

TEST(Metamorphic, PeaksAreOrdered) {
  for (int p = 2; p <= 8; ++p) {
    const int m = 2 * p;
    const auto peaks = [&](const char* schedule) { return tableOf(flush(schedule, p, m, 1, 2, 1)).peakLive; };
    const std::vector<int> one = peaks("1f1b"), popart = peaks("popart"), gpipe = peaks("gpipe");
    for (std::size_t d = 0; d < one.size(); ++d) {
      EXPECT_LE(one[d], popart[d]);
      EXPECT_LE(popart[d], gpipe[d]);
    }
  }
}

TEST(Metamorphic, SplittingTheBottleneckNeverLengthensTheMainCycle) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 dice(seed);
    compile::FixedRun whole = random("popart", dice, 4, 24);
    const auto slowest = std::max_element(
        whole.stages.begin(), whole.stages.end(),
        [](const auto& a, const auto& b) { return a.forward + a.backward < b.forward + b.backward; });
    compile::FixedRun split = whole;
    const auto place = split.stages.begin() + (slowest - whole.stages.begin());
    const compile::FixedRun::Stage half{place->forward / 2, 0, place->backward / 2, 0, place->weight / 2};
    *place = half;
    split.stages.insert(place, half);
    split.chunks = whole.chunks = 0;
    // The time of one more micro-batch once all stages work: the main cycle.
    const auto cycle = [](compile::FixedRun run) {
      const double less = tableOf(run).makespan;
      ++run.microBatches;
      return tableOf(run).makespan - less;
    };
    EXPECT_LE(cycle(split), cycle(whole) + 1e-9);
  }
}

}  // namespace
}  // namespace pipescope::tests
