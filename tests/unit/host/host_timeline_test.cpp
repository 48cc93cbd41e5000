// Tests parents, rows, own times and statistics of the host's spans against direct computations over all
// pairs of spans.
#include "profiler/analysis/host/host_timeline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>

#include "profiler/analysis/host/host_statistics.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::analysis {
namespace {

using ::testing::ElementsAre;

/// A profile with the spans of some threads. Names and threads are made as they are used.
class HostProfile {
 public:
  void span(const std::string& thread, const std::string& name, std::int64_t start, std::int64_t end) {
    rows_.of<model::HostSpan>().push_back({threadId(thread), nameId(name), Ticks(start), Ticks(end)});
  }
  void call(std::int64_t start, std::int64_t end) {
    model::Run run;
    run.id = model::RunId(static_cast<std::int64_t>(rows_.of<model::Run>().size()));
    run.name = "call " + std::to_string(run.id.value);
    run.wallStartNs = start;
    run.wallEndNs = end;
    rows_.of<model::Run>().push_back(run);
  }
  model::RowSet& rows() { return rows_; }
  HostTimeline read() const {
    record::MemoryProfile profile;
    EXPECT_TRUE(profile.commit(rows_).ok());
    base::SilentProgress progress;
    const auto made = hostTimeline(profile, progress);
    EXPECT_TRUE(made.ok());
    return **made;
  }

 private:
  model::HostThreadId threadId(const std::string& name) {
    auto& all = rows_.of<model::HostThread>();
    for (const model::HostThread& row : all) {
      if (row.name == name) return row.id;
    }
    all.push_back({model::HostThreadId(static_cast<std::int64_t>(all.size())), "", name});
    return all.back().id;
  }
  model::HostNameId nameId(const std::string& name) {
    auto& all = rows_.of<model::HostName>();
    for (const model::HostName& row : all) {
      if (row.name == name) return row.id;
    }
    all.push_back({model::HostNameId(static_cast<std::int64_t>(all.size())), "test", name});
    return all.back().id;
  }
  model::RowSet rows_;
};

std::string nameOf(const HostTimeline& line, const HostItem& item) {
  return line.names[static_cast<std::size_t>(item.name)].name;
}

/// "name < parent, row r, own n" of each span of the first thread.
std::vector<std::string> described(const HostTimeline& line) {
  std::vector<std::string> texts;
  const HostLane& lane = line.lanes.at(0);
  for (const HostItem& item : lane.spans) {
    const std::string parent =
        item.parent < 0 ? "-" : nameOf(line, lane.spans[static_cast<std::size_t>(item.parent)]);
    texts.push_back(nameOf(line, item) + " < " + parent + ", row " + std::to_string(item.row) + ", own " +
                    std::to_string(item.self.count));
  }
  return texts;
}

TEST(HostTimeline, NestedSpansGetParentsRowsAndOwnTimes) {
  HostProfile profile;  // in the order in which a program ends them
  profile.span("main", "load", 20, 30);
  profile.span("main", "decode", 40, 45);
  profile.span("main", "parse", 35, 50);
  profile.span("main", "whole", 10, 100);
  profile.span("main", "after", 100, 110);
  const HostTimeline line = profile.read();
  EXPECT_THAT(described(line), ElementsAre("whole < -, row 0, own 65", "load < whole, row 1, own 10",
                                           "parse < whole, row 1, own 10", "decode < parse, row 2, own 5",
                                           "after < -, row 0, own 10"));
  EXPECT_EQ(line.zero, 10);
  EXPECT_EQ(line.end.count, 100);
  EXPECT_EQ(line.lanes[0].spans[0].start.count, 0) << "times count from the first recorded moment";
  EXPECT_EQ(line.lanes[0].busy.count, 100);
}

TEST(HostTimeline, OfEqualSpansTheLaterRowIsOutside) {
  HostProfile profile;
  profile.span("main", "inner", 5, 9);
  profile.span("main", "outer", 5, 9);
  EXPECT_THAT(described(profile.read()),
              ElementsAre("outer < -, row 0, own 0", "inner < outer, row 1, own 4"));
}

TEST(HostTimeline, SpansThatOverlapWithoutNestingGetRowsOfTheirOwn) {
  HostProfile profile;  // as two coroutines that take turns
  profile.span("main", "first", 0, 10);
  profile.span("main", "second", 5, 15);
  profile.span("main", "in both", 6, 8);
  EXPECT_THAT(described(profile.read()), ElementsAre("first < -, row 0, own 10", "second < -, row 1, own 8",
                                                     "in both < second, row 2, own 2"));
}

TEST(HostTimeline, RandomSpansObeyTheRulesOfRowsAndParents) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    HostProfile profile;
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    for (int i = 0; i < 60; ++i) {
      const auto start = static_cast<std::int64_t>(random() % 100);
      all.emplace_back(start, start + 1 + static_cast<std::int64_t>(random() % 40));
      profile.span("main", "s", all.back().first, all.back().second);
    }
    const HostTimeline line = profile.read();
    const HostLane& lane = line.lanes.at(0);
    ASSERT_EQ(lane.spans.size(), all.size());
    std::vector<bool> covered(200);
    for (const auto& [start, end] : all) {
      for (std::int64_t t = start; t < end; ++t) covered[static_cast<std::size_t>(t)] = true;
    }
    EXPECT_EQ(lane.busy.count, std::ranges::count(covered, true));
    for (std::size_t i = 0; i < lane.spans.size(); ++i) {
      const HostItem& a = lane.spans[i];
      if (i > 0) {
        EXPECT_LE(lane.spans[i - 1].start, a.start);
      }
      std::int64_t inside = 0;
      for (std::size_t j = 0; j < lane.spans.size(); ++j) {
        const HostItem& b = lane.spans[j];
        if (i != j && a.row == b.row) {
          EXPECT_TRUE(a.end <= b.start || b.end <= a.start) << i << " " << j;
        }
        if (b.parent == static_cast<std::int32_t>(i)) inside += b.length().count;
      }
      EXPECT_EQ(a.self.count, std::max<std::int64_t>(0, a.length().count - inside));
      if (a.parent < 0) continue;
      const HostItem& parent = lane.spans[static_cast<std::size_t>(a.parent)];
      EXPECT_LE(parent.start, a.start);
      EXPECT_GE(parent.end, a.end);
      EXPECT_LT(parent.row, a.row);
    }
    std::size_t inRows = 0;
    for (const auto& row : lane.rows) inRows += row.size();
    EXPECT_EQ(inRows, all.size());
  }
}

TEST(HostTimeline, VeryDeepSpansAreCountedButNotDrawn) {
  HostProfile profile;
  constexpr std::int64_t kDepth = 100'000;  // would take hours if it were compared pair by pair
  for (std::int64_t i = kDepth; i-- > 0;) profile.span("main", "s", i, 2 * kDepth - i);
  const HostTimeline line = profile.read();
  EXPECT_EQ(line.lanes[0].rows.size(), static_cast<std::size_t>(HostItem::kMostRows));
  EXPECT_EQ(hostNameUses(line).at(0).count, kDepth);
  EXPECT_EQ(hostCallTree(line).size(), static_cast<std::size_t>(kDepth) + 1);
  EXPECT_EQ(line.lanes[0].spans.back().self.count, 2);
}

TEST(HostTimeline, WhatAFileMayHoldDoesNoHarm) {
  HostProfile profile;
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  profile.span("main", "backwards", 10, 5);
  profile.span("main", "endless", -kLargest, kLargest);
  auto& rows = profile.rows();
  rows.of<model::HostSpan>().push_back({model::HostThreadId(7), model::HostNameId(0), Ticks(1), Ticks(2)});
  rows.of<model::HostSpan>().push_back({model::HostThreadId(-1), model::HostNameId(0), Ticks(1), Ticks(2)});
  rows.of<model::HostSpan>().push_back({model::HostThreadId(0), model::HostNameId(99), Ticks(1), Ticks(2)});
  rows.of<model::HostSample>().push_back({model::HostSeriesId(3), Ticks(1), 1.0});
  profile.call(-kLargest, kLargest);
  const HostTimeline line = profile.read();
  ASSERT_EQ(line.lanes.size(), 1u);
  EXPECT_EQ(line.lanes[0].spans.size(), 1u);
  EXPECT_EQ(line.lanes[0].events.size(), 1u) << "a span that ends before it starts is an event";
  EXPECT_GT(line.end.count, 0);
  EXPECT_TRUE(line.curves.empty());
}

TEST(HostTimeline, AProfileWithoutTheHostIsEmpty) {
  HostProfile profile;
  profile.call(1, 2);
  const HostTimeline line = profile.read();
  EXPECT_TRUE(line.empty());
  EXPECT_TRUE(hostNameUses(line).empty());
  EXPECT_TRUE(hostCallTree(line).empty());
}

TEST(HostTimeline, ThreadsOfTheSameNameAreNumberedAndMainComesFirst) {
  HostProfile profile;
  auto& rows = profile.rows();
  rows.of<model::HostThread>() = {{model::HostThreadId(0), "", "reader"},
                                  {model::HostThreadId(1), "", "idle"},
                                  {model::HostThreadId(2), "", "reader"},
                                  {model::HostThreadId(3), "instance 1 on node7", "reader"},
                                  {model::HostThreadId(4), "", "main"}};
  rows.of<model::HostName>() = {{model::HostNameId(0), "test", "s"}};
  for (const int thread : {0, 2, 3, 4})
    rows.of<model::HostSpan>().push_back(
        {model::HostThreadId(thread), model::HostNameId(0), Ticks(0), Ticks(1)});
  std::vector<std::string> titles;
  for (const HostLane& lane : profile.read().lanes) titles.push_back(lane.title());
  EXPECT_THAT(titles, ElementsAre("main", "reader", "reader 2", "reader of instance 1 on node7"));
}

TEST(HostTimeline, CallsAndCurvesShareTheClock) {
  HostProfile profile;
  profile.span("main", "compile", -50, -10);
  profile.call(0, 30);
  profile.call(40, 60);
  profile.rows().of<model::HostSeries>() = {{model::HostSeriesId(0), "queue", "length", "items"}};
  for (const auto& [time, value] : {std::pair(20, 3.0), std::pair(5, 1.0), std::pair(70, 5.0)})
    profile.rows().of<model::HostSample>().push_back({model::HostSeriesId(0), Ticks(time), value});
  const HostTimeline line = profile.read();
  EXPECT_EQ(line.zero, -50);
  EXPECT_EQ(line.end.count, 120);
  ASSERT_EQ(line.calls.size(), 2u);
  EXPECT_EQ(line.calls[1].start.count, 90);
  ASSERT_EQ(line.curves.size(), 1u);
  EXPECT_EQ(line.curves[0].points[0].time.count, 55);
  EXPECT_EQ(line.curves[0].smallest, 1.0);
  EXPECT_EQ(line.curves[0].largest, 5.0);
  EXPECT_DOUBLE_EQ(line.curves[0].mean, 3.0);
}

TEST(HostStatistics, ANameIsSummedOverAllThreads) {
  HostProfile profile;
  std::vector<std::int64_t> lengths;
  std::int64_t at = 0;
  for (int i = 1; i <= 200; ++i) {
    const std::int64_t length = i * i % 97 + 1;
    profile.span(i % 3 == 0 ? "worker" : "main", "s", at, at + length);
    lengths.push_back(length);
    at += 100;
  }
  profile.span("main", "around", 0, at);
  const std::vector<HostNameUse> uses = hostNameUses(profile.read());
  ASSERT_EQ(uses.size(), 2u);
  const HostNameUse& use = uses[0].count == 200 ? uses[0] : uses[1];
  std::ranges::sort(lengths);
  EXPECT_EQ(use.threads, 2);
  EXPECT_EQ(use.shortest.count, lengths.front());
  EXPECT_EQ(use.longest.count, lengths.back());
  // The smallest length that so many of the 200 spans do not exceed.
  EXPECT_EQ(use.median.count, lengths[99]);
  EXPECT_EQ(use.p90.count, lengths[179]);
  EXPECT_EQ(use.p99.count, lengths[197]);
  std::int64_t sum = 0;
  for (const std::int64_t length : lengths) sum += length;
  EXPECT_EQ(use.total.count, sum);
  EXPECT_DOUBLE_EQ(use.mean(), static_cast<double>(sum) / 200);
}

TEST(HostStatistics, TheMedianOfAnOddNumberIsTheMiddleOne) {
  HostProfile profile;
  for (const std::int64_t length : {30, 10, 20}) profile.span("main", "s", length * 100, length * 101);
  const std::vector<HostNameUse> uses = hostNameUses(profile.read());
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].median.count, 20);
  EXPECT_EQ(uses[0].p90.count, 30);
}

TEST(HostStatistics, LengthsFallIntoClassesOfOneTwoAndFive) {
  EXPECT_EQ(HostHistogram::lowerEdge(0).count, 1);
  EXPECT_EQ(HostHistogram::lowerEdge(1).count, 2);
  EXPECT_EQ(HostHistogram::lowerEdge(2).count, 5);
  EXPECT_EQ(HostHistogram::lowerEdge(3).count, 10);
  EXPECT_EQ(HostHistogram::lowerEdge(18).count, 1'000'000);
  EXPECT_EQ(HostHistogram::binOf(Ticks(1)), 0u);
  EXPECT_EQ(HostHistogram::binOf(Ticks(4)), 1u);
  EXPECT_EQ(HostHistogram::binOf(Ticks(999'999)), 17u);
  EXPECT_EQ(HostHistogram::binOf(Ticks(1'000'000)), 18u);
  EXPECT_EQ(HostHistogram::binOf(Ticks(std::numeric_limits<std::int64_t>::max())), HostHistogram::kBins - 1);
}

TEST(HostStatistics, OnlySpansThatOverlapTheRangeCount) {
  HostProfile profile;
  profile.span("main", "early", 0, 10);
  profile.span("main", "inner", 22, 28);
  profile.span("main", "middle", 20, 30);
  profile.span("main", "late", 40, 50);
  const HostTimeline line = profile.read();
  const HostRange range{Ticks(10), Ticks(25)};
  std::vector<std::string> names;
  for (const HostNameUse& use : hostNameUses(line, range))
    names.push_back(line.names[static_cast<std::size_t>(use.name)].name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("inner", "middle"));
  EXPECT_EQ(hostCallTree(line, range).size(), 3u);
}

TEST(HostStatistics, TheCallTreeJoinsNamesBelowTheSameNames) {
  HostProfile profile;
  profile.span("main", "read", 0, 10);
  profile.span("main", "read", 10, 30);
  profile.span("main", "load", 0, 40);
  profile.span("main", "read", 50, 55);
  profile.span("main", "check", 50, 60);
  const HostTimeline line = profile.read();
  std::vector<std::string> texts;
  for (const HostTreeNode& node : hostCallTree(line))
    texts.push_back(std::string(static_cast<std::size_t>(node.depth), '.') +
                    (node.name < 0 ? "main" : line.names[static_cast<std::size_t>(node.name)].name) + " " +
                    std::to_string(node.count) + " " + std::to_string(node.total.count) + " " +
                    std::to_string(node.self.count));
  EXPECT_THAT(texts,
              ElementsAre("main 2 50 0", ".load 1 40 10", "..read 2 30 30", ".check 1 10 5", "..read 1 5 5"));
}

}  // namespace
}  // namespace pipescope::analysis
