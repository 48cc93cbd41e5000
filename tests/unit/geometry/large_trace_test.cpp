// Traces that are too long to be read at once: from afar, by window, and counters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "profiler/geometry/counter_text.h"
#include "profiler/geometry/timeline/timeline_search.h"
#include "small_profile.h"

namespace pipescope::geometry {
namespace {

using analysis::TraceRequest;
using testing::Pass;
using testing::SmallProfile;

struct LargeProfile : SmallProfile {
  LargeProfile() {
    fill();
    for (int device = 0; device < 2; ++device) {
      node(model::LevelContent::placements, device, 100, 400, 130, 3, Pass::forward);
      node(model::LevelContent::placements, device, 400, 800, 390, 3, Pass::backward);
      node(model::LevelContent::waits, device, 0, 800, 300, 4, model::WaitCause::slowerStage);
    }
    EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
    catalog = *analysis::loadCatalog(*profile);
  }

  template <class Kind>
  void node(model::LevelContent content, int device, std::int64_t start, std::int64_t end, std::int64_t busy,
            std::int64_t count, Kind dominant) {
    model::LevelNode row;
    row.content = content;
    row.owner = device;
    if (content == model::LevelContent::placements) row.lane = compute[static_cast<std::size_t>(device)];
    row.start = Ticks(start);
    row.end = Ticks(end);
    row.busy = Ticks(busy);
    row.count = count;
    row.dominant = static_cast<std::int32_t>(dominant);
    recorder.add(row);
  }

  std::shared_ptr<const analysis::Trace> load(TraceRequest request) {
    request.executable = executable;
    base::SilentProgress progress;
    auto trace = analysis::loadTrace(*profile, *catalog, request, progress);
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
    return trace.ok() ? *trace : nullptr;
  }
  std::shared_ptr<const analysis::Trace> far() {
    TraceRequest request;
    request.mostRows = 2;
    return load(request);
  }
  std::shared_ptr<const analysis::Trace> window(std::int64_t from, std::int64_t to) {
    TraceRequest request;
    request.large = far();
    request.from = Ticks(from);
    request.to = Ticks(to);
    return load(request);
  }

  std::shared_ptr<const analysis::Catalog> catalog;
};

TEST(LargeTrace, FromAfarNodesStandForPlacements) {
  LargeProfile made;
  const auto trace = made.far();
  ASSERT_TRUE(trace->far && trace->large);
  const analysis::TraceTrack& track = trace->devices[0].tracks.front();
  ASSERT_EQ(track.far.size(), 2U);
  EXPECT_TRUE(track.placements.empty());
  EXPECT_TRUE(track.far[0].waits) << "130 of 300 ticks are work";
  EXPECT_EQ(track.far[0].cause, model::WaitCause::slowerStage);
  EXPECT_FALSE(track.far[1].waits);
  EXPECT_EQ(track.far[1].pass, Pass::backward);
  EXPECT_DOUBLE_EQ(track.far[1].busy, 390.0 / 400);
}

TEST(LargeTrace, AWindowHasEveryRowThatMeetsIt) {
  LargeProfile made;
  const auto trace = made.window(190, 250);
  ASSERT_FALSE(trace->far);
  EXPECT_EQ(trace->start, Ticks(0)) << "the runs are as long as before";
  EXPECT_EQ(trace->loadedFrom, Ticks(190));
  const analysis::TraceTrack& track = trace->devices[0].tracks.front();
  ASSERT_EQ(track.placements.size(), 1U);
  EXPECT_EQ(track.placements[0].start, Ticks(200));
  EXPECT_EQ(trace->devices[1].tracks.front().placements.size(), 1U);
}

TEST(LargeTrace, RowsDoNotDependOnTheWindow) {
  LargeProfile made;
  const auto layoutOf = [](std::shared_ptr<const analysis::Trace> trace) {
    return layOutTimeline(*TimelineModel::make(std::move(trace)), {});
  };
  const TimelineLayout whole = layoutOf(made.far());
  const std::vector<std::pair<int, int>> windows = {{0, 90}, {150, 300}, {0, 800}};
  for (const auto& [from, to] : windows) {
    const TimelineLayout part = layoutOf(made.window(from, to));
    ASSERT_EQ(part.rows.size(), whole.rows.size());
    for (std::size_t i = 0; i < part.rows.size(); ++i) EXPECT_EQ(part.rows[i].y, whole.rows[i].y);
  }
}

TEST(LargeTrace, TheNextWindowTakesItsSegmentsFromTheOneBefore) {
  LargeProfile made;
  TraceRequest request;
  request.large = made.window(100, 300);
  request.from = Ticks(100);
  request.to = Ticks(310);
  const auto trace = made.load(request);
  EXPECT_FALSE(trace->farSteps);
  const auto& placement = trace->devices[0].tracks.front().placements.front();
  EXPECT_EQ(trace->segmentOf(placement)->steps.size(), 3U);
}

TEST(LargeTrace, IsCancelled) {
  LargeProfile made;
  struct Stopped : base::Progress {
    void report(double, std::string_view) override {}
    bool cancelled() const override { return true; }
  } stopped;
  TraceRequest request;
  request.executable = made.executable;
  const auto trace = analysis::loadTrace(*made.profile, *made.catalog, request, stopped);
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().message, "Reading the trace was stopped.");
}

TEST(LargeTrace, PicturesFromAfarShowWorkAndWaiting) {
  LargeProfile made;
  const auto model = TimelineModel::make(made.far());
  const TimelineScene scene(model, layOutTimeline(*model, {}), {});
  const TimelineWindow window{TimeView(Ticks(0), Ticks(800), 800), 0, scene.layout().height};
  const Shapes shapes = scene.draw(window, {});
  const auto& backward = shapes.fills[static_cast<std::size_t>(ColourRole::backward)];
  ASSERT_FALSE(backward.empty());
  EXPECT_EQ(backward.front().width, 400);
  // It is busy for 390 of its 400 ticks: the box fills as much of the row, from the bottom.
  const TimelineRow& row = scene.layout().rows.front();
  EXPECT_EQ(backward.front().height, static_cast<int>(std::lround(0.975 * row.height)));
  EXPECT_EQ(backward.front().bottom(), row.y + row.height);
  EXPECT_FALSE(shapes.hatches.empty());
  const TimelineItem item = scene.itemAt(window, 500, scene.layout().rows.front().y + 3);
  EXPECT_EQ(item.kind, TimelineItem::Kind::far);
  EXPECT_EQ(scene.labelOf(item), "3 passes, mostly backward");
}

analysis::CounterSeries wave(int count) {
  analysis::CounterSeries series;
  series.counter.name = "loss";
  for (int i = 0; i < count; ++i)
    series.points.push_back({Ticks(i * 10), i, 1, static_cast<double>(i % 7), static_cast<double>(i % 7),
                             static_cast<double>(i % 7)});
  series.samples = count;
  series.largest = 6;
  return series;
}

TEST(Counters, LongSeriesAreFoldedWithoutLosingPeaks) {
  SmallProfile small;
  small.addRun(0, 100'000);
  const auto counter = small.recorder.add(model::Counter{{}, small.executable, {}, "loss", ""});
  for (int i = 0; i < 5000; ++i)
    small.recorder.add(model::CounterSample{counter, Ticks(i * 10), model::RunId(0), i == 3333 ? 99.0 : 1.0});
  ASSERT_TRUE(small.recorder.finish(model::ProfileState::complete).ok());
  const auto catalog = analysis::loadCatalog(*small.profile);
  base::SilentProgress progress;
  analysis::CounterRequest request;
  request.executable = small.executable;
  request.mostPoints = 100;
  const auto series = analysis::counterSeries(*small.profile, **catalog, request, progress);
  ASSERT_TRUE(series.ok());
  ASSERT_EQ(series->size(), 1U);
  EXPECT_LE(series->front().points.size(), 100U);
  EXPECT_EQ(series->front().samples, 5000);
  EXPECT_DOUBLE_EQ(series->front().largest, 99);
  std::int64_t count = 0, longest = 0;
  for (const auto& point : series->front().points) {
    count += point.count;
    longest = std::max(longest, point.count);
  }
  EXPECT_EQ(count, 5000);
  EXPECT_LE(longest, 100) << "the start of a series is as detailed as its end";
}

TEST(Counters, SayWhichScaleTheyHave) {
  EXPECT_EQ(counterText(7, "micro-batches"), "7 micro-batches");
  EXPECT_EQ(counterText(0.09413, ""), "0.0941");
  EXPECT_EQ(counterText(24'000'000, ""), "24000000");
  EXPECT_EQ(counterText(3 * 1024 * 1024, "B"), "3.0 MiB");
  const auto scale = [](double smallest, double largest, const std::string& unit) {
    analysis::CounterSeries series;
    series.smallest = smallest;
    series.largest = largest;
    series.counter.unit = unit;
    return counterScale(series);
  };
  EXPECT_EQ(scale(2, 7, "micro-batches"), "0–7") << "the axis holds 0";
  EXPECT_EQ(scale(1, 3 * 1024 * 1024, "B"), "0–3.0 MiB");
  EXPECT_EQ(scale(-2, 0.5, ""), "-2 … 0.5");
}

TEST(Counters, AreRowsOfTheirDeviceAndOfTheRun) {
  SmallProfile small;
  small.fill();
  auto counters = std::make_shared<std::vector<analysis::CounterSeries>>();
  counters->push_back(wave(80));
  counters->push_back(wave(80));
  counters->back().counter.device = small.devices[1];
  const auto model = TimelineModel::make(small.trace(), counters);
  const TimelineScene scene(model, layOutTimeline(*model, {}), {});
  ASSERT_EQ(scene.layout().groups.size(), 3U);
  EXPECT_EQ(scene.layout().groups.back().device, -1);
  const TimelineRow& row = scene.layout().rows.back();
  EXPECT_EQ(row.kind, RowKind::counter);
  EXPECT_EQ(row.scale, counterScale(counters->front()));
  const TimelineWindow window{TimeView(Ticks(0), Ticks(800), 800), 0, scene.layout().height};
  const TimelineItem item = scene.itemAt(window, 65, row.y + 5);
  ASSERT_EQ(item.kind, TimelineItem::Kind::counter);
  EXPECT_EQ(item.start, Ticks(60));
  EXPECT_EQ(item.end, Ticks(70));
  int highest = row.height;
  const Shapes shapes = scene.draw(window, {});
  for (const Box& box : shapes.fills[static_cast<std::size_t>(ColourRole::counter)]) {
    EXPECT_GE(box.x, 0);
    EXPECT_LE(box.right(), 800);
    if (box.y >= row.y) highest = std::min(highest, box.y - row.y);
  }
  EXPECT_EQ(highest, 1) << "the largest value reaches the top";
  // Ten points share a column of a view from afar. Each column still reaches the top, because it holds a
  // peak.
  const Shapes afar = scene.draw({TimeView(Ticks(0), Ticks(800), 8), 0, scene.layout().height}, {});
  for (int x = 0; x < 8; ++x) {
    const auto& boxes = afar.fills[static_cast<std::size_t>(ColourRole::counter)];
    EXPECT_TRUE(std::any_of(boxes.begin(), boxes.end(), [&](const Box& box) {
      return box.contains(x, row.y + 1);
    })) << x;
  }
  TimelineOptions off;
  off.counters = false;
  EXPECT_EQ(layOutTimeline(*model, off).groups.size(), 2U);
}

TimelineScene largeTraceSmallScene(const TimelineOptions& options = {}) {
  SmallProfile small;
  small.fill();
  const auto model = TimelineModel::make(small.trace());
  return TimelineScene(model, layOutTimeline(*model, options), options);
}

TEST(TimelineOrder, DevicesAreHiddenMovedAndPinned) {
  TimelineOptions options;
  options.hidden = {0};
  ASSERT_EQ(largeTraceSmallScene(options).layout().groups.size(), 1U);
  EXPECT_EQ(largeTraceSmallScene(options).layout().groups[0].device, 1);
  options = {};
  options.order = {1};
  EXPECT_EQ(largeTraceSmallScene(options).layout().groups[0].device, 1);
  EXPECT_EQ(largeTraceSmallScene(options).layout().pinned, 0);
  options = {};
  options.pinned = {1};
  const TimelineLayout layout = largeTraceSmallScene(options).layout();
  EXPECT_EQ(layout.groups[0].device, 1);
  EXPECT_EQ(layout.pinned, layout.groups[0].y + layout.groups[0].height + 8);
}

TEST(TimelineItems, NextLikeThisPassesOverOthers) {
  const TimelineScene scene = largeTraceSmallScene();
  const TimelineWindow window{TimeView(Ticks(0), Ticks(800), 800), 0, scene.layout().height};
  const int y = scene.layout().rows[0].y + 5;
  const TimelineItem forward = scene.itemAt(window, 110, y);
  const TimelineItem next = TimelineSearch(scene).nextLike(forward, 1);
  EXPECT_EQ(next.start, Ticks(500));
  EXPECT_EQ(TimelineSearch(scene).nextLike(next, -1), forward);
  EXPECT_FALSE(TimelineSearch(scene).nextLike(next, 1));
}

TEST(TimelineItems, MeasuringCatchesEdges) {
  const TimelineScene scene = largeTraceSmallScene();
  const TimelineWindow window{TimeView(Ticks(0), Ticks(800), 800), 0, scene.layout().height};
  const int y = scene.layout().rows[0].y + 5;
  EXPECT_EQ(scene.snap(window, 103, y, 6), Ticks(100));
  EXPECT_EQ(scene.snap(window, 158, y, 6), Ticks(160));
  EXPECT_EQ(scene.snap(window, 130, y, 6), Ticks(130)) << "no edge is near";
}

TEST(TimelineItems, NamesAreFoundForwardsAndBackwards) {
  const TimelineScene scene = largeTraceSmallScene();
  const TimelineItem first = TimelineSearch(scene).byName({"relu"}, {}, 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(scene.labelOf(first), "relu");
  EXPECT_EQ(first.start, Ticks(130));
  const TimelineItem second = TimelineSearch(scene).byName({"relu"}, first, 1);
  EXPECT_EQ(second.start, Ticks(530));
  EXPECT_EQ(TimelineSearch(scene).byName({"relu"}, second, -1), first);
  EXPECT_FALSE(TimelineSearch(scene).byName({"relu"}, second, 1));
  EXPECT_FALSE(TimelineSearch(scene).byName({"nothing of this name"}, {}, 0));
}

}  // namespace
}  // namespace pipescope::geometry
