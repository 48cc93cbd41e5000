// Questions about a range, against going through all rows.
#include "profiler/analysis/range.h"

#include <map>
#include <set>
#include <tuple>

#include "trace_fixture.h"

namespace pipescope::analysis {
namespace {

using testing::TraceFixture;

struct Asked {
  explicit Asked(const TraceFixture& fixture) {
    catalog = loadCatalog(*fixture.profile).value();
    index = RangeIndex::make(fixture.profile, catalog).value();
  }
  RangeRequest range(std::int64_t from, std::int64_t to, std::vector<model::LaneId> lanes = {}) const {
    return {model::ExecutableId(0), Ticks(from), Ticks(to), std::move(lanes)};
  }
  std::shared_ptr<const Catalog> catalog;
  std::shared_ptr<const RangeIndex> index;
  base::SilentProgress progress;
};

using Found = std::multiset<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>>;

/// Every step of every placement: lane, start, end, program.
template <class Visit>
void expand(const model::RowSet& rows, Visit&& visit) {
  for (const model::Placement& p : rows.of<model::Placement>()) {
    for (const model::Step& s : rows.of<model::Step>()) {
      if (s.segment == p.segment) visit(p, s, p.start + s.offset, p.start + s.offset + s.ticks);
    }
  }
}

TEST(Range, StepsOneByOneAreThoseThatMeetTheRange) {
  const TraceFixture fixture(40);
  Asked asked(fixture);
  for (const auto& [from, to] : {std::pair(0, 50), std::pair(333, 334), std::pair(500, 2500), std::pair(0, 1 << 20), std::pair(9, 9)}) {
    for (const std::vector<model::LaneId>& lanes : {std::vector<model::LaneId>{}, {model::LaneId(1), model::LaneId(4)}}) {
      Found expected, found;
      expand(fixture.rows, [&](const auto&, const model::Step& s, Ticks start, Ticks end) {
        const bool wanted = lanes.empty() || std::count(lanes.begin(), lanes.end(), s.lane) != 0;
        if (wanted && start.count < to && end.count > from && to > from)
          expected.insert({s.lane.value, start.count, end.count, s.program.value});
      });
      const auto spans = asked.index->steps(asked.range(from, to, lanes), Ticks(0), asked.progress);
      ASSERT_TRUE(spans.ok());
      for (const StepSpan& span : *spans)
        found.insert({span.lane.value, span.start.count, span.end.count, span.program.value});
      EXPECT_EQ(found, expected) << from << " " << to;
    }
  }
}

TEST(Range, FromAfarTheAnswerIsAsLongAsThePictureAndCoversAllWork) {
  const TraceFixture fixture(3000);
  Asked asked(fixture);
  for (const int pixels : {10, 100, 1000}) {
    const Ticks resolution(fixture.end().count / pixels);
    const auto spans = asked.index->steps(asked.range(0, fixture.end().count), resolution, asked.progress);
    ASSERT_TRUE(spans.ok());
    EXPECT_LE(spans->size(), static_cast<std::size_t>(6 * (pixels + 2) * 2));
    std::map<std::int64_t, std::vector<StepSpan>> byLane;
    for (const StepSpan& span : *spans) byLane[span.lane.value].push_back(span);
    for (const model::Placement& p : fixture.rows.of<model::Placement>()) {
      const auto& list = byLane[2 * p.device.value];
      auto after = std::upper_bound(list.begin(), list.end(), p.start, [](Ticks t, const StepSpan& s) { return t < s.start; });
      ASSERT_NE(after, list.begin());
      EXPECT_LE(p.start, (--after)->end) << "work that is in no span";
    }
  }
}

TEST(Range, SumsAreThoseOfTheExpandedSteps) {
  const TraceFixture fixture(40);
  Asked asked(fixture);
  for (const SumBy by : {SumBy::operation, SumBy::stage, SumBy::category}) {
    for (const auto& [from, to] : {std::pair(0, 1 << 20), std::pair(700, 1900), std::pair(101, 103)}) {
      std::map<std::string, StepSums> expected;
      expand(fixture.rows, [&](const model::Placement& p, const model::Step& s, Ticks start, Ticks end) {
        const Ticks length = std::min(end, Ticks(to)) - std::max(start, Ticks(from));
        if (length.count <= 0) return;
        const char* names[] = {"layer", "layer/MatMul", "layer/Relu, \"quick\""};
        const std::string key = by == SumBy::operation ? names[s.program.value]
                                : by == SumBy::stage   ? std::to_string(p.stage)
                                                       : model::toString(s.kind);
        StepSums& sum = expected[key];
        sum.min = sum.count == 0 ? length : std::min(sum.min, length);
        sum.max = std::max(sum.max, length);
        sum.sum += length;
        ++sum.count;
      });
      const auto found = asked.index->sums(asked.range(from, to), by, asked.progress);
      ASSERT_TRUE(found.ok());
      ASSERT_EQ(found->size(), expected.size());
      for (const StepSums& sum : *found) {
        EXPECT_EQ(sum.count, expected[sum.key].count) << sum.key;
        EXPECT_EQ(sum.sum, expected[sum.key].sum);
        EXPECT_EQ(sum.min, expected[sum.key].min);
        EXPECT_EQ(sum.max, expected[sum.key].max);
      }
      for (std::size_t i = 1; i < found->size(); ++i) EXPECT_GE((*found)[i - 1].sum, (*found)[i].sum);
    }
  }
}

TEST(Range, LiveVariablesAndPeaksAreThoseOfTheIntervals) {
  TraceFixture fixture(2);
  model::RowSet rows;
  const model::MemorySpaceId space(0), other(1);
  for (int v = 0; v < 4; ++v) {
    rows.of<model::Variable>().push_back({model::VariableId(v), model::ExecutableId(0), v == 3 ? other : space,
                                          model::DebugContextId(1), "activation", "", model::Bytes(100 * (v + 1)),
                                          {}, v == 2, 0});
  }
  rows.of<model::LifeInterval>() = {{model::VariableId(0), 2, 5}, {model::VariableId(1), 4, 6},
                                    {model::VariableId(0), 8, 9}, {model::VariableId(3), 0, 9}};
  const std::int64_t live[] = {0, 0, 100, 100, 300, 200, 0, 0, 100};
  for (int i = 0; i < 9; ++i)
    rows.of<model::LivenessStep>().push_back({model::ExecutableId(0), space, i, {}, {}, model::Bytes(live[i]), {}});
  ASSERT_TRUE(fixture.profile->commit(rows).ok());
  Asked asked(fixture);
  const auto idsAt = [&](std::int32_t step, bool always) {
    std::vector<std::int64_t> ids;
    const auto found = asked.index->liveAt(space, step, always, asked.progress);
    EXPECT_TRUE(found.ok());
    for (const LiveEntry& variable : *found) ids.push_back(variable.id.value);
    return ids;
  };
  EXPECT_EQ(idsAt(1, false), (std::vector<std::int64_t>{}));
  EXPECT_EQ(idsAt(4, false), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(idsAt(4, true), (std::vector<std::int64_t>{2, 1, 0}));
  EXPECT_EQ(idsAt(5, false), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(idsAt(8, false), (std::vector<std::int64_t>{0}));
  const auto peakOf = [&](std::int32_t first, std::int32_t end) {
    return asked.index->peakIn(model::ExecutableId(0), space, first, end, asked.progress).value();
  };
  EXPECT_EQ(peakOf(0, 9).step, 4);
  EXPECT_EQ(peakOf(0, 9).notAlwaysLive, model::Bytes(300));
  EXPECT_EQ(peakOf(5, 9).step, 5);
  EXPECT_EQ(peakOf(9, 100).step, -1);
}

TEST(Range, SearchFindsNamesInEitherCase) {
  const TraceFixture fixture(2);
  Asked asked(fixture);
  const auto hits = asked.index->search("matMUL", 10, asked.progress);
  ASSERT_TRUE(hits.ok());
  ASSERT_EQ(hits->size(), 1U);
  EXPECT_EQ((*hits)[0].text, "layer/MatMul");
  EXPECT_EQ(asked.index->search("", 2, asked.progress).value().size(), 2U);
  EXPECT_TRUE(asked.index->search("nothing like it", 10, asked.progress).value().empty());
}

TEST(Range, EveryQuestionCanBeStopped) {
  struct Stop : base::SilentProgress {
    bool cancelled() const override { return true; }
  } stop;
  const TraceFixture fixture(2);
  Asked asked(fixture);
  const RangeRequest all = asked.range(0, 1 << 20);
  EXPECT_EQ(asked.index->steps(all, Ticks(0), stop).error().kind, base::ErrorKind::cancelled);
  EXPECT_EQ(asked.index->sums(all, SumBy::stage, stop).error().kind, base::ErrorKind::cancelled);
  EXPECT_EQ(asked.index->search("layer", 5, stop).error().kind, base::ErrorKind::cancelled);
}

}  // namespace
}  // namespace pipescope::analysis
