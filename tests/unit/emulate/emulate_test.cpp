// Tests of transfers that share links, of memory counters, and of what recording must not change.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "bus_system.h"
#include "engine/emulate/forecast.h"
#include "engine/emulate/link_contention.h"
#include "engine/emulate/micro_batch_costs.h"

namespace pipescope::tests {
namespace {

int oneBus(const devices::Flow&) {
  return 0;
}
int ownBus(const devices::Flow& flow) {
  return flow.from;
}
int noBus(const devices::Flow&) {
  return -1;
}

std::vector<std::pair<std::int64_t, std::int64_t>> spans(const std::vector<model::Transfer>& transfers) {
  std::vector<std::pair<std::int64_t, std::int64_t>> list;
  for (const model::Transfer& t : transfers) list.emplace_back(t.start.count, t.end.count);
  std::sort(list.begin(), list.end());
  return list;
}

TEST(Contention, TransfersUnderWayShareTheirLink) {
  // Stages take 4, 4 and 1 ticks, each boundary has 10 bytes (12 in whole floats), and the bus carries one
  // byte per tick. By hand: stage 0 sends at 4 and 8. From 8 on both transfers run at half pace. The first
  // has 8 bytes left and ends at 24. The second then has 4 left and has the bus for itself until 28, when it
  // ends and stage 1 sends.
  BusSystem system(3, {4, 4, 1}, {}, oneBus);
  BusRun run;
  emulateOn(system, "gpipe", 3, 2, false, 12, emulate::RecordLevel::stages, run);
  // 4–24: 4 bytes alone, then 8 at half pace. 8–28: 8 bytes in 16 ticks at half pace, then 4 alone. Stage 1
  // computes in 24–28 and 28–32 and sends 12 bytes at 28 and at 32: 4 alone, then 8 at half pace until 48.
  // The second transfer has sent 8 of its 12 bytes by 48 and sends 4 alone.
  EXPECT_EQ(spans(run.transfers),
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 24}, {8, 28}, {28, 48}, {32, 52}}));
  EXPECT_EQ(run.run.end.count, 53);
}

TEST(Contention, FlowsOnOtherLinksDoNotSlowEachOther) {
  BusSystem system(3, {4, 4, 1}, {}, ownBus);
  BusRun run;
  emulateOn(system, "gpipe", 3, 2, false, 4, emulate::RecordLevel::stages, run);
  EXPECT_EQ(spans(run.transfers),
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 8}, {8, 12}, {12, 16}, {16, 20}}));
}

/// Replicas that run in step on one bus take as long as one replica with so many times the bytes. On separate
/// buses they take as long as one alone.
TEST(Contention, ReplicasShareTheLinksTheyHaveInCommon) {
  for (const char* schedule : {"popart", "gpipe", "1f1b"}) {
    const auto spansOf = [&](auto busOf, std::int64_t bytes, int replicas, bool all) {
      BusSystem system(12, {4, 4, 1}, {5, 2, 3}, busOf);
      BusRun run;
      emulateOn(system, schedule, 3, 6, true, bytes, emulate::RecordLevel::stages, run,
                {.replicas = replicas, .recordAll = all});
      return std::pair(spans(run.transfers), run.executable.parts.size());
    };
    const auto [twice, one] = spansOf(oneBus, 24, 1, false);
    EXPECT_EQ(spansOf(oneBus, 12, 2, false), std::pair(twice, one)) << schedule;
    auto [both, two] = spansOf(oneBus, 12, 2, true);
    EXPECT_EQ(two, 2u);
    auto expected = twice;
    expected.insert(expected.end(), twice.begin(), twice.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(both, expected) << schedule;
    EXPECT_EQ(spansOf(ownBus, 12, 4, false), spansOf(ownBus, 12, 1, false)) << schedule;
    // Devices 0 to 5, which are two replicas of three devices, share a bus. The third replica has its own
    // bus.
    const auto pairs = [](const devices::Flow& flow) { return flow.from / 6; };
    BusSystem system(12, {4, 4, 1}, {5, 2, 3}, pairs);
    BusRun run;
    emulateOn(system, schedule, 3, 6, true, 12, emulate::RecordLevel::stages, run, {.replicas = 3});
    ASSERT_EQ(run.executable.parts.size(), 2u) << schedule;
    EXPECT_EQ(run.executable.parts[0].members, 2);
    EXPECT_EQ(run.executable.call.replicas[1].number, 2);
  }
}

TEST(Contention, WithoutLinksTheTimeIsAsGiven) {
  BusSystem system(3, {4, 4, 1}, {}, noBus);
  BusRun run;
  emulateOn(system, "gpipe", 3, 2, false, 12, emulate::RecordLevel::stages, run);
  EXPECT_EQ(spans(run.transfers),
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 16}, {8, 20}, {20, 32}, {24, 36}}));
}

/// Every byte takes a tick of the bus. Between two moments at which it is idle, the bus carries as many bytes
/// as ticks pass.
TEST(Contention, ABusyBusCarriesItsFullRate) {
  for (const char* schedule : {"1f1b", "gpipe"}) {
    for (const int stages : {3, 5, 8}) {
      BusSystem system(stages, std::vector<std::int64_t>(static_cast<std::size_t>(stages), 7),
                       std::vector<std::int64_t>(static_cast<std::size_t>(stages), 13), oneBus);
      BusRun run;
      emulateOn(system, schedule, stages, 12, true, 20, emulate::RecordLevel::stages, run);
      const auto all = spans(run.transfers);
      ASSERT_EQ(all.size(), static_cast<std::size_t>(12 * 2 * (stages - 1)));
      std::int64_t start = all.front().first, end = start, bytes = 0, periods = 0;
      std::size_t members = 0;
      const auto check = [&] {
        // Each change of the set of transfers may round a transfer up by a tick.
        EXPECT_GE(end - start, bytes) << schedule;
        EXPECT_LE(end - start, bytes + static_cast<std::int64_t>(members) * 2) << schedule;
        ++periods;
      };
      for (const auto& [from, to] : all) {
        if (from > end) {
          check();
          start = from;
          bytes = 0;
          members = 0;
        }
        bytes += 20;
        ++members;
        end = std::max(end, to);
      }
      check();
      EXPECT_GT(periods, 0);
    }
  }
}

TEST(Contention, SetsAreSolvedOnce) {
  std::vector<devices::Flow> flows;
  for (int i = 0; i < 4; ++i) flows.push_back({i, i + 1, Bytes(10)});
  BusSystem system(5, {1, 1, 1, 1, 1}, {}, [](const devices::Flow& flow) { return flow.from / 2; });
  emulate::LinkContention links(system, flows);
  EXPECT_EQ(links.groups(), 2);
  EXPECT_EQ(links.groupOf(0), links.groupOf(1));
  EXPECT_NE(links.groupOf(1), links.groupOf(2));
  const int before = system.solved;
  EXPECT_EQ(links.together({0, 1}), (std::vector<Ticks>{Ticks(20), Ticks(20)}));
  EXPECT_EQ(links.together({0, 0, 1}), (std::vector<Ticks>{Ticks(30), Ticks(30), Ticks(30)}));
  for (int i = 0; i < 5; ++i) (void)links.together({0, 1});
  EXPECT_EQ(system.solved, before + 2);
}

TEST(Emulate, TheClockDoesNotFeelWhatIsRecorded) {
  for (const char* schedule : {"popart", "1f1b", "gpipe"}) {
    BusSystem system(4, {3, 5, 2, 4}, {6, 9, 5, 8}, oneBus);
    BusRun recorded, silent;
    emulateOn(system, schedule, 4, 9, true, 8, emulate::RecordLevel::stages, recorded, {.iterations = 3});
    emulateOn(system, schedule, 4, 9, true, 8, emulate::RecordLevel::off, silent, {.iterations = 3});
    EXPECT_EQ(recorded.run.end, silent.run.end) << schedule;
    EXPECT_TRUE(silent.placements.empty());
    EXPECT_EQ(recorded.placements.size(), 9u * 4 * 2 * 3);
    EXPECT_EQ(recorded.computed.busy.count, 9 * 3 * (14 + 28));
    EXPECT_EQ(silent.computed.busy, recorded.computed.busy);
    EXPECT_EQ(silent.computed.end, recorded.computed.end);
  }
}

TEST(Emulate, LiveBytesAreWhatThePlacementsHold) {
  for (const char* schedule : {"popart", "1f1b", "gpipe"}) {
    BusSystem system(4, {3, 5, 2, 4}, {6, 9, 5, 8}, oneBus);
    BusRun run;
    emulateOn(system, schedule, 4, 9, true, 8, emulate::RecordLevel::stages, run);
    const auto samples = run.profile.rows<model::CounterSample>();
    for (int d = 0; d < 4; ++d) {
      const auto device = static_cast<std::size_t>(d);
      // The expected bytes at every start and end of a placement: 1000 always, 100 for each micro-batch on
      // the device if there is a stash, and 10 or 20 while a pass runs.
      const bool stash = run.executable.stashEntries[device] > 0;
      std::map<std::int64_t, std::int64_t> expected;
      const auto bytesAt = [&](std::int64_t time) {
        std::int64_t bytes = 1000;
        std::map<int, std::pair<std::int64_t, std::int64_t>> held;
        for (const model::Placement& p : run.placements) {
          if (p.device.value != d) continue;
          if (p.pass == model::Pass::forward) held[p.microBatch].first = p.start.count;
          if (p.pass == model::Pass::backward) held[p.microBatch].second = p.end.count;
          if (p.start.count <= time && time < p.end.count) bytes += p.pass == model::Pass::forward ? 10 : 20;
        }
        for (const auto& [microBatch, span] : held)
          bytes += stash && span.first <= time && time < span.second ? 100 : 0;
        return bytes;
      };
      for (const model::Placement& p : run.placements) {
        if (p.device.value != d) continue;
        expected[p.start.count] = bytesAt(p.start.count);
        expected[p.end.count] = bytesAt(p.end.count);
      }
      std::map<std::int64_t, std::int64_t> counted;
      for (const model::CounterSample& sample : **samples) {
        if (sample.counter == run.executable.parts[0].liveBytesCounters[device])
          counted[sample.time.count] = static_cast<std::int64_t>(sample.value);
      }
      std::int64_t last = -1;
      ASSERT_FALSE(counted.empty());
      for (const auto& [time, bytes] : expected) {
        if (const auto found = counted.find(time); found != counted.end()) last = found->second;
        EXPECT_EQ(last, bytes) << schedule << " device " << d << " at " << time;
      }
    }
  }
}

TEST(Forecast, IsWhatLongerIterationsGive) {
  BusSystem system(4, {3, 5, 2, 4}, {6, 9, 5, 8}, noBus);
  for (const char* schedule : {"popart", "1f1b", "gpipe"}) {
    const auto bubble = [&](int microBatches) {
      BusRun run;
      emulateOn(system, schedule, 4, microBatches, true, 4, emulate::RecordLevel::off, run);
      return 1 - static_cast<double>(run.computed.busy.count) /
                     (4 * static_cast<double>((run.computed.end - run.computed.start).count));
    };
    BusRun run;
    emulateOn(system, schedule, 4, 8, true, 4, emulate::RecordLevel::stages, run);
    record::MemoryProfile nowhere;
    record::Recorder recorder(nowhere);
    const emulate::SystemIds ids = emulate::recordSystem(recorder, system, 4);
    const auto forecast = emulate::forecastBubble(system, ids, run.executable);
    ASSERT_TRUE(forecast.has_value());
    EXPECT_NEAR(forecast->twice, bubble(16), 1e-12);
    EXPECT_NEAR(forecast->fourTimes, bubble(32), 1e-12);
    // Only imbalance is left in the limit, and the exchange of the barrier. 1F1B keeps too few micro-batches
    // in flight to hide its transfers.
    const double slowest = 14 + (std::string(schedule) == "popart" ? 4 : 0);
    if (std::string(schedule) == "1f1b") {
      EXPECT_GT(forecast->limit, 1 - 42 / (4 * slowest));
    } else {
      EXPECT_NEAR(forecast->limit, 1 - 42 / (4 * slowest), 1e-9) << schedule;
    }
    EXPECT_LE(forecast->limit, forecast->fourTimes);
    EXPECT_LE(forecast->fourTimes, forecast->twice);
    // Very long iterations are extrapolated and not emulated: 20,000 micro-batches.
    BusRun longRun;
    emulateOn(system, schedule, 4, 20'000, true, 4, emulate::RecordLevel::off, longRun);
    const auto extended = emulate::forecastBubble(system, ids, longRun.executable);
    ASSERT_TRUE(extended.has_value());
    EXPECT_NEAR(extended->twice, bubble(40'000), 1e-9);
    EXPECT_NEAR(extended->fourTimes, bubble(80'000), 1e-9);
  }
}

TEST(Contention, FlowsThatMeetInAnotherReplicaFormAGroup) {
  // The flows have buses of their own, but their counterparts in the other replica share bus 9.
  BusSystem system(8, {}, {}, [](const devices::Flow& flow) { return flow.from < 4 ? flow.from : 9; });
  const std::vector<devices::Flow> own = {{0, 1, Bytes(4)}, {2, 3, Bytes(4)}},
                                   other = {{4, 5, Bytes(4)}, {6, 7, Bytes(4)}};
  EXPECT_EQ(emulate::LinkContention(system, own).groups(), 2);
  EXPECT_EQ(emulate::LinkContention(system, own, {}, {other}).groups(), 1);
}

TEST(Barrier, WaitsHaveTheirCausesAndCopiesTheirMicroBatches) {
  // Two stages of 4 ticks and three micro-batches make four cycles. Stage 1 has nothing to do in the first
  // and stage 0 nothing in the last, whose copy carries nothing.
  BusSystem system(2, {4, 4}, {}, oneBus);
  BusRun run;
  emulateOn(system, "popart", 2, 3, false, 4, emulate::RecordLevel::stages, run);
  std::vector<std::pair<std::int64_t, model::WaitCause>> waits;
  for (const model::Wait& wait : **run.profile.rows<model::Wait>()) {
    if (wait.cause != model::WaitCause::exchange) waits.emplace_back(wait.device.value, wait.cause);
  }
  std::ranges::sort(waits);
  EXPECT_EQ(waits, (std::vector<std::pair<std::int64_t, model::WaitCause>>{{0, model::WaitCause::drain},
                                                                           {1, model::WaitCause::fill}}));
  std::ranges::sort(run.transfers, {}, &model::Transfer::start);
  std::vector<std::int64_t> microBatches;
  for (const model::Transfer& transfer : run.transfers) microBatches.push_back(transfer.microBatch);
  EXPECT_EQ(microBatches, (std::vector<std::int64_t>{0, 1, 2, -1}));
}

/// Micro-batches with the cost 1 take as long as given, and equal costs the same.
TEST(MicroBatchCosts, EachTakesItsCostTimesAsLong) {
  BusSystem system(2, {4, 2}, {8, 6}, noBus);
  BusRun run;
  emulateOn(system, "gpipe", 2, 4, true, 4, emulate::RecordLevel::steps, run,
            {.microBatchCosts = {1, 2, 0.5, 2}});
  std::map<std::tuple<int, model::Pass, std::int64_t>, std::int64_t> ticks;
  for (const model::Placement& p : run.placements)
    ticks[{p.stage, p.pass, p.microBatch}] += (p.end - p.start).count;
  const auto of = [&](int stage, model::Pass pass) {
    std::vector<std::int64_t> all;
    for (std::int64_t k = 0; k < 4; ++k) all.push_back(ticks[{stage, pass, k}]);
    return all;
  };
  using Ticks4 = std::vector<std::int64_t>;
  EXPECT_EQ(of(0, model::Pass::forward), (Ticks4{4, 8, 2, 8}));
  EXPECT_EQ(of(1, model::Pass::forward), (Ticks4{2, 4, 1, 4}));
  EXPECT_EQ(of(0, model::Pass::backward), (Ticks4{8, 16, 4, 16}));
  EXPECT_EQ(of(1, model::Pass::backward), (Ticks4{6, 12, 3, 12}));
}

TEST(MicroBatchCosts, DistributionsHaveTwoNumbers) {
  for (const char* text :
       {"uniform(128)", "uniform(128, 256, 512)", "uniform()", "normal(128)", "lognormal(a, b)"}) {
    const auto costs = emulate::microBatchCosts(text, 8, 1);
    ASSERT_FALSE(costs.ok()) << text;
    EXPECT_NE(costs.error().message.find("this is no known distribution with two numbers"),
              std::string::npos);
  }
  // All lengths are equal, so that each costs as much as the mean.
  const auto equal = emulate::microBatchCosts("uniform(128, 128)", 3, 1);
  ASSERT_TRUE(equal.ok());
  EXPECT_EQ(*equal, (std::vector<double>{1, 1, 1}));
}

TEST(MicroBatchCosts, RareLengthsAreCutOff) {
  const auto costs = emulate::microBatchCosts("lognormal(100, 2)", 4096, 1);
  ASSERT_TRUE(costs.ok());
  const auto [least, most] = std::ranges::minmax(*costs);
  EXPECT_EQ(least, 1.0 / 32);
  EXPECT_EQ(most, 2.0);
}

}  // namespace
}  // namespace pipescope::tests
