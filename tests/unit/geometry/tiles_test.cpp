// Tiles one by one, sums from afar, the host's own clock.
#include <gtest/gtest.h>

#include "profiler/analysis/timeline/far_statistics.h"
#include "profiler/analysis/timeline/tile_times.h"
#include "profiler/geometry/timeline/timeline_search.h"
#include "small_profile.h"

namespace pipescope::geometry {
namespace {

using testing::Pass;
using testing::SmallProfile;
using Kind = TimelineItem::Kind;

void unitsOf(SmallProfile& small, std::int64_t step, std::int64_t first, std::int64_t count,
             std::int64_t ticks) {
  model::StepUnits row;
  row.segment = small.forward0;
  row.step = step;
  row.firstUnit = first;
  row.unitCount = count;
  row.ticks = Ticks(ticks);
  small.recorder.add(row);
}

/// Tiles of the first step of D0's forward pass, 20 ticks: tiles 0 and 1 work all of it, tile 2 half, tile 3
/// not at all.
struct Tiles {
  SmallProfile small;
  std::shared_ptr<const analysis::Trace> trace;
  std::shared_ptr<const analysis::TileTimes> times;

  explicit Tiles(bool recorded = true, std::size_t most = 1000) {
    if (recorded) {
      unitsOf(small, 0, 0, 2, 20);
      unitsOf(small, 0, 2, 1, 10);
    }
    small.fill();
    trace = small.trace();
    base::SilentProgress progress;
    times =
        *analysis::tileTimes(*small.profile, **analysis::loadCatalog(*small.profile), *trace, most, progress);
  }

  TimelineScene scene(int height = 40) const {
    TimelineOptions options;
    options.tiles = true;
    RowMetrics metrics;
    metrics.tiles = height;
    auto model = TimelineModel::make(trace, {}, times);
    TimelineLayout layout = layOutTimeline(*model, options, metrics);
    return {std::move(model), std::move(layout), options};
  }
};

const TimelineRow* tileRow(const TimelineScene& scene) {
  for (const TimelineRow& row : scene.layout().rows) {
    if (row.kind == RowKind::tiles) return &row;
  }
  return nullptr;
}

/// One pixel a tick.
TimelineWindow tilesWhole(const TimelineScene& scene) {
  return {TimeView(Ticks(0), Ticks(800), 800), 0, scene.layout().height};
}

bool filled(const Shapes& shapes, ColourRole role, int x, int y) {
  for (const Box& box : shapes.fills[static_cast<std::size_t>(role)]) {
    if (box.contains(x, y)) return true;
  }
  return false;
}

TEST(TileTimes, AreReadByStep) {
  const Tiles tiles;
  ASSERT_TRUE(tiles.times->recorded);
  std::size_t segment = 0;
  while (tiles.trace->segments[segment].id != tiles.small.forward0) ++segment;
  const auto& steps = tiles.times->steps[segment];
  ASSERT_EQ(steps.size(), 3U);
  ASSERT_EQ(steps[0].size(), 2U);
  EXPECT_EQ(steps[0][1].firstUnit, 2);
  EXPECT_EQ(steps[0][1].ticks.count, 10);
  EXPECT_TRUE(steps[1].empty());
}

TEST(TileTimes, AreBounded) {
  const Tiles tiles(true, 1);
  EXPECT_FALSE(tiles.times->complete);
  EXPECT_FALSE(Tiles(false).times->recorded);
}

TEST(TileTimes, StopWhenTheyAreAskedTo) {
  class Stopped : public base::Progress {
   public:
    void report(double, std::string_view) override {}
    bool cancelled() const override { return true; }
  };
  const Tiles tiles;
  Stopped stopped;
  const auto read = analysis::tileTimes(*tiles.small.profile, **analysis::loadCatalog(*tiles.small.profile),
                                        *tiles.trace, 10, stopped);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().kind, base::ErrorKind::cancelled);
  EXPECT_FALSE(
      analysis::farStatistics(*tiles.small.profile, *tiles.trace, Ticks(0), Ticks(10), stopped).ok());
}

TEST(TileShares, AreMeansOverTheUnitsOfABand) {
  const std::vector<analysis::UnitTicks> spans = {{0, 2, Ticks(20)}, {2, 1, Ticks(10)}};
  EXPECT_EQ(tileShares(spans, 4, Ticks(20), 4), (std::vector<double>{1, 1, 0.5, 0}));
  EXPECT_EQ(tileShares(spans, 4, Ticks(20), 2), (std::vector<double>{1, 0.25}));
  const std::vector<double> fine = tileShares(spans, 4, Ticks(20), 8);
  EXPECT_EQ(fine[4], 0.5);
  EXPECT_EQ(fine[5], 0.5);
  EXPECT_EQ(tileShares(spans, 4, Ticks(0), 2), (std::vector<double>{0, 0}));
  EXPECT_EQ(tileShares({{1, 1, Ticks(20)}}, 4, Ticks(20), 2), (std::vector<double>{0.5, 0}))
      << "a span that begins within a band";
}

TEST(TileRows, ShowHowLongEachTileWorks) {
  const Tiles tiles;
  for (const int height : {40, 200}) {
    const TimelineScene scene = tiles.scene(height);
    const TimelineRow* row = tileRow(scene);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->height, height);
    const Shapes shapes = scene.draw(tilesWhole(scene), {});
    // The step is drawn from 100 to 120; tile 2 lies in the third quarter of the row.
    const auto y = [&](int tile) { return row->y + height * (2 * tile + 1) / 8; };
    EXPECT_TRUE(filled(shapes, ColourRole::compute, 118, y(0)));
    EXPECT_TRUE(filled(shapes, ColourRole::compute, 105, y(2)));
    EXPECT_FALSE(filled(shapes, ColourRole::compute, 115, y(2)));
    EXPECT_FALSE(filled(shapes, ColourRole::compute, 105, y(3)));
    EXPECT_FALSE(filled(shapes, ColourRole::idle, 105, y(0)))
        << "that would be drawn over what the tile does";
    ASSERT_FALSE(shapes.grounds.empty());
    EXPECT_EQ(shapes.grounds.front().first, ColourRole::idle);
    EXPECT_EQ(shapes.grounds.front().second.height, height);
    EXPECT_TRUE(filled(shapes, ColourRole::exchange, 125, y(3))) << "a step without tiles is everybody's";
  }
}

TEST(TileRows, AreBetweenStepsAndTransfersAndNameTheirTile) {
  const Tiles tiles;
  const TimelineScene scene = tiles.scene();
  const TimelineRow* row = tileRow(scene);
  const TimelineItem item = scene.itemAt(tilesWhole(scene), 105, row->y + row->height * 5 / 8);
  ASSERT_EQ(item.kind, Kind::step);
  EXPECT_EQ(item.unit, 2);
  EXPECT_EQ(scene.pathOf(item), "layer/conv/a");
  ASSERT_EQ(scene.unitsOf(item).size(), 2U);
  EXPECT_EQ(scene.pathOf(scene.neighbour(item, 1)), "layer/conv/b");
}

TEST(TileRows, SayWhenNothingWasRecorded) {
  const Tiles tiles(false);
  const TimelineScene scene = tiles.scene();
  const Shapes shapes = scene.draw(tilesWhole(scene), {});
  const bool said = std::any_of(shapes.labels.begin(), shapes.labels.end(), [](const Label& label) {
    return label.text.find("--record tiles") != std::string::npos;
  });
  EXPECT_TRUE(said);
  const TimelineRow* row = tileRow(scene);
  EXPECT_FALSE(static_cast<bool>(scene.itemAt(tilesWhole(scene), 105, row->y + 2)));
}

TEST(StepOf, FindsThePlaceOfAProgram) {
  const Tiles tiles;
  const TimelineScene scene = tiles.scene();
  const TimelineRow* row = tileRow(scene);
  const TimelineItem first = scene.itemAt(tilesWhole(scene), 135, row->y + 1);
  const auto& segment = tiles.trace->segments[0];
  const model::ProgramId program = segment.steps[2].program;  // layer/relu
  const TimelineItem found = TimelineSearch(scene).stepOf(program, 0, Ticks(0));
  ASSERT_TRUE(static_cast<bool>(found));
  EXPECT_EQ(scene.pathOf(found), "layer/relu");
  EXPECT_EQ(found.start.count, 130);
  EXPECT_EQ(first.start.count, 130);
  EXPECT_EQ(TimelineSearch(scene).stepOf(program, 0, Ticks(300)).start.count, 530) << "the next one";
  const model::ProgramId early = segment.steps[0].program;  // layer/conv/a, [100, 120)
  EXPECT_EQ(TimelineSearch(scene).stepOf(early, 0, Ticks(119)).start.count, 100);
  EXPECT_EQ(TimelineSearch(scene).stepOf(early, 0, Ticks(120)).start.count, 500)
      << "it has ended, although its placement has not";
  EXPECT_EQ(TimelineSearch(scene).stepOf(program, 0, Ticks(790)).start.count, 130)
      << "none follows: the first";
  EXPECT_FALSE(static_cast<bool>(TimelineSearch(scene).stepOf(program, 1, Ticks(0))));
  EXPECT_FALSE(static_cast<bool>(TimelineSearch(scene).stepOf({}, 0, Ticks(0))));
}

/// Both kinds of sums are the same where no range cuts a placement.
TEST(FarStatistics, AgreeWithThoseOfRows) {
  const Tiles tiles;
  base::SilentProgress progress;
  for (const auto& [from, to] : {std::pair(0, 800), {100, 160}, {300, 560}}) {
    const auto far =
        analysis::farStatistics(*tiles.small.profile, *tiles.trace, Ticks(from), Ticks(to), progress);
    ASSERT_TRUE(far.ok());
    const auto near = analysis::rangeStatistics(*tiles.trace, Ticks(from), Ticks(to));
    ASSERT_EQ(far->size(), near.size());
    for (std::size_t d = 0; d < near.size(); ++d) {
      for (const model::StepKind kind : {model::StepKind::compute, model::StepKind::exchange})
        EXPECT_EQ((*far)[d].byKind[analysis::kindIndex(kind)], near[d].byKind[analysis::kindIndex(kind)])
            << from << " " << d;
      EXPECT_EQ((*far)[d].globalIn, near[d].globalIn);
      EXPECT_EQ((*far)[d].globalOut, near[d].globalOut);
      EXPECT_DOUBLE_EQ((*far)[d].tileBalance, near[d].tileBalance);
      EXPECT_NEAR((*far)[d].parallelEfficiency, near[d].parallelEfficiency, 1e-12);
    }
  }
}

/// A profile whose placements and transfers lie in blocks of two rows, as in a file.
class InBlocks : public model::ProfileSource {
 public:
  explicit InBlocks(std::shared_ptr<record::MemoryProfile> profile) : profile_(std::move(profile)) {}
  base::Result<model::SourceState> state() const override { return profile_->state(); }
  std::int64_t revision() const override { return profile_->revision(); }

 protected:
  static constexpr std::size_t kRows = 2;
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
        const std::size_t end = std::min(first + kRows, rows.size());
        info.rows = static_cast<std::int64_t>(end - first);
        info.firstRow = static_cast<std::int64_t>(first);
        using Row = typename std::remove_cvref_t<decltype(rows)>::value_type;
        if constexpr (std::is_same_v<Row, model::Placement> || std::is_same_v<Row, model::Transfer>) {
          info.hasTime = true;
          info.start = rows[first].start;  // the rows of this test ascend
          info.end = rows[end - 1].end;
        }
      }
    });
    return infos;
  }
  base::Result<std::shared_ptr<const void>> decode(std::size_t table, std::size_t block) const override {
    std::shared_ptr<const void> part;
    withRows(table, [&](const auto& rows) {
      using Row = typename std::remove_cvref_t<decltype(rows)>::value_type;
      const auto at = [&](std::size_t row) {
        return rows.begin() + static_cast<std::ptrdiff_t>(std::min(row, rows.size()));
      };
      part = std::make_shared<const std::vector<Row>>(at(block * kRows), at((block + 1) * kRows));
    });
    return part;
  }

 private:
  std::shared_ptr<record::MemoryProfile> profile_;
};

/// Device 0 computes from 0 to 60 of every 100 ticks and sends from 50 of them to 10 of the next ones.
TEST(FarStatistics, CountTransfersOutsidePlacementsInStretches) {
  constexpr int kTimes = 10;
  SmallProfile small;
  model::Run run;
  run.executable = small.executable;
  run.end = Ticks(100 * kTimes);
  const model::RunId id = small.recorder.add(run);
  for (int i = 0; i < kTimes; ++i) {
    small.place(small.forward0, 0, 100 * i, 100 * i + 60, Pass::forward, 0, i, id);
    model::Transfer transfer;
    transfer.fromLane = small.compute[0];
    transfer.toLane = small.compute[1];
    transfer.start = Ticks(100 * i + 50);
    transfer.end = Ticks(std::min(100 * i + 110, 100 * kTimes));
    transfer.bytes = base::Bytes(8);
    transfer.run = id;
    small.recorder.add(transfer);
  }
  ASSERT_TRUE(small.recorder.commit().ok());
  const auto catalog = *analysis::loadCatalog(*small.profile);
  analysis::TraceRequest request;
  request.executable = small.executable;
  base::SilentProgress progress;
  const auto trace = *analysis::loadTrace(*small.profile, *catalog, request, progress);
  const InBlocks blocks(small.profile);
  for (const std::int64_t rowsAtOnce : {1, 5, 1000}) {
    const auto far = analysis::farStatistics(blocks, *trace, Ticks(0), Ticks(1000), progress, rowsAtOnce);
    ASSERT_TRUE(far.ok());
    const auto kind = [&](std::size_t device, model::StepKind of) {
      return (*far)[device].byKind[analysis::kindIndex(of)];
    };
    EXPECT_EQ(kind(0, model::StepKind::compute), 500);
    EXPECT_EQ(kind(0, model::StepKind::exchange), 100);
    EXPECT_EQ(kind(0, model::StepKind::globalExchange), 400) << "from 60 to 100";
    EXPECT_EQ((*far)[0].idle.count, 0);
    EXPECT_EQ((*far)[0].globalOut.count, 80);
    EXPECT_EQ(kind(1, model::StepKind::globalExchange), 9 * 60 + 50);
    EXPECT_EQ((*far)[1].idle.count, 410);
    EXPECT_EQ((*far)[1].globalIn.count, 80);
  }
}

TEST(FarStatistics, CountWhatIsCutByItsShare) {
  const Tiles tiles;
  base::SilentProgress progress;
  const auto far =
      analysis::farStatistics(*tiles.small.profile, *tiles.trace, Ticks(130), Ticks(160), progress);
  ASSERT_TRUE(far.ok());
  // Half of F0: 60 ticks of which 50 compute.
  EXPECT_EQ((*far)[0].byKind[analysis::kindIndex(model::StepKind::compute)], 25);
  EXPECT_EQ((*far)[0].idle.count, 0);
}

TEST(WallRows, LieWhereTheirCallsLie) {
  SmallProfile small;
  small.fill();
  model::Run run;
  run.executable = small.executable;
  run.name = "call 1";
  run.start = Ticks(800);
  run.end = Ticks(1000);
  run.wallStartNs = 5'000'000;
  run.wallEndNs = 17'000'000;
  small.place(small.forward0, 0, 800, 860, Pass::forward, 0, 0, small.recorder.add(run));
  ASSERT_TRUE(small.recorder.commit().ok());
  const auto catalog = *analysis::loadCatalog(*small.profile);
  analysis::TraceRequest request;
  request.executable = small.executable;
  request.firstRun = model::RunId(0);
  request.lastRun = model::RunId(1);
  base::SilentProgress progress;
  auto model = TimelineModel::make(*analysis::loadTrace(*small.profile, *catalog, request, progress));
  TimelineLayout layout = layOutTimeline(*model, {});
  const TimelineScene scene(std::move(model), std::move(layout), {});
  ASSERT_EQ(scene.layout().groups.back().device, kHost);
  const TimelineWindow window{TimeView(Ticks(0), Ticks(1000), 1000), 0, scene.layout().height};
  const int y = scene.layout().groups.back().y + 3;
  EXPECT_FALSE(static_cast<bool>(scene.itemAt(window, 400, y))) << "the first call has no time on the host";
  const TimelineItem item = scene.itemAt(window, 900, y);
  ASSERT_EQ(item.kind, Kind::wall);
  EXPECT_EQ(scene.labelOf(item), "call 1");
  EXPECT_EQ(item.start.count, 800);
  // A call holds its first tick and not the tick at which it ends.
  EXPECT_FALSE(scene.itemAt(window, 799, y));
  EXPECT_TRUE(scene.itemAt(window, 800, y));
  EXPECT_TRUE(scene.itemAt(window, 999, y));
  const TimelineWindow later{TimeView(Ticks(500), Ticks(1500), 1000), 0, scene.layout().height};
  EXPECT_TRUE(scene.itemAt(later, 499, y));
  EXPECT_FALSE(scene.itemAt(later, 500, y)) << "the call ended at 1000";
  const Shapes shapes = scene.draw({TimeView(Ticks(800), Ticks(1000), 1000), 0, scene.layout().height}, {});
  const bool said = std::any_of(shapes.labels.begin(), shapes.labels.end(), [](const Label& label) {
    return label.text.find("12") != std::string::npos && label.text.find("host") != std::string::npos;
  });
  EXPECT_TRUE(said) << "12 ms on the host";
}

}  // namespace
}  // namespace pipescope::geometry
