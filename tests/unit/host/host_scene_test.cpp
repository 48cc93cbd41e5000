// Tests what the timeline of the host draws and what lies at a point of it.
#include "profiler/geometry/timeline/host_scene.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "profiler/record/memory_profile.h"

namespace pipescope::geometry {
namespace {

using Kind = HostHit::Kind;

/// Two threads: main with an outer span and two in it, a worker with many short ones and an event; one call
/// and one curve. 1000 ns on 1000 pixels.
std::shared_ptr<const analysis::HostTimeline> sampleTimeline() {
  model::RowSet rows;
  rows.of<model::HostThread>() = {{model::HostThreadId(0), "", "main"},
                                  {model::HostThreadId(1), "instance 1", "worker"}};
  rows.of<model::HostName>() = {{model::HostNameId(0), "run", "outer"},
                                {model::HostNameId(1), "data", "inner"},
                                {model::HostNameId(2), "own", "short"}};
  const auto add = [&](std::int64_t thread, std::int64_t name, std::int64_t start, std::int64_t end) {
    rows.of<model::HostSpan>().push_back(
        {model::HostThreadId(thread), model::HostNameId(name), Ticks(start), Ticks(end)});
  };
  add(0, 1, 100, 300);
  add(0, 1, 400, 600);
  add(0, 0, 0, 1000);
  for (std::int64_t i = 0; i < 10'000; ++i) add(1, 2, i / 10, i / 10);
  add(1, 2, 200, 800);
  model::Run run;
  run.id = model::RunId(0);
  run.name = "training call 1";
  run.wallStartNs = 100;
  run.wallEndNs = 900;
  rows.of<model::Run>().push_back(run);
  rows.of<model::HostSeries>() = {{model::HostSeriesId(0), "queue", "length", "items"}};
  for (const auto& [time, value] : {std::pair(0, 1.0), std::pair(500, 4.0)})
    rows.of<model::HostSample>().push_back({model::HostSeriesId(0), Ticks(time), value});
  record::MemoryProfile profile;
  EXPECT_TRUE(profile.commit(rows).ok());
  base::SilentProgress progress;
  return *analysis::hostTimeline(profile, progress);
}

struct HostSceneTest : ::testing::Test {
  HostScene scene{sampleTimeline()};
  TimeView view{Ticks(0), Ticks(1000), 1000};
  const HostScene::Band& band(std::size_t i) const { return scene.bands().at(i); }
};

TEST_F(HostSceneTest, CallsThreadsAndCurvesLieBelowEachOther) {
  ASSERT_EQ(scene.bands().size(), 4u);
  EXPECT_EQ(band(0).kind, HostScene::Band::Kind::calls);
  EXPECT_EQ(band(1).height, 2 * HostScene::kRow) << "two nested rows";
  EXPECT_EQ(band(2).height, 2 * HostScene::kRow) << "one row of spans and one of events";
  EXPECT_EQ(band(3).kind, HostScene::Band::Kind::curve);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_GT(band(i).y, band(i - 1).y + band(i - 1).height);
}

TEST_F(HostSceneTest, APinnedCurveStaysAboveWhatScrolls) {
  analysis::HostTimeline line = *sampleTimeline();
  analysis::HostCurve loss;
  loss.name = "loss";
  loss.pinned = true;
  loss.points = {{Ticks(400), 2.0}, {Ticks(900), 1.0}};
  loss.smallest = 1;
  loss.largest = 2;
  line.curves.push_back(loss);
  const HostScene pinned(std::make_shared<const analysis::HostTimeline>(line));
  ASSERT_EQ(pinned.bands().size(), 5u);
  EXPECT_TRUE(pinned.bands().front().pinned);
  EXPECT_GE(pinned.pinned(), HostScene::kPinned);
  EXPECT_GE(pinned.bands()[1].y, pinned.pinned()) << "the calls lie below it";
  const int calls = pinned.bands()[1].y;
  for (const int top : {0, 30}) {
    EXPECT_EQ(pinned.hit(view, top, 500, 5), (HostHit{Kind::curve, 1, 0})) << top;
    EXPECT_EQ(pinned.boxOf(view, top, {Kind::curve, 1, 0}).y, pinned.bands().front().y) << top;
    EXPECT_EQ(pinned.boxOf(view, top, {Kind::call, 0, 0}).y, calls + 1 - top) << top;
  }
  EXPECT_EQ(pinned.hit(view, 0, 500, calls + 5), (HostHit{Kind::call, 0, 0}));
  EXPECT_NE(pinned.hit(view, 30, 500, pinned.pinned() - 1), (HostHit{Kind::call, 0, 0}))
      << "the call has scrolled away below it";
  EXPECT_GT(pinned.drawPinned(view).fillCount(), 0U);
}

TEST_F(HostSceneTest, APointGivesWhatIsDrawnThere) {
  EXPECT_EQ(scene.hit(view, 0, 500, band(0).y + 5), (HostHit{Kind::call, 0, 0}));
  EXPECT_FALSE(scene.hit(view, 0, 50, band(0).y + 5));
  EXPECT_EQ(scene.hit(view, 0, 50, band(1).y + 5), (HostHit{Kind::span, 0, 0}));
  EXPECT_EQ(scene.hit(view, 0, 150, band(1).y + HostScene::kRow + 5), (HostHit{Kind::span, 0, 1}));
  EXPECT_FALSE(scene.hit(view, 0, 350, band(1).y + HostScene::kRow + 5));
  EXPECT_EQ(scene.hit(view, 0, 500, band(2).y + HostScene::kRow + 5)->kind, Kind::event);
  EXPECT_EQ(scene.hit(view, 0, 700, band(3).y + 5), (HostHit{Kind::curve, 0, 1}));
  EXPECT_EQ(scene.hit(view, 0, 300, band(3).y + 5), (HostHit{Kind::curve, 0, 0}));
  EXPECT_FALSE(scene.hit(view, 0, 500, scene.height() + 100));
}

TEST_F(HostSceneTest, EveryHitLiesInItsBox) {
  for (int y = 0; y < scene.height(); y += 3) {
    for (int x = 0; x < 1000; x += 7) {
      const auto hit = scene.hit(view, 0, x, y);
      if (!hit || hit->kind == Kind::curve) continue;
      const Box box = scene.boxOf(view, 0, *hit);
      EXPECT_TRUE(x >= box.x - 3 && x <= box.right() + 3) << x << " " << y;
      EXPECT_TRUE(y >= box.y - 1 && y <= box.bottom() + 1) << x << " " << y;
    }
  }
}

TEST_F(HostSceneTest, TheCostOfADrawingDependsOnPixels) {
  const Shapes shapes = scene.draw(view, 0, 1000, {});
  EXPECT_LT(shapes.fillCount(), 500u) << "10,000 events share at most a flag every three pixels";
  EXPECT_TRUE(std::ranges::any_of(shapes.labels, [](const Label& label) { return label.text == "outer"; }));
  EXPECT_TRUE(
      std::ranges::any_of(shapes.labels, [](const Label& label) { return label.text == "training call 1"; }));
  EXPECT_GT(scene.overview(TimeView(Ticks(0), Ticks(1000), 300), 28).fillCount(), 1u);
}

TEST_F(HostSceneTest, ItemsAreDrawnAtTheirTimes) {
  const Shapes shapes = scene.draw(view, 0, 1000, {});
  const auto boxes = [&](ColourRole role) { return shapes.fills[static_cast<std::size_t>(role)]; };
  const int y = band(1).y;
  // A pixel separates each from what may follow.
  EXPECT_EQ(boxes(ColourRole::control), (std::vector<Box>{{100, band(0).y + 1, 799, HostScene::kRow - 2}}));
  EXPECT_EQ(boxes(scene.roleOfChannel("run")), (std::vector<Box>{{0, y, 999, HostScene::kRow - 1}}));
  EXPECT_EQ(boxes(scene.roleOfChannel("data")),
            (std::vector<Box>{{100, y + HostScene::kRow, 199, HostScene::kRow - 1},
                              {400, y + HostScene::kRow, 199, HostScene::kRow - 1}}));
  // The curve is 1 up to 500 and 4 after it.
  const int full = HostScene::kCurve - 4, quarter = (full + 2) / 4, floor = band(3).y + HostScene::kCurve - 2;
  const auto curve = boxes(seriesRole(3));
  ASSERT_GE(curve.size(), 2U);
  EXPECT_EQ(curve[curve.size() - 2], (Box{0, floor - quarter, 500, quarter}));
  EXPECT_EQ(curve.back(), (Box{500, floor - full, 500, full}));
}

TEST_F(HostSceneTest, OtherNamesAreDimmed) {
  const Shapes shapes = scene.draw(view, 0, 1000, {}, 1);
  EXPECT_FALSE(shapes.fills[static_cast<std::size_t>(ColourRole::dimmed)].empty());
  EXPECT_EQ(shapes.fills[static_cast<std::size_t>(scene.roleOfChannel("data"))].size(), 2u);
  EXPECT_TRUE(shapes.fills[static_cast<std::size_t>(scene.roleOfChannel("run"))].empty());
}

TEST_F(HostSceneTest, ArrowsGoAlongRowsAndIntoSpans) {
  const HostHit outer = *scene.first();
  const HostHit inner = *scene.inward(outer, 1);
  EXPECT_EQ(inner, (HostHit{Kind::span, 0, 1}));
  const HostHit next = *scene.neighbour(inner, 1);
  EXPECT_EQ(scene.timesOf(next).first.count, 400);
  EXPECT_EQ(*scene.neighbour(next, -1), inner);
  EXPECT_FALSE(scene.neighbour(next, 1));
  EXPECT_EQ(*scene.inward(next, -1), outer);
  EXPECT_FALSE(scene.inward(outer, -1));
  EXPECT_FALSE(scene.inward(inner, 1));
}

TEST_F(HostSceneTest, ArrowsGoAlongEventsCallsAndPointsUpToTheirEnds) {
  const auto expectSteps = [&](Kind kind, std::size_t lane, std::size_t size) {
    const HostHit first{kind, lane, 0}, last{kind, lane, size - 1};
    EXPECT_FALSE(scene.neighbour(first, -1));
    EXPECT_FALSE(scene.neighbour(last, 1));
    EXPECT_FALSE(scene.inward(first, 1)) << "only spans hold others";
    EXPECT_FALSE(scene.inward(first, -1));
    if (size < 2) return;
    EXPECT_EQ(scene.neighbour(first, 1), (HostHit{kind, lane, 1}));
    EXPECT_EQ(scene.neighbour(last, -1), (HostHit{kind, lane, size - 2}));
  };
  expectSteps(Kind::event, 1, 10'000);
  expectSteps(Kind::call, 0, 1);
  expectSteps(Kind::curve, 0, 2);
  const HostHit alone{Kind::span, 1, 0};
  EXPECT_FALSE(scene.neighbour(alone, 1));
  EXPECT_FALSE(scene.neighbour(alone, -1));
}

TEST_F(HostSceneTest, EventsAndPointsAreFoundByTheirTimes) {
  const HostHit event{Kind::event, 1, 5000}, point{Kind::curve, 0, 1};
  EXPECT_EQ(scene.timesOf(event).first.count, 500) << "ten events each nanosecond";
  EXPECT_EQ(scene.timesOf(point).first.count, 500);
  EXPECT_EQ(scene.find({Kind::event, 1, 0}, scene.timesOf(event)), event);
  EXPECT_FALSE(scene.find({Kind::event, 1, 5010}, scene.timesOf(event))) << "it cannot lie further in front";
  EXPECT_FALSE(scene.find({Kind::event, 2, 0}, scene.timesOf(event))) << "no such thread";
  EXPECT_EQ(scene.find({Kind::curve, 0, 0}, scene.timesOf(point)), point);
  EXPECT_FALSE(scene.find({Kind::curve, 1, 0}, scene.timesOf(point))) << "no such curve";
  EXPECT_FALSE(scene.find({Kind::call, 0, 0}, {Ticks(100), Ticks(901)})) << "ends at another time";
  EXPECT_FALSE(scene.find({Kind::call, 0, 0}, {Ticks(101), Ticks(900)})) << "starts at another time";
}

TEST_F(HostSceneTest, AnItemIsFoundAgainInALongerTimeline) {
  const HostHit inner{Kind::span, 0, 1};
  EXPECT_EQ(scene.find({Kind::span, 0, 0}, scene.timesOf(inner)), inner) << "something came before it";
  EXPECT_FALSE(scene.find(inner, {Ticks(1), Ticks(2)}));
  EXPECT_FALSE(scene.find({Kind::span, 7, 0}, scene.timesOf(inner)));
  EXPECT_EQ(scene.find({Kind::call, 0, 0}, scene.timesOf({Kind::call, 0, 0})), (HostHit{Kind::call, 0, 0}));
}

TEST_F(HostSceneTest, PipescopesOwnChannelsHaveTheSameColourInEveryProfile) {
  const HostScene other(std::make_shared<const analysis::HostTimeline>());
  for (const char* channel : {"numerics", "data", "emulator", "compiler", "run", "profiler", "instances"})
    EXPECT_EQ(scene.roleOfChannel(channel), other.roleOfChannel(channel)) << channel;
  EXPECT_NE(scene.roleOfChannel("own"), scene.roleOfChannel("data"));
  EXPECT_EQ(scene.roleOfChannel("waiting"), ColourRole::waitHost);
}

/// The timeline of one thread with the spans [start, end), and of one series.
HostScene sceneOf(const std::vector<std::pair<std::int64_t, std::int64_t>>& spans,
                  const std::vector<std::pair<std::int64_t, double>>& points) {
  model::RowSet rows;
  rows.of<model::HostThread>() = {{model::HostThreadId(0), "", "main"}};
  rows.of<model::HostName>() = {{model::HostNameId(0), "own", "work"}};
  for (const auto& [start, end] : spans)
    rows.of<model::HostSpan>().push_back(
        {model::HostThreadId(0), model::HostNameId(0), Ticks(start), Ticks(end)});
  rows.of<model::HostSeries>() = {{model::HostSeriesId(0), "queue", "length", "items"}};
  for (const auto& [time, value] : points)
    rows.of<model::HostSample>().push_back({model::HostSeriesId(0), Ticks(time), value});
  record::MemoryProfile profile;
  EXPECT_TRUE(profile.commit(rows).ok());
  base::SilentProgress progress;
  return HostScene(*analysis::hostTimeline(profile, progress));
}

std::size_t boxesIn(const Shapes& shapes) {
  std::size_t count = 0;
  for (const auto& boxes : shapes.fills) count += boxes.size();
  return count;
}

TEST(HostScenes, APeakBetweenTwoPixelsIsDrawn) {
  std::vector<std::pair<std::int64_t, double>> points;
  for (std::int64_t time = 0; time <= 1000; ++time) points.emplace_back(time, time == 503 ? 100.0 : 1.0);
  const HostScene scene = sceneOf({}, points);
  const Shapes shapes = scene.draw(TimeView(Ticks(0), Ticks(1000), 10), 0, 400, {}, -1);
  int tallest = 0;
  for (const auto& boxes : shapes.fills)
    for (const Box& box : boxes) tallest = std::max(tallest, box.height);
  EXPECT_EQ(tallest, scene.bands().back().height - 4) << "one value of a hundred in a column";
}

TEST(HostScenes, TheOverviewShowsWhatLiesInASpanAroundEverything) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (std::int64_t i = 0; i < 6; ++i) spans.emplace_back(i * 150 + 20, i * 150 + 80);
  spans.emplace_back(0, 1000);
  const TimeView whole(Ticks(0), Ticks(1000), 1000);
  EXPECT_EQ(boxesIn(sceneOf(spans, {}).overview(whole, 20)), 6u);
  EXPECT_EQ(boxesIn(sceneOf({{20, 80}, {0, 1000}}, {}).overview(whole, 20)), 1u) << "the outer span";
}

}  // namespace
}  // namespace pipescope::geometry
