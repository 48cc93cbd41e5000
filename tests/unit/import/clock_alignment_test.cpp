#include "profiler/import/align/clock_alignment.h"
#include "profiler/import/recognise/some_collectives.h"

#include <gtest/gtest.h>

#include <random>

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::Pass;

RecordedPass pass(int stage, int microBatch, Pass kind, std::int64_t start, std::int64_t end) {
  RecordedPass result;
  result.stage = stage;
  result.microBatch = microBatch;
  result.pass = kind;
  result.start = Ticks(start);
  result.end = Ticks(end);
  return result;
}

/// A pipeline of four stages in which every message takes `latency`, recorded with clocks that are `moved`.
std::vector<RecordedEvents> recorded(const std::vector<std::int64_t>& moved, std::int64_t latency) {
  constexpr int kStages = 4, kMicroBatches = 5;
  std::vector<RecordedEvents> traces(kStages);
  std::vector<std::int64_t> free(kStages, 0);
  std::mt19937 random(4);
  for (int m = 0; m < kMicroBatches; ++m) {
    std::int64_t ready = 0;
    const auto run = [&](int s, Pass kind) {
      const std::int64_t start = std::max(free[s], ready), end = start + 100 + random() % 50;
      traces[s].passes.push_back(pass(s, m, kind, start + moved[s], end + moved[s]));
      free[s] = end;
      ready = end + latency;
    };
    for (int s = 0; s < kStages; ++s) run(s, Pass::forward);
    for (int s = kStages; s-- > 0;) run(s, Pass::backward);
  }
  return traces;
}

TEST(ClockAlignment, FindsHowFarClocksAreApart) {
  const std::vector<std::int64_t> moved = {0, 5'000'000, -70'000, 123'456};
  const ClockAlignment alignment = alignClocks(recorded(moved, 6));
  EXPECT_EQ(alignment.groupCount(), 1);
  EXPECT_EQ(alignment.pairs, 2 * 3 * 5);
  EXPECT_EQ(alignment.contradictions, 0);
  // Messages take as long both ways, so the middle of the range is the truth.
  for (std::size_t i = 0; i < moved.size(); ++i) EXPECT_EQ(alignment.offsets[i], -moved[i]) << i;
  EXPECT_EQ(alignment.uncertainty, 6);
}

/// The traces may come in any order, so that a clock is joined to a later one.
TEST(ClockAlignment, JoinsClocksInAnyOrder) {
  const std::vector<std::int64_t> moved = {0, 5'000'000, -70'000, 123'456};
  std::vector<std::size_t> order = {0, 1, 2, 3};
  do {
    const auto inStages = recorded(moved, 6);
    std::vector<RecordedEvents> traces;
    for (const std::size_t stage : order) traces.push_back(inStages[stage]);
    const ClockAlignment alignment = alignClocks(traces);
    EXPECT_EQ(alignment.contradictions, 0);
    for (std::size_t i = 0; i < order.size(); ++i)
      EXPECT_EQ(alignment.offsets[i], moved[order[0]] - moved[order[i]]) << i;
  } while (std::next_permutation(order.begin(), order.end()));
}

/// No clock gains more than a millisecond in a second, so a jump is no drift.
TEST(ClockAlignment, DoesNotTakeAJumpForADrift) {
  std::vector<RecordedEvents> traces(2);
  for (int n = 0; n < 100; ++n) {
    const std::size_t from = n % 2, to = 1 - from;
    const std::int64_t sent = n * 1'000, jump = n < 50 ? 0 : 2'000;
    const auto own = [&](std::size_t rank, std::int64_t time) { return rank == 0 ? time : time + jump; };
    RecordedPass send, receive;
    send.rank = receive.peer = static_cast<std::int64_t>(from);
    receive.rank = send.peer = static_cast<std::int64_t>(to);
    send.start = Ticks(own(from, sent));
    send.end = send.start + Ticks(1);
    receive.start = Ticks(own(to, sent - 100));
    receive.end = Ticks(own(to, sent + 20));
    traces[from].sends.push_back(send);
    traces[to].receives.push_back(receive);
  }
  const ClockAlignment alignment = alignClocks(traces);
  EXPECT_EQ(alignment.pairs, 100);
  EXPECT_EQ(alignment.drifts, (std::vector<double>{0, 0}));
  EXPECT_GT(alignment.contradictions, 0);
}

TEST(ClockAlignment, SaysWhenClocksContradictEachOther) {
  auto traces = recorded({0, 0, 0, 0}, 2);
  // One clock jumps between the steps.
  auto& passes = traces[2].passes;
  for (std::size_t i = 4; i < passes.size(); ++i) {
    passes[i].start = passes[i].start + Ticks(900);
    passes[i].end = passes[i].end + Ticks(900);
  }
  EXPECT_GT(alignClocks(traces).contradictions, 0);
  EXPECT_GT(contradictionsOf(traces, {0, 0, 0, 0}), 0);
  EXPECT_EQ(contradictionsOf(recorded({0, 0, 0, 0}, 2), {0, 0, 0, 0}), 0);
}

TEST(ClockAlignment, LeavesTracesWithoutCommonPasses) {
  auto traces = recorded({0, 0, 0, 0}, 2);
  traces.emplace_back();
  EXPECT_EQ(alignClocks(traces).groups, (std::vector<std::size_t>{0, 0, 0, 0, 1}));
}

TEST(ClockAlignment, FindsClocksThatDrift) {
  // Two ranks exchange messages for 100 s, in microseconds. The second clock is 7 s ahead and gains 40 µs in
  // each second. Messages take from 20 to 60 µs.
  constexpr double kGain = 40e-6;
  std::vector<RecordedEvents> traces(2);
  std::mt19937 random(9);
  const auto own = [](std::size_t rank, std::int64_t time) {
    return rank == 0 ? time : time + 7'000'000 + static_cast<std::int64_t>(kGain * static_cast<double>(time));
  };
  for (int n = 0; n < 2000; ++n) {
    const std::size_t from = n % 2, to = 1 - from;
    const std::int64_t sent = n * 50'000, received = sent + 20 + random() % 40;
    RecordedPass send, receive;
    send.rank = receive.peer = static_cast<std::int64_t>(from);
    receive.rank = send.peer = static_cast<std::int64_t>(to);
    send.start = Ticks(own(from, sent));
    send.end = send.start + Ticks(1);
    receive.start = Ticks(own(to, sent - 100));
    receive.end = Ticks(own(to, received));
    traces[from].sends.push_back(send);
    traces[to].receives.push_back(receive);
  }
  const ClockAlignment alignment = alignClocks(traces);
  EXPECT_EQ(alignment.pairs, 2000);
  EXPECT_EQ(alignment.contradictions, 0);
  EXPECT_NEAR(alignment.drifts[1], -kGain, 1e-6);
  // The true time lies within the stated uncertainty all along.
  EXPECT_LE(alignment.uncertainty, 30);
  for (const std::int64_t time : {0LL, 50'000'000LL, 99'000'000LL}) {
    const TraceClock first{0, 0}, second{-alignment.offsets[1], alignment.drifts[1]};
    EXPECT_LE(std::abs(second.common(own(1, time)) - first.common(time)), 30) << time;
  }
}

/// Every rank leaves a collective at the same time; each enters it at a time of its own. `queue` is that of
/// an accelerator; −1: a host.
std::vector<RecordedEvents> recordedCollectives(const std::vector<std::int64_t>& moved, std::int64_t queue) {
  std::vector<RecordedEvents> traces(moved.size());
  for (int n = 0; n < 6; ++n) {
    for (std::size_t rank = 0; rank < moved.size(); ++rank) {
      RecordedPass sum = pass(-1, -1, Pass::collective,
                              n * 1000 + (n % 3 == static_cast<int>(rank) ? 90 : 10), n * 1000 + 100);
      sum.name = "ncclKernel_AllReduce";
      sum.start = sum.start + Ticks(moved[rank]);
      sum.end = sum.end + Ticks(moved[rank]);
      sum.queue = queue;
      traces[rank].passes.push_back(sum);
    }
  }
  return traces;
}

TEST(ClockAlignment, UsesCollectivesOfAllRanks) {
  const std::vector<std::int64_t> moved = {0, 900'000, -250'000};
  const auto traces = recordedCollectives(moved, 7);
  const ClockAlignment alignment = alignClocks(traces);
  ASSERT_EQ(alignment.groupCount(), 1);
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_NEAR(alignment.offsets[rank], -moved[rank], 10) << rank;
  EXPECT_EQ(alignment.contradictions, 0);
  EXPECT_EQ(alignClocks(traces, ClockFacts::messages).groupCount(), 3);
}

TEST(ClockAlignment, SomeOfManyCollectivesSuffice) {
  const std::vector<std::int64_t> moved = {0, 900'000};
  std::vector<RecordedEvents> traces(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    SomeCollectives some;
    RecordedPass sum;
    sum.pass = Pass::collective;
    sum.processGroup = "7";
    sum.queue = 3;
    sum.name = "ncclDevKernel_AllReduce";
    for (int n = 0; n < 20'000; ++n) {
      // They end together, and the rank that begins last takes 10.
      sum.start = Ticks(moved[rank] + 1000 * n + (n % 2 == static_cast<int>(rank) ? 500 : 100));
      sum.end = Ticks(moved[rank] + 1000 * n + 510);
      some.add(sum);
    }
    traces[rank].passes = some.take();
    EXPECT_LE(traces[rank].passes.size(), 8192U);
    EXPECT_GE(traces[rank].passes.size(), 2048U);
  }
  const ClockAlignment alignment = alignClocks(traces);
  EXPECT_EQ(alignment.groupCount(), 1);
  EXPECT_EQ(alignment.contradictions, 0);
  EXPECT_NEAR(alignment.offsets[1], -moved[1], 10);
  // A rank that held one more keeps as many, but they are not the same.
  for (RecordedPass& pass : traces[1].passes) ++pass.alike;
  EXPECT_EQ(alignClocks(traces).groupCount(), 2);
}

/// The root of a broadcast is done long before the other ranks begin.
TEST(ClockAlignment, BroadcastsDoNotBindAllRanks) {
  const std::vector<std::int64_t> moved = {0, 900'000, -250'000};
  for (const char* name : {"gloo:broadcast", "nccl:reduce", "gloo:gather", "ncclKernel_Broadcast_RING_LL",
                           "ncclDevKernel_Reduce_Sum_f32_RING_LL"}) {
    auto traces = recordedCollectives(moved, 7);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      for (int n = 0; n < 5; ++n) {
        RecordedPass own = traces[rank].passes.front();
        own.name = name;
        own.start = Ticks(moved[rank] + 7000 + 1000 * n + (rank == 1 ? 100 : 500));
        own.end = own.start + Ticks(20);
        traces[rank].passes.push_back(own);
      }
    }
    const ClockAlignment alignment = alignClocks(traces);
    EXPECT_EQ(alignment.contradictions, 0) << name;
    for (std::size_t rank = 0; rank < 3; ++rank)
      EXPECT_NEAR(alignment.offsets[rank], -moved[rank], 10) << name;
    EXPECT_FALSE(collectivesAreApart(traces, alignment.offsets)) << name;
  }
}

/// Three ranks meet in four collectives that last 900 ticks. Each rank enters them at another time.
std::vector<RecordedEvents> meeting(const std::vector<std::int64_t>& moved) {
  std::vector<RecordedEvents> traces(moved.size());
  for (std::size_t t = 0; t < moved.size(); ++t) {
    for (int n = 0; n < 4; ++n) {
      const std::int64_t end = 1000 * n + 900 + moved[t];
      RecordedPass kernel = pass(-1, -1, Pass::collective, end - 900 + 70 * static_cast<int>(t), end);
      kernel.name = "all_reduce";
      kernel.queue = 7;
      traces[t].passes.push_back(kernel);
    }
    traces[t].steps.push_back({{}, Ticks(moved[t]), Ticks(moved[t] + 4000), 12});
  }
  return traces;
}

TEST(ClockAlignment, NoticesDatesByWhichCollectivesAreApart) {
  EXPECT_FALSE(collectivesAreApart(meeting({0, 0, 0}), {0, 0, 0}));
  EXPECT_FALSE(collectivesAreApart(meeting({0, 300, -300}), {0, 0, 0}));
  EXPECT_TRUE(collectivesAreApart(meeting({0, 0, 5000}), {0, 0, 0}));
  EXPECT_FALSE(collectivesAreApart(meeting({0, 0, 5000}), {0, 0, -5000}));
  // A root need not wait for the others.
  auto traces = meeting({0, 0, 0});
  traces[0].passes[1].end = traces[0].passes[1].start + Ticks(10);
  EXPECT_FALSE(collectivesAreApart(traces, {0, 0, 0}));
  // A rank that recorded another training step took part in other collectives.
  traces = meeting({0, 0, 5000});
  traces[2].steps[0].step = 13;
  EXPECT_FALSE(collectivesAreApart(traces, {0, 0, 0}));
}

TEST(ClockAlignment, GuessesWhichCollectivesOfHostsBelongTogether) {
  const std::vector<std::int64_t> moved = {0, 900'000, -250'000};
  const auto traces = recordedCollectives(moved, -1);
  EXPECT_EQ(alignClocks(traces).groupCount(), 3);
  const ClockAlignment alignment = alignClocks(traces, ClockFacts::guessed);
  ASSERT_EQ(alignment.groupCount(), 1);
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_NEAR(alignment.offsets[rank], -moved[rank], 10) << rank;
}

TEST(ClockAlignment, AlignsEachPipelineForItself) {
  // Two replicas of a pipeline that share nothing: the clocks of each are aligned with those of its first
  // rank.
  const std::vector<std::int64_t> moved = {40'000, 5'000'000, -70'000, 123'456};
  std::vector<RecordedEvents> traces = recorded(moved, 6);
  for (RecordedEvents& other : recorded(moved, 6)) {
    for (RecordedPass& row : other.passes) {
      row.replica = "other";
      row.start = row.start + Ticks(77);
      row.end = row.end + Ticks(77);
    }
    traces.push_back(other);
  }
  const ClockAlignment alignment = alignClocks(traces);
  EXPECT_EQ(alignment.groups, (std::vector<std::size_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(alignment.contradictions, 0);
  for (std::size_t i = 0; i < traces.size(); ++i)
    EXPECT_EQ(alignment.offsets[i], moved[0] - moved[i % 4]) << i;
}

}  // namespace
}  // namespace pipescope::importing
