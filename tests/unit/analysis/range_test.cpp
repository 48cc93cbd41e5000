// Compares the steps of a range with a search through all rows.
#include "profiler/analysis/timeline/range.h"

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

/// Calls visit for every step of every placement with lane, start, end and program.
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
  for (const auto& [from, to] : {std::pair(0, 50), std::pair(333, 334), std::pair(500, 2500),
                                 std::pair(0, 1 << 20), std::pair(9, 9)}) {
    for (const std::vector<model::LaneId>& lanes :
         {std::vector<model::LaneId>{}, {model::LaneId(1), model::LaneId(4)}}) {
      Found expected, found;
      const bool something = to > from;
      expand(fixture.rows,
             [&, first = from, last = to](const auto&, const model::Step& s, Ticks start, Ticks end) {
               const bool wanted = lanes.empty() || std::count(lanes.begin(), lanes.end(), s.lane) != 0;
               if (wanted && start.count < last && end.count > first && something)
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
      auto after = std::upper_bound(list.begin(), list.end(), p.start,
                                    [](Ticks t, const StepSpan& s) { return t < s.start; });
      ASSERT_NE(after, list.begin());
      EXPECT_LE(p.start, (--after)->end) << "work that is in no span";
    }
  }
}

/// A profile in memory that has blocks with ranges, like a file. It counts what is read.
class Blocks : public model::ProfileSource {
 public:
  explicit Blocks(std::shared_ptr<record::MemoryProfile> profile) : profile_(std::move(profile)) {}
  base::Result<model::SourceState> state() const override { return profile_->state(); }
  std::int64_t revision() const override { return profile_->revision(); }
  mutable std::map<std::size_t, int> read;

 protected:
  static constexpr std::size_t kRows = 1000;
  template <class Body>
  void withRows(std::size_t table, Body&& body) const {
    model::forEachRowType([&]<class Row>() {
      if (model::tableIndexOf<Row>() == table) body(*profile_->rows<Row>().value());
    });
  }
  base::Result<std::vector<model::BlockInfo>> directory(std::size_t table) const override {
    std::vector<model::BlockInfo> infos;
    withRows(table, [&](const auto& rows) {
      for (std::size_t first = 0; first < rows.size(); first += kRows) {
        model::BlockInfo& info = infos.emplace_back();
        info.rows = static_cast<std::int64_t>(std::min(kRows, rows.size() - first));
        info.firstRow = static_cast<std::int64_t>(first);
      }
    });
    return infos;
  }
  base::Result<std::vector<model::ColumnRange>> columnRanges(std::size_t table,
                                                             std::size_t block) const override {
    std::vector<model::ColumnRange> ranges(model::tables()[table].columns.size());
    withRows(table, [&](const auto& rows) {
      for (std::size_t i = block * kRows; i < std::min(rows.size(), (block + 1) * kRows); ++i) {
        std::size_t c = 0;
        std::remove_cvref_t<decltype(rows[i])>::fields(
            rows[i], [&](const char*, const auto& field, const char*, const char*) {
              model::ColumnRange& range = ranges[c++];
              if constexpr (model::columnTypeOf<std::remove_cvref_t<decltype(field)>>() ==
                            model::ColumnType::integer) {
                const std::int64_t value = model::toInteger(field);
                range.smallest = range.known ? std::min(range.smallest, value) : value;
                range.largest = range.known ? std::max(range.largest, value) : value;
                range.known = true;
              }
            });
      }
    });
    return ranges;
  }
  base::Result<std::shared_ptr<const void>> decode(std::size_t table, std::size_t block) const override {
    ++read[table];
    std::shared_ptr<const void> part;
    withRows(table, [&](const auto& rows) {
      using Row = typename std::remove_cvref_t<decltype(rows)>::value_type;
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(block * kRows);
      const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), (block + 1) * kRows));
      part = std::make_shared<const std::vector<Row>>(begin, end);
    });
    return part;
  }

 private:
  std::shared_ptr<record::MemoryProfile> profile_;
};

TEST(Range, TheStepsOfALongSegmentAreReadOnlyAsFarAsTheyAreSeen) {
  // One segment of 40,000 steps has two placements. All but ten of its steps are on one lane.
  model::RowSet rows;
  rows.of<model::Executable>() = {model::Executable{}};
  rows.of<model::Executable>()[0].id = model::ExecutableId(0);
  rows.of<model::Device>() = {model::Device{}};
  rows.of<model::Device>()[0].id = model::DeviceId(0);
  for (int l = 0; l < 2; ++l)
    rows.of<model::Lane>().push_back({model::LaneId(l), model::DeviceId(0), "", {}, {}});
  std::int64_t offset = 0;
  for (int i = 0; i < 40'000; ++i) {
    model::Step step;
    step.segment = model::SegmentId(0);
    step.lane = model::LaneId(i % 4000 == 77 ? 1 : 0);
    step.offset = Ticks(offset);
    step.ticks = Ticks(5 + i % 7);
    offset += step.ticks.count;
    rows.of<model::Step>().push_back(step);
  }
  rows.of<model::Segment>() = {{model::SegmentId(0), model::ExecutableId(0), model::DeviceId(0),
                                model::LaneId(0), 0, 0, model::Pass::forward, "s", Ticks(offset)}};
  for (int p = 0; p < 2; ++p) {
    model::Placement row;
    row.id = model::PlacementId(p);
    row.segment = model::SegmentId(0);
    row.device = model::DeviceId(0);
    row.start = Ticks(p * offset), row.end = Ticks((p + 1) * offset);
    row.run = model::RunId(0);
    rows.of<model::Placement>().push_back(row);
  }
  model::RowSet all = rows;
  model::PyramidBuilder pyramid;
  pyramid.add(rows, all.of<model::LevelNode>());
  pyramid.flush(all.of<model::LevelNode>());
  const auto profile = std::make_shared<record::MemoryProfile>();
  ASSERT_TRUE(profile->commit(all).ok());
  const auto source = std::make_shared<Blocks>(profile);
  const std::shared_ptr<const Catalog> catalog = loadCatalog(*source).value();
  const auto index = RangeIndex::make(source, catalog).value();
  base::SilentProgress progress;
  const std::size_t steps = model::tableIndexOf<model::Step>(),
                    nodes = model::tableIndexOf<model::LevelNode>();
  for (const int pixels : {4, 20, 60}) {
    source->read.clear();
    const auto spans = index->steps({model::ExecutableId(0), Ticks(0), Ticks(2 * offset), {}},
                                    Ticks(2 * offset / pixels), progress);
    ASSERT_TRUE(spans.ok());
    EXPECT_EQ(source->read[steps], 0) << pixels;
    EXPECT_LE(source->read[nodes], 2) << pixels;
    EXPECT_LE(spans->size(), static_cast<std::size_t>(2 * (2 * pixels + 4)));
    for (int p = 0; p < 2; ++p) {
      for (const model::Step& step : rows.of<model::Step>()) {
        const Ticks start = Ticks(p * offset) + step.offset;
        const auto covers = [&](const StepSpan& s) {
          return s.lane == step.lane && s.start <= start && start < s.end;
        };
        if (step.lane.value == 1) {
          ASSERT_TRUE(std::any_of(spans->begin(), spans->end(), covers)) << start.count;
        }
      }
    }
  }
  source->read.clear();
  const auto close =
      index->steps({model::ExecutableId(0), Ticks(0), Ticks(2 * offset), {}}, Ticks(100), progress);
  ASSERT_TRUE(close.ok());
  EXPECT_EQ(source->read[steps], 40) << "each block once, though the segment is placed twice";
  std::int64_t counted = 0;
  for (const StepSpan& span : *close) counted += span.steps;
  EXPECT_EQ(counted, 80'000);
}

TEST(Range, CanBeStopped) {
  struct Stop : base::SilentProgress {
    bool cancelled() const override { return true; }
  } stop;
  const TraceFixture fixture(2);
  Asked asked(fixture);
  const RangeRequest all = asked.range(0, 1 << 20);
  EXPECT_EQ(asked.index->steps(all, Ticks(0), stop).error().kind, base::ErrorKind::cancelled);
}

}  // namespace
}  // namespace pipescope::analysis
