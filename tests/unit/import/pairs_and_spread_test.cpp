// Pairs of launches and kernels, collectives of kernels, and the spread of times, with small cases by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "profiler/import/read/time_spread.h"
#include "profiler/import/recognise/flow_pairs.h"
#include "profiler/import/recognise/kernel_collectives.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::LaneId;
using testing::ElementsAre;

/// Launches on lane 0 of the host and kernels on lanes of devices 1 and 2, with what is recorded of them.
struct Paired {
  explicit Paired(bool correlated = true) : pairs(testing::TempDir(), correlated) {}
  void launch(std::int64_t id, std::int64_t start) {
    EXPECT_TRUE(pairs.addSlice(id, false, LaneId(0), Ticks(start)).ok());
  }
  void kernel(std::int64_t id, std::int64_t start, int lane = 1) {
    EXPECT_TRUE(pairs.addSlice(id, true, LaneId(lane), Ticks(start)).ok());
  }
  void arrow(EventKind kind, std::int64_t id, int lane, std::int64_t time) {
    TraceEvent event;
    event.kind = kind;
    event.category = NameId(3);
    event.id = id;
    EXPECT_TRUE(pairs.addFlow(event, LaneId(lane), Ticks(time)).ok());
  }
  /// Lane and time of both ends.
  std::vector<std::tuple<int, std::int64_t, int, std::int64_t>> transfers() {
    EXPECT_TRUE(pairs.write(recorder, {{LaneId(1), DeviceId(1)}, {LaneId(2), DeviceId(2)}}).ok());
    EXPECT_TRUE(recorder.commit().ok());
    std::vector<std::tuple<int, std::int64_t, int, std::int64_t>> found;
    for (const model::Transfer& row : **profile.rows<model::Transfer>())
      found.emplace_back(static_cast<int>(row.fromLane.value), row.start.count,
                         static_cast<int>(row.toLane.value), row.end.count);
    return found;
  }
  /// Time and value of what waits in the queue of a device.
  std::vector<std::pair<std::int64_t, double>> queueOf(int device) {
    std::vector<std::pair<std::int64_t, double>> found;
    for (const model::CounterSample& row : **profile.rows<model::CounterSample>())
      if ((**profile.rows<model::Counter>())[static_cast<std::size_t>(row.counter.value)].device ==
          DeviceId(device))
        found.emplace_back(row.time.count, row.value);
    return found;
  }
  record::MemoryProfile profile;
  record::Recorder recorder{profile};
  FlowPairs pairs;
};

using Transfers = std::vector<std::tuple<int, std::int64_t, int, std::int64_t>>;
using Queue = std::vector<std::pair<std::int64_t, double>>;

TEST(FlowPairs, TheNthLaunchOfAnIdStartsTheNthKernel) {
  Paired paired;
  paired.launch(7, 100);
  paired.launch(7, 10);
  paired.kernel(7, 20);
  paired.kernel(7, 130);
  paired.launch(8, 50);  // has no kernel
  paired.kernel(9, 60);  // has no launch
  paired.kernel(0, 70);  // states none
  EXPECT_EQ(paired.transfers(), (Transfers{{0, 10, 1, 20}, {0, 100, 1, 130}}));
}

TEST(FlowPairs, OneLaunchOfAGraphStartsAllKernelsUpToTheNext) {
  Paired paired;
  paired.launch(7, 10);
  paired.launch(7, 100);
  for (const std::int64_t start : {20, 30, 100, 140}) paired.kernel(7, start);
  paired.kernel(7, 5);  // before both: of the first
  EXPECT_EQ(paired.transfers(),
            (Transfers{{0, 10, 1, 10}, {0, 10, 1, 20}, {0, 10, 1, 30}, {0, 100, 1, 100}, {0, 100, 1, 140}}));
}

TEST(FlowPairs, AStepPassesAnArrowOn) {
  Paired paired;
  paired.arrow(EventKind::flowStart, 4, 0, 10);
  paired.arrow(EventKind::flowStep, 4, 1, 20);
  paired.arrow(EventKind::flowEnd, 4, 2, 30);
  paired.arrow(EventKind::flowStart, 4, 3, 30);  // begins at the end of the other, and leads to the next end
  paired.arrow(EventKind::flowStep, 4, 1, 40);
  paired.arrow(EventKind::flowEnd, 4, 2, 50);
  paired.arrow(EventKind::flowStep, 5, 1, 60);  // begins nowhere
  const auto found = paired.transfers();
  EXPECT_THAT(found, testing::IsSupersetOf(Transfers{{0, 10, 1, 20}, {3, 30, 1, 40}, {1, 40, 2, 50}}));
  EXPECT_EQ(found.size(), 4U);
  // The later of two beginnings before an end counts, also if it is at the same time.
  EXPECT_THAT(found, testing::Contains(std::tuple(3, std::int64_t{30}, 2, std::int64_t{30})));
}

TEST(FlowPairs, LaunchesWaitInTheQueueOfTheirDevice) {
  Paired paired;
  paired.launch(1, 10);
  paired.launch(2, 12);
  paired.launch(3, 20);
  paired.launch(4, 21);
  paired.kernel(1, 20);
  paired.kernel(2, 30);
  paired.kernel(3, 40);
  paired.kernel(4, 25, 2);
  EXPECT_EQ(paired.transfers().size(), 4U);
  // At 20 one kernel starts and another one is launched.
  EXPECT_EQ(paired.queueOf(1), (Queue{{10, 1}, {12, 2}, {20, 2}, {30, 1}, {40, 0}}));
  EXPECT_EQ(paired.queueOf(2), (Queue{{21, 1}, {25, 0}}));
}

TEST(FlowPairs, WithoutCorrelationsOnlyArrowsCount) {
  Paired paired(false);
  paired.launch(1, 10);
  paired.kernel(1, 20);
  paired.arrow(EventKind::flowStart, 1, 0, 11);
  paired.arrow(EventKind::flowEnd, 1, 1, 22);
  EXPECT_EQ(paired.transfers(), (Transfers{{0, 11, 1, 22}}));
  EXPECT_FALSE(Paired(false).pairs.isKnown("ac2g"));
  EXPECT_TRUE(Paired(true).pairs.isKnown("ac2g"));
  EXPECT_FALSE(Paired(true).pairs.isKnown("fwdbwd"));
}

TEST(KernelCollectives, TheNthOfEachRankAreOneCollective) {
  KernelCollectives collectives;
  const auto add = [&](const char* group, int device, std::int64_t start) {
    collectives.add(group, {DeviceId(device), Ticks(start), Ticks(start + 5)});
  };
  add("a, AllReduce", 0, 30), add("a, AllReduce", 0, 10);
  add("a, AllReduce", 1, 12), add("a, AllReduce", 1, 29);
  add("b", 0, 1), add("b", 0, 2), add("b", 1, 1);  // one rank lacks one
  add("c", 0, 1);                                  // one rank only
  std::vector<std::string> operations;
  collectives.eachGroup([&](std::string_view operation, const auto&) { operations.emplace_back(operation); });
  EXPECT_THAT(operations, ElementsAre("AllReduce", "b", "c"));
  std::vector<std::vector<std::int64_t>> starts;
  collectives.take([&](const std::vector<CollectiveMember>& members) {
    std::vector<std::int64_t>& own = starts.emplace_back();
    for (const CollectiveMember& member : members) own.push_back(member.start.count);
  });
  EXPECT_THAT(starts, ElementsAre(ElementsAre(10, 12), ElementsAre(29, 30)));
}

constexpr std::int64_t kMinute = 60'000'000'000'000, kSecond = 1'000'000'000'000;

/// Events of a second's length, one each second from `first` on.
void addEvents(TimeSpread& spread, std::int64_t first, int count) {
  for (int i = 0; i < count; ++i) spread.add(first + i * kSecond, first + (i + 1) * kSecond);
}

TEST(TimeSpread, FewEventsFarFromMostLieApart) {
  TimeSpread spread;
  addEvents(spread, 0, 2);               // 2 s
  addEvents(spread, 100 * kMinute, 30);  // 30 s, ten times as many as the others together
  addEvents(spread, 3000 * kMinute, 1);  // alone
  const auto kept = spread.kept();
  EXPECT_EQ(kept.first, 100 * kMinute);
  EXPECT_EQ(kept.lastStart, 100 * kMinute + 29 * kSecond);
  EXPECT_EQ(kept.last, 100 * kMinute + 30 * kSecond);
  ASSERT_EQ(kept.apart.size(), 2U);
  EXPECT_EQ(kept.apart[0].events, 2);
  EXPECT_EQ(kept.apart[0].distance, 100 * kMinute - 2 * kSecond);
  EXPECT_TRUE(kept.apart[0].before);
  EXPECT_EQ(kept.apart[1].events, 1);
  EXPECT_EQ(kept.apart[1].distance, 2900 * kMinute - 30 * kSecond);
  EXPECT_FALSE(kept.apart[1].before);
}

TEST(TimeSpread, ManyEventsOrNearOnesBelongToTheTrace) {
  const auto apart = [](int few, int many, std::int64_t minutes) {
    TimeSpread spread;
    addEvents(spread, 0, few);
    addEvents(spread, minutes * kMinute, many);
    return spread.kept().apart.size();
  };
  EXPECT_EQ(apart(2, 20, 100), 1U);
  EXPECT_EQ(apart(3, 29, 100), 0U) << "less than ten times as many";
  EXPECT_EQ(apart(3, 30, 100), 1U);
  EXPECT_EQ(apart(3, 9, 24 * 60), 0U) << "a little less than a day";
  EXPECT_EQ(apart(3, 9, 24 * 60 + 1), 1U) << "three times as many are enough for a day";
  EXPECT_EQ(apart(3, 8, 24 * 60 + 1), 0U);
  EXPECT_EQ(apart(1, 31, 10), 0U) << "less than ten minutes after its end";
  EXPECT_EQ(apart(1, 31, 11), 1U) << "more than twenty times the 30 s";
  EXPECT_EQ(apart(1, 41, 11), 0U) << "40 s";
}

TEST(TimeSpread, NothingIsNothing) {
  EXPECT_TRUE(TimeSpread().kept().apart.empty());
}

}  // namespace
}  // namespace pipescope::importing
