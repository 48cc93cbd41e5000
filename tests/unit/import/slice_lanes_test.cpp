#include "profiler/import/recognise/slice_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace pipescope::importing {
namespace {

TraceEvent make(EventKind kind, std::int64_t time, std::int64_t duration = 0, std::int64_t name = 0,
                std::int64_t id = -1) {
  TraceEvent event;
  event.kind = kind;
  event.time = time;
  event.duration = duration;
  event.name = NameId(name);
  event.id = id;
  return event;
}

struct Arranged {
  std::vector<Slice> slices;
  Findings findings;
};

Arranged arrange(std::vector<TraceEvent> events, std::int64_t end = 1000) {
  Arranged result;
  SliceLanes lanes(result.findings, [&](const Slice& slice, const TraceEvent&) {
    result.slices.push_back(slice);
    return base::Status();
  });
  // The order of EventSorter.
  const auto states = [](const TraceEvent& event) {
    return event.kind == EventKind::complete || event.kind == EventKind::instant;
  };
  std::stable_sort(events.begin(), events.end(), [&](const TraceEvent& a, const TraceEvent& b) {
    if (a.time != b.time) return a.time < b.time;
    return states(a) != states(b) ? states(b) : a.duration > b.duration;
  });
  for (const TraceEvent& event : events) EXPECT_TRUE(lanes.add(event).ok());
  EXPECT_TRUE(lanes.finish(end).ok());
  return result;
}

using Kind = EventKind;
using Row = std::tuple<std::size_t, std::int64_t, std::int64_t>;

std::vector<Row> rowsOf(const Arranged& arranged) {
  std::vector<Row> rows;
  for (const Slice& slice : arranged.slices) rows.emplace_back(slice.lane, slice.start, slice.end);
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(SliceLanes, NestsWhatIsEnclosed) {
  const auto arranged =
      arrange({make(Kind::complete, 0, 100), make(Kind::complete, 10, 20), make(Kind::complete, 12, 5),
               make(Kind::complete, 30, 70), make(Kind::complete, 100, 10)});
  EXPECT_EQ(rowsOf(arranged),
            (std::vector<Row>{{0, 0, 100}, {0, 100, 110}, {1, 10, 30}, {1, 30, 100}, {2, 12, 17}}));
}

TEST(SliceLanes, JoinsBeginAndEnd) {
  const auto arranged =
      arrange({make(Kind::begin, 0, 0, 1), make(Kind::begin, 10, 0, 2), make(Kind::complete, 12, 3, 3),
               make(Kind::end, 20), make(Kind::end, 50), make(Kind::begin, 50, 0, 4), make(Kind::end, 60)});
  EXPECT_EQ(rowsOf(arranged), (std::vector<Row>{{0, 0, 50}, {0, 50, 60}, {1, 10, 20}, {2, 12, 15}}));
  EXPECT_TRUE(arranged.findings.counts().empty());
}

/// The longer one encloses the other, whichever of them states its duration.
TEST(SliceLanes, NestsWhatStartsTogether) {
  EXPECT_EQ(rowsOf(arrange({make(Kind::complete, 0, 10), make(Kind::begin, 0), make(Kind::end, 20)})),
            (std::vector<Row>{{0, 0, 20}, {1, 0, 10}}));
  EXPECT_EQ(rowsOf(arrange({make(Kind::begin, 0), make(Kind::complete, 0, 10), make(Kind::end, 10)})),
            (std::vector<Row>{{0, 0, 10}, {1, 0, 10}}));
  EXPECT_EQ(rowsOf(arrange({make(Kind::begin, 0), make(Kind::complete, 0, 10), make(Kind::complete, 1, 1),
                            make(Kind::end, 5), make(Kind::complete, 6, 2), make(Kind::complete, 12, 3)})),
            (std::vector<Row>{{0, 0, 10}, {0, 12, 15}, {1, 0, 5}, {1, 6, 8}, {2, 1, 2}}));
  EXPECT_EQ(
      rowsOf(arrange({make(Kind::begin, 0, 0, 1), make(Kind::begin, 0, 0, 2), make(Kind::complete, 0, 10),
                      make(Kind::complete, 0, 4), make(Kind::end, 5), make(Kind::end, 30)})),
      (std::vector<Row>{{0, 0, 30}, {1, 0, 10}, {2, 0, 5}, {3, 0, 4}}));
}

/// The slices around a slice are known only when both have ended.
TEST(SliceLanes, NamesWhatEnclosesSlicesThatStartTogether) {
  for (const bool longer : {false, true}) {
    Findings findings;
    std::map<std::int64_t, std::vector<NameId>> around;
    SliceLanes lanes(
        findings,
        [&](const Slice& slice, const TraceEvent& event) {
          around[event.name.value].assign(slice.enclosing.begin(), slice.enclosing.end());
          return base::Status();
        },
        {}, true);
    for (const TraceEvent& event : {make(Kind::begin, 0, 0, 1), make(Kind::complete, 0, 10, 2),
                                    make(Kind::complete, 1, 1, 3), make(Kind::end, longer ? 20 : 5, 0, 1)})
      ASSERT_TRUE(lanes.add(event).ok());
    ASSERT_TRUE(lanes.finish(30).ok());
    EXPECT_EQ(around[1], longer ? std::vector<NameId>() : std::vector{NameId(2)});
    EXPECT_EQ(around[2], longer ? std::vector{NameId(1)} : std::vector<NameId>());
    EXPECT_EQ(around[3].size(), 2U);
  }
}

TEST(SliceLanes, KeepsWhatHasNoEnd) {
  const auto arranged = arrange({make(Kind::begin, 5), make(Kind::complete, 10, 5), make(Kind::end, 3)}, 40);
  EXPECT_EQ(rowsOf(arranged), (std::vector<Row>{{0, 5, 40}, {1, 10, 15}}));
  EXPECT_EQ(arranged.findings.counts().size(), 2U) << "an end without begin, and a begin without end";
}

TEST(SliceLanes, JoinsAsynchronousEventsByIdentity) {
  const auto arranged = arrange({make(Kind::asyncBegin, 0, 0, 1, 7), make(Kind::asyncBegin, 5, 0, 1, 8),
                                 make(Kind::asyncEnd, 10, 0, 1, 7), make(Kind::asyncEnd, 30, 0, 1, 8)});
  EXPECT_EQ(rowsOf(arranged), (std::vector<Row>{{0, 0, 10}, {1, 5, 30}}));
}

TEST(SliceLanes, NeverOverlapsOnALane) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<TraceEvent> events;
    for (int i = 0; i < 40; ++i) events.push_back(make(Kind::complete, random() % 60, random() % 30));
    const auto arranged = arrange(events);
    ASSERT_EQ(arranged.slices.size(), events.size());
    std::map<std::size_t, std::int64_t> endOf;
    for (const Slice& slice : arranged.slices) {
      const auto found = endOf.find(slice.lane);
      EXPECT_TRUE(found == endOf.end() || found->second <= slice.start);
      endOf[slice.lane] = slice.end;
      // A slice that encloses another strictly lies above it.
      for (const Slice& other : arranged.slices)
        EXPECT_TRUE(other.start >= slice.start || slice.end >= other.end || other.lane < slice.lane);
    }
  }
}

}  // namespace
}  // namespace pipescope::importing
