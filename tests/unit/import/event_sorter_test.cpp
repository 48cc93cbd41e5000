#include "profiler/import/read/event_sorter.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <tuple>

namespace pipescope::importing {
namespace {

TraceEvent randomEvent(std::mt19937& random, std::int64_t number) {
  TraceEvent event;
  event.thread = ThreadId(static_cast<std::int64_t>(random() % 4));
  event.process = ProcessId(event.thread.value / 2);
  event.name = NameId(static_cast<std::int64_t>(random() % 9));
  event.category = NameId(2);
  event.time = static_cast<std::int64_t>(random() % 50) - 20;
  event.duration = static_cast<std::int64_t>(random() % 5);
  event.id = number;
  for (std::uint32_t i = random() % 4; i > 0; --i)
    event.add({Argument::bytes, false, static_cast<std::int64_t>(random())});
  return event;
}

/// `aside`: after how many events some are taken aside and written; 0: never.
void expectSorted(EventSorter::Limits limits, int aside = 0, int threads = 4) {
  EventSorter sorter(testing::TempDir(), limits);
  std::mt19937 random(5);
  std::vector<TraceEvent> expected;
  for (std::int64_t i = 0; i < 3000; ++i) {
    expected.push_back(randomEvent(random, i));
    expected.back().thread = ThreadId(static_cast<std::int64_t>(random() % 4) * (threads / 4));
    ASSERT_TRUE(sorter.add(expected.back()).ok());
    if (aside == 0 || i % aside != 0) continue;
    sorter.setAside();
    if (i % (2 * aside) == 0) {
      ASSERT_TRUE(sorter.writeAside().ok());
    }
  }
  std::stable_sort(expected.begin(), expected.end(), [](const TraceEvent& a, const TraceEvent& b) {
    return std::tie(a.thread, a.time, b.duration) < std::tie(b.thread, b.time, a.duration);
  });
  std::size_t at = 0;
  const auto status = sorter.visit([&](const TraceEvent& event) -> base::Status {
    const TraceEvent& other = expected.at(at++);
    EXPECT_EQ(event.id, other.id);
    EXPECT_EQ(event.time, other.time);
    EXPECT_EQ(event.process, other.process);
    EXPECT_EQ(event.argumentCount, other.argumentCount);
    for (std::size_t i = 0; i < event.argumentCount; ++i)
      EXPECT_EQ(event.arguments[i].value, other.arguments[i].value);
    return {};
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(at, expected.size());
}

TEST(EventSorter, SortsInMemory) {
  expectSorted({});
}

TEST(EventSorter, MergesAFewAscendingStretches) {
  EventSorter sorter(testing::TempDir());
  std::vector<std::int64_t> expected;
  for (std::int64_t stretch = 0; stretch < 7; ++stretch) {
    for (std::int64_t i = 0; i < 100 + 13 * stretch; ++i) {
      TraceEvent event;
      event.thread = ThreadId(0);
      event.time = 10 * i + 3 * stretch;
      expected.push_back(event.time);
      ASSERT_TRUE(sorter.add(event).ok());
    }
  }
  std::sort(expected.begin(), expected.end());
  std::vector<std::int64_t> found;
  ASSERT_TRUE(sorter
                  .visit([&](const TraceEvent& event) -> base::Status {
                    found.push_back(event.time);
                    return {};
                  })
                  .ok());
  EXPECT_EQ(found, expected);
}

TEST(EventSorter, SortsByWayOfTemporaryFiles) {
  expectSorted({.memoryBytes = 4096, .readBytes = 64});
}

TEST(EventSorter, SortsWhatIsSetAside) {
  expectSorted({.memoryBytes = 1 << 20, .asideBytes = 2000, .readBytes = 64}, 10);
  expectSorted({.memoryBytes = 1 << 14, .asideBytes = 2000, .readBytes = 64}, 100);
}

TEST(EventSorter, SortsThreadsWithLargeNumbers) {
  expectSorted({}, 0, 400'000'000);
}

TEST(EventSorter, GivesEventsInBatches) {
  for (const std::size_t memory : {std::size_t{1} << 20, std::size_t{4096}}) {
    EventSorter sorter(testing::TempDir(), {.memoryBytes = memory, .readBytes = 64});
    std::mt19937 random(6);
    for (std::int64_t i = 0; i < 1000; ++i) ASSERT_TRUE(sorter.add(randomEvent(random, i)).ok());
    // Twice, because clocks are aligned in a visit of its own.
    for (int visit = 0; visit < 2; ++visit) {
      ASSERT_TRUE(sorter.rewind().ok());
      std::vector<TraceEvent> batch(7);
      std::size_t all = 0;
      std::tuple<ThreadId, std::int64_t> last(ThreadId(-1), 0);
      for (;;) {
        const auto count = sorter.next(batch);
        ASSERT_TRUE(count.ok());
        if (*count == 0) break;
        for (std::size_t i = 0; i < *count; ++i) {
          const std::tuple<ThreadId, std::int64_t> own(batch[i].thread, batch[i].time);
          EXPECT_GE(own, last);
          last = own;
        }
        all += *count;
      }
      EXPECT_EQ(all, 1000U);
    }
  }
}

/// A file that may not grow is like a full disk, which another try may find with more room.
TEST(EventSorter, AFullDiskIsTroubleOfTheMachine) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EventSorter sorter(testing::TempDir(), {.memoryBytes = 1 << 20, .readBytes = 64});
  std::mt19937 random(6);
  base::Status status;
  for (std::int64_t i = 0; i < 1000 && status.ok(); ++i) status = sorter.add(randomEvent(random, i));
  if (status.ok()) status = sorter.holdAtMost(0);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, base::ErrorKind::machine);
  EXPECT_NE(status.error().message.find("choose an output on a disk with more room"), std::string::npos);
}

TEST(EventSorter, UsesTheSystemsFolderWhereItsOwnCannotBeWritten) {
  EventSorter sorter("/proc/1/no-such-folder", {.memoryBytes = 1});
  EXPECT_TRUE(sorter.add(TraceEvent()).ok());
}

}  // namespace
}  // namespace pipescope::importing
