// Compares schedules with simulations that were written independently of the emulator, and checks properties
// of all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "profiler/analysis/pipeline/stages.h"
#include "profiler/analysis/pipeline/waits.h"
#include "recorded_schedule.h"

namespace pipescope::tests {
namespace {

/// T = Σ_c (max_i ([0≤c−i<G]·F_i + [0≤c−(2N−2−i)<G]·B_i) + x), the barrier rule.
double popartByFormula(int g, const std::vector<double>& f, const std::vector<double>& b, double x) {
  const int n = static_cast<int>(f.size());
  double total = 0;
  for (int c = 0; c < g + 2 * n - 2; ++c) {
    double slowest = 0;
    for (int i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const bool forward = c - i >= 0 && c - i < g,
                 backward = c - (2 * n - 2 - i) >= 0 && c - (2 * n - 2 - i) < g;
      slowest = std::max(slowest, (forward ? f[k] : 0) + (backward ? b[k] : 0));
    }
    total += slowest + (n > 1 ? x : 0);
  }
  return total;
}

/// The end of (stage, micro-batch) by the recurrence of GPipe, with transfers of x between stages.
double gpipeByRecurrence(int g, const std::vector<double>& f, const std::vector<double>& b, double x) {
  const auto n = f.size();
  std::vector<std::vector<double>> fe(n, std::vector<double>(static_cast<std::size_t>(g))), be = fe;
  for (std::size_t s = 0; s < n; ++s) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(g); ++k) {
      const double own = k > 0 ? fe[s][k - 1] : 0, input = s > 0 ? fe[s - 1][k] + x : 0;
      fe[s][k] = std::max(own, input) + f[s];
    }
  }
  double end = 0;
  for (std::size_t s = n; s-- > 0;) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(g); ++k) {
      const double own = k > 0 ? be[s][k - 1] : fe[s].back(), input = s + 1 < n ? be[s + 1][k] + x : 0;
      be[s][k] = std::max(own, input) + b[s];
      end = std::max(end, be[s][k]);
    }
  }
  return end;
}

/// Checks that placements, transfers and waits of a device cover the run without overlap. Transfers are
/// ignored if they do not delay devices (dependency schedules).
void expectCovered(const RecordedSchedule& recorded, bool withTransfers) {
  for (const model::Device& device : recorded.catalog->devices) {
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (const model::Placement& p : recorded.placements) {
      if (p.device == device.id) spans.emplace_back(p.start.count, p.end.count);
    }
    for (const model::Wait& w : recorded.waits) {
      if (w.device == device.id) spans.emplace_back(w.start.count, w.end.count);
    }
    std::map<std::int64_t, std::int64_t> exchanges;  // transfers of one cycle start together
    for (const model::Transfer& t : recorded.transfers) {
      const auto lane = [&](model::LaneId id) { return recorded.catalog->lanes[id].device; };
      if (withTransfers && (lane(t.fromLane) == device.id || lane(t.toLane) == device.id)) {
        auto& end = exchanges[t.start.count];
        end = std::max(end, t.end.count);
      }
    }
    for (const auto& [start, end] : exchanges) spans.emplace_back(start, end);
    std::sort(spans.begin(), spans.end());
    std::int64_t reached = recorded.catalog->runs.front().start.count;
    for (const auto& [start, end] : spans) {
      EXPECT_EQ(start, reached) << device.name;
      reached = end;
    }
    EXPECT_EQ(reached, recorded.run().end.count) << device.name;
  }
}

/// `exchange` is the longest time of a transfer. No more of the path may be charged to transfers.
void expectCausesAndPath(const RecordedSchedule& recorded, double exchange) {
  for (const model::Wait& w : recorded.waits) {
    EXPECT_LT(w.start, w.end);
    if (w.cause == model::WaitCause::host) continue;
    ASSERT_TRUE(w.waitedFor.valid());
    const model::Placement& bound = recorded.placements[static_cast<std::size_t>(w.waitedFor.value)];
    EXPECT_EQ(bound.id, w.waitedFor);
    EXPECT_LE(bound.end, w.end);  // the work that was waited for has ended when the wait ends
  }
  for (const model::Run& run : recorded.catalog->runs) {
    const auto path = analysis::criticalPath(*recorded.file, *recorded.catalog, run.id);
    ASSERT_TRUE(path.ok()) << path.error().message;
    base::Ticks sum, reached = run.start;
    for (const analysis::CriticalLink& link : *path) {
      EXPECT_EQ(link.start, reached);
      if (link.kind == analysis::CriticalLink::Kind::transfer) {
        EXPECT_LE(units(link.end - link.start), exchange + 1e-9);
      }
      reached = link.end;
      sum += link.end - link.start;
    }
    EXPECT_EQ(sum, run.end - run.start);
    EXPECT_EQ(reached, run.end);
  }
}

/// A micro-batch reaches a stage after the previous (forward) or the next (backward) stage has done it. Its
/// weight gradients follow its input gradients.
void expectDependencies(const RecordedSchedule& recorded, int pipes) {
  std::map<std::tuple<std::int64_t, int, int, model::Pass, int>, const model::Placement*> done;
  for (const model::Placement& p : recorded.placements)
    done[{p.run.value, p.iteration, p.stage, p.pass, p.microBatch}] = &p;
  const int inPipe = static_cast<int>(recorded.catalog->stages.size()) / pipes;
  for (const model::Placement& p : recorded.placements) {
    const auto after = [&](int stage, model::Pass pass) {
      EXPECT_LE((done.at({p.run.value, p.iteration, stage, pass, p.microBatch})->end), p.start);
    };
    if (p.pass == model::Pass::forward && p.stage % inPipe != 0) after(p.stage - 1, p.pass);
    if (p.pass == model::Pass::backward) after(p.stage, model::Pass::forward);
    if (p.pass == model::Pass::backward && (p.stage + 1) % inPipe != 0) after(p.stage + 1, p.pass);
    if (p.pass == model::Pass::weightGradient) after(p.stage, model::Pass::backward);
  }
}

/// Checks that the counters of micro-batches and stash entries follow from the placements.
void expectMemoryIsReplayed(const RecordedSchedule& recorded) {
  const auto counters = recorded.file->rows<model::Counter>();
  const auto samples = recorded.file->rows<model::CounterSample>();
  ASSERT_TRUE(counters.ok() && samples.ok());
  const bool split = std::any_of(recorded.placements.begin(), recorded.placements.end(),
                                 [](const auto& p) { return p.pass == model::Pass::weightGradient; });
  for (const model::Counter& counter : **counters) {
    const bool stash = counter.name == "stash_entries";
    ASSERT_TRUE(stash || counter.name == "live_micro_batches") << counter.name;
    std::map<std::int64_t, int> replayed;  // time → change
    for (const model::Placement& p : recorded.placements) {
      if (p.device != counter.device || p.stage < 0) continue;
      if (stash && recorded.catalog->stages[static_cast<std::size_t>(p.stage)].stashEntries == 0) continue;
      if (p.pass == model::Pass::forward) ++replayed[p.start.count];
      if (p.pass == (split ? model::Pass::weightGradient : model::Pass::backward)) --replayed[p.end.count];
    }
    std::map<std::int64_t, int> counted;  // time → value from then on
    for (const model::CounterSample& sample : **samples) {
      if (sample.counter == counter.id) counted[sample.time.count] = static_cast<int>(sample.value);
    }
    int live = 0;
    std::map<std::int64_t, int> expected;
    for (const auto& [time, change] : replayed) expected[time] = live += change;
    EXPECT_EQ(counted, expected) << counter.name << " of device " << counter.device.value;
    EXPECT_EQ(live, 0);
  }
}

class RandomSchedules : public testing::TestWithParam<int> {};

TEST_P(RandomSchedules, EqualTheirFormulaAndAreWhole) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto pick = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  const int stages = 2 * pick(1, 4);
  std::vector<double> forward, backward;
  for (int s = 0; s < stages; ++s) {
    forward.push_back(pick(1, 12) / 4.0);
    backward.push_back(pick(2, 24) / 4.0);
  }
  const double exchange = pick(0, 3) / 4.0;
  const int microBatches = 2 * stages * pick(1, std::max(1, 16 / stages));
  for (const schedules::ScheduleDefinition& definition : schedules::scheduleRegistry().all()) {
    const std::string& schedule = definition.name;
    SCOPED_TRACE(schedule);
    compile::FixedRun run = laidOutRun(schedule, stages, microBatches, forward, backward);
    run.exchange = exchange;
    run.deviceIterations = 2;
    run.call = 1.5;
    for (auto& stage : run.stages) stage.update = pick(0, 4) / 4.0;
    const RecordedSchedule recorded = recordInMemory(run, 2);
    const bool barrier = recorded.placements.front().slot >= 0;
    expectCovered(recorded, barrier);
    expectCausesAndPath(recorded, exchange);
    expectDependencies(recorded, definition.pipes);
    expectMemoryIsReplayed(recorded);
    const RecordedSchedule flush = [&] {
      compile::FixedRun once = laidOutRun(schedule, stages, microBatches, forward, backward);
      once.exchange = exchange;
      return recordInMemory(once);
    }();
    const double span = units(flush.run().end - flush.run().start);
    if (schedule == "popart") {
      EXPECT_NEAR(span, popartByFormula(microBatches, forward, backward, exchange), 1e-6);
    } else if (schedule == "gpipe") {
      EXPECT_NEAR(span, gpipeByRecurrence(microBatches, forward, backward, exchange), 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSchedules, testing::Range(0, 24));

TEST(ScheduleProperties, LostTimesAddUpToTheStep) {
  compile::FixedRun run = fixedRun("popart", 9, {1, 2, 1, 1}, {2, 4, 3, 2});
  run.exchange = 0.5;
  run.deviceIterations = 3;
  run.call = 4;
  for (auto& stage : run.stages) stage.update = 0.25;
  const RecordedSchedule recorded = recordInMemory(run);
  const auto report = analysis::stagesReport(*recorded.file, *recorded.catalog, recorded.executable);
  ASSERT_TRUE(report.ok()) << report.error().message;
  const analysis::LostTime& lost = report->lost;
  const double scale = 1e6;
  EXPECT_NEAR(lost.useful + lost.fillAndDrain + lost.imbalance + lost.exchangeUpdateHost, lost.step, 1);
  EXPECT_NEAR(lost.useful / scale, 9 * 4.0, 1e-6);  // G · mean(F+B) = 9 · 16/4
  EXPECT_NEAR((lost.useful + lost.fillAndDrain) / scale, (9 + 4 - 1) * 4.0, 1e-6);  // balanced: (G+N−1)(F+B)
  EXPECT_NEAR((lost.useful + lost.fillAndDrain + lost.imbalance) / scale,
              popartByFormula(9, {1, 2, 1, 1}, {2, 4, 3, 2}, 0), 1e-6);
  EXPECT_NEAR(lost.exchangeUpdateHost / scale, 0.5 * (9 + 6) + 4 * 0.25 + 4.0 / 3, 1e-6);
  EXPECT_EQ(report->slowestStage, 1);
  EXPECT_NEAR(report->imbalance.value(), 6 / 4.0, 1e-9);
  EXPECT_NEAR(report->imbalanceForward.value(), 2 / 1.25, 1e-9);
  EXPECT_NEAR(report->imbalanceBackward.value(), 4 / 2.75, 1e-9);
}

TEST(ScheduleProperties, WaitsNameTheSlowerStage) {
  const RecordedSchedule recorded = recordInMemory(fixedRun("popart", 8, {1, 1, 2, 1}, {2, 2, 4, 2}));
  const auto groups = analysis::waitGroups(*recorded.file, *recorded.catalog, recorded.executable);
  ASSERT_TRUE(groups.ok());
  double slower = 0, fill = 0, drain = 0;
  for (const analysis::WaitGroup& group : *groups) {
    if (group.device.value != 0) continue;
    if (group.cause == model::WaitCause::slowerStage && group.waitedForStage == 2)
      slower += group.ticksPerIteration;
    if (group.cause == model::WaitCause::fill) fill += group.ticksPerIteration;
    if (group.cause == model::WaitCause::drain) drain += group.ticksPerIteration;
  }
  // Device 0 in cycles 2…13 (which take 2,3,6×6,4,4,2,2) is busy for 1,1,1,1,3,3,2,2,2,2,2,2. The waits of
  // cycle 3 are for stage 3.
  EXPECT_DOUBLE_EQ(slower / 1e6, (2 - 1) + (6 - 1) * 2 + (6 - 3) * 2 + (6 - 2) * 2 + (4 - 2) * 2);
  EXPECT_DOUBLE_EQ(fill, 0);
  EXPECT_DOUBLE_EQ(drain, 0);
}

TEST(ScheduleProperties, MinimumMicroBatchesAreNamed) {
  const auto refusal = [](std::vector<int> devices, int microBatches, bool training) {
    compile::FixedRun run = fixedRun("popart", microBatches, std::vector<double>(devices.size(), 1),
                                     std::vector<double>(training ? devices.size() : 0, 1));
    run.placeOfStage = devices;
    const auto compiled = compile::compileFixed(run);
    return compiled.ok() ? std::string() : compiled.error().message;
  };
  EXPECT_NE(refusal({0, 1, 2, 3}, 6, true).find("at least 7"), std::string::npos);
  EXPECT_EQ(refusal({0, 1, 2, 3}, 7, true), "");
  EXPECT_NE(refusal({0, 0, 1}, 2, true).find("at least 3"), std::string::npos);
  EXPECT_EQ(refusal({0, 0, 1}, 3, true), "");
  EXPECT_NE(refusal({0, 1, 2, 1}, 6, true).find("at least 7"), std::string::npos);
  EXPECT_NE(refusal({1, 0}, 4, true).find("at least 5"),
            std::string::npos);  // counted 3 forward stages, as PopTorch does
  EXPECT_NE(refusal({0, 1, 2, 3}, 3, false).find("at least 4"), std::string::npos);
  EXPECT_EQ(refusal({0}, 1, true), "");
  compile::FixedRun gpipe = fixedRun("gpipe", 1, {1, 1, 1, 1}, {1, 1, 1, 1});
  EXPECT_TRUE(compile::compileFixed(gpipe).ok());
  gpipe.schedule = "no-such";
  EXPECT_NE(compile::compileFixed(gpipe).error().message.find("popart"), std::string::npos);
}

TEST(ScheduleProperties, StagesThatRevisitADeviceAddUpInACycle) {
  // Devices 0,1,2,1: in a full cycle device 1 does F of stage 1, F and B of stage 3, and B of stage 1.
  compile::FixedRun run = fixedRun("popart", 8, {1, 1, 1, 1}, {2, 2, 2, 2});
  run.placeOfStage = {0, 1, 2, 1};
  const RecordedSchedule recorded = recordInMemory(run);
  double longest = 0;
  std::map<int, double> onDevice1;
  for (const model::Placement& p : recorded.placements) {
    if (p.device.value == 1) longest = std::max(longest, onDevice1[p.slot] += units(p.end - p.start));
  }
  EXPECT_DOUBLE_EQ(longest, 6);
  expectCovered(recorded, true);
  expectCausesAndPath(recorded, 0);
}

}  // namespace
}  // namespace pipescope::tests
