#include <gtest/gtest.h>

#include "profiler/geometry/timeline/found_steps.h"
#include "profiler/geometry/timeline/overview.h"
#include "profiler/geometry/timeline/timeline_links.h"
#include "small_profile.h"

namespace pipescope::geometry {
namespace {

using testing::Pass;
using testing::SmallProfile;
using Kind = TimelineItem::Kind;

TimelineScene sceneOf(std::shared_ptr<const analysis::Trace> trace, TimelineOptions options = {}) {
  auto model = TimelineModel::make(std::move(trace));
  TimelineLayout layout = layOutTimeline(*model, options);
  return TimelineScene(std::move(model), std::move(layout), std::move(options));
}

TimelineScene timelineSmallScene(TimelineOptions options = {}) {
  SmallProfile small;
  small.fill();
  return sceneOf(small.trace(), std::move(options));
}

/// One pixel a tick.
TimelineWindow timelineWhole(const TimelineScene& scene) {
  return {TimeView(Ticks(0), Ticks(800), 800), 0, scene.layout().height};
}

int rowIndex(const TimelineScene& scene, RowKind kind, int device, int level = 0) {
  for (std::size_t i = 0; i < scene.layout().rows.size(); ++i) {
    const TimelineRow& row = scene.layout().rows[i];
    if (row.kind == kind && row.device == device && row.level == level) return static_cast<int>(i);
  }
  return -1;
}

int centre(const TimelineScene& scene, int row) {
  const TimelineRow& place = scene.layout().rows[static_cast<std::size_t>(row)];
  return place.y + place.height / 2;
}

TimelineItem itemAt(const TimelineScene& scene, int x, RowKind kind, int device, int level = 0) {
  return scene.itemAt(timelineWhole(scene), x, centre(scene, rowIndex(scene, kind, device, level)));
}

TEST(TimelineLayout, AGroupPerDevice) {
  const TimelineScene scene = timelineSmallScene();
  const TimelineLayout& layout = scene.layout();
  ASSERT_EQ(layout.groups.size(), 2U);
  EXPECT_EQ(layout.groups[0].title, "D0");
  EXPECT_EQ(layout.groups[0].subtitle, "chip · stage 0");
  // Activity, three levels of names, one peer; the other device has one level.
  EXPECT_EQ(layout.groups[0].rows, 5);
  EXPECT_EQ(layout.groups[1].rows, 3);
  EXPECT_EQ(layout.rows[4].label, "→ D1");
  EXPECT_EQ(layout.rows[7].label, "← D0");
  for (std::size_t i = 1; i < layout.rows.size(); ++i)
    EXPECT_GE(layout.rows[i].y, layout.rows[i - 1].y + layout.rows[i - 1].height);
  EXPECT_GT(layout.height, layout.rows.back().y + layout.rows.back().height);
}

TEST(TimelineLayout, PinnedCountersOfTheRunLieAboveAllDevices) {
  SmallProfile small;
  small.fill();
  auto series = std::make_shared<std::vector<analysis::CounterSeries>>();
  for (const char* name : {"loss", "learning_rate"}) {
    analysis::CounterSeries& one = series->emplace_back();
    one.counter.name = name;
    one.points = {{Ticks(100), 0, 1, 1, 1, 1}};
    one.samples = 1;
    one.smallest = one.largest = 1;
  }
  const auto model = TimelineModel::make(small.trace(), series);
  const auto titles = [&](const TimelineOptions& options) {
    std::string all;
    for (const TimelineGroup& group : layOutTimeline(*model, options).groups) all += group.title + " ";
    return all;
  };
  TimelineOptions options;
  EXPECT_EQ(titles(options), "D0 D1 Run ");
  EXPECT_EQ(layOutTimeline(*model, options).pinned, 0);
  options.pinnedCounters = {"loss"};
  EXPECT_EQ(titles(options), "Run D0 D1 Run ") << "the other one stays at the end";
  const TimelineLayout layout = layOutTimeline(*model, options);
  EXPECT_EQ(layout.rows.front().label, "loss");
  EXPECT_EQ(layout.rows.back().label, "learning rate");
  EXPECT_GE(layout.pinned, layout.rows.front().y + layout.rows.front().height);
  EXPECT_LE(layout.pinned, layout.groups[1].y) << "the devices scroll below it";
  options.counters = false;
  EXPECT_EQ(titles(options), "D0 D1 ");
}

TEST(TimelineLayout, AlikeDevicesAreShownAsOne) {
  const auto trace = [](int count) {
    auto many = std::make_shared<analysis::Trace>();
    for (int d = 0; d < count; ++d) {
      analysis::DeviceTrace device;
      device.id = model::DeviceId(d);
      device.name = "rank " + std::to_string(d);
      device.alike = d < 2 || d == 7 ? -1 : d % 2;
      device.tracks.emplace_back();
      many->devices.push_back(std::move(device));
    }
    return many;
  };
  TimelineOptions options;
  EXPECT_EQ(shownDevices(*trace(16), options).size(), 16U) << "few devices are all shown";
  const auto many = trace(64);
  EXPECT_EQ(shownDevices(*many, options), (std::vector<int>{0, 1, 7}));
  const std::vector<int> folded = foldedDevices(*many, options);
  EXPECT_EQ(folded[0], 31);
  EXPECT_EQ(folded[1], 30);
  EXPECT_EQ(folded[7], 0);
  const TimelineScene scene = sceneOf(many);
  ASSERT_EQ(scene.layout().groups.size(), 3U);
  EXPECT_EQ(scene.layout().groups[0].title, "rank 0 +31 alike");
  EXPECT_EQ(scene.layout().groups[2].title, "rank 7");
  options.pinned = {5};
  EXPECT_EQ(shownDevices(*many, options), (std::vector<int>{0, 1, 5, 7}));
  options.foldAlike = false;
  EXPECT_EQ(shownDevices(*many, options).size(), 64U);
}

TEST(TimelineLayout, WithoutARowOfPassesTheFirstRowOfStepsNamesTheTrack) {
  const auto labels = [](Pass pass) {
    auto trace = std::make_shared<analysis::Trace>();
    analysis::DeviceTrace device;
    device.id = model::DeviceId(0);
    device.name = "host";
    analysis::TraceTrack track;
    track.name = "thread 7";
    track.placements.emplace_back();
    track.placements.back().pass = pass;
    track.flameLanes.push_back({model::LaneId(), 2});
    device.tracks.push_back(track);
    trace->devices.push_back(std::move(device));
    std::vector<std::pair<RowKind, std::string>> rows;
    for (const TimelineRow& row : sceneOf(trace).layout().rows) rows.emplace_back(row.kind, row.label);
    return rows;
  };
  using Rows = std::vector<std::pair<RowKind, std::string>>;
  EXPECT_EQ(labels(Pass::other), (Rows{{RowKind::flame, "thread 7"}, {RowKind::flame, ""}}));
  EXPECT_EQ(labels(Pass::forward),
            (Rows{{RowKind::activity, "thread 7"}, {RowKind::flame, ""}, {RowKind::flame, ""}}));
}

TEST(TimelineLayout, RowsAreFoundByHeight) {
  const TimelineLayout layout = timelineSmallScene().layout();
  for (std::size_t i = 0; i < layout.rows.size(); ++i) {
    EXPECT_EQ(layout.rowAt(layout.rows[i].y), static_cast<int>(i));
    EXPECT_EQ(layout.rowAt(layout.rows[i].y + layout.rows[i].height - 1), static_cast<int>(i));
    EXPECT_EQ(layout.rowAt(layout.rows[i].y + layout.rows[i].height), -1);
  }
  EXPECT_EQ(layout.rowAt(-5), -1);
  EXPECT_EQ(layout.groupAt(layout.groups[1].y + 3), 1);
}

TEST(TimelineLayout, FlatFlameAndCollapsed) {
  EXPECT_EQ(timelineSmallScene({false, StepRows::flat, true, {}}).layout().rows.size(), 6U);
  EXPECT_EQ(timelineSmallScene({false, StepRows::none, false, {}}).layout().rows.size(), 2U);
  const TimelineScene collapsed = timelineSmallScene({false, StepRows::flame, true, {0}});
  EXPECT_TRUE(collapsed.layout().groups[0].collapsed);
  EXPECT_EQ(collapsed.layout().groups[0].rows, 1);
  EXPECT_EQ(collapsed.layout().groups[1].rows, 3);
}

TEST(TimelineLayout, RowsBecomeLowerSoThatAllDevicesAreSeen) {
  SmallProfile small;
  small.fill();
  const auto model = TimelineModel::make(small.trace());
  const int whole = layOutTimeline(*model, {}).height;
  EXPECT_EQ(fitRows(*model, {}, whole).step, RowMetrics().step);
  // Four rows of steps: each two pixels lower makes room for eight.
  EXPECT_EQ(fitRows(*model, {}, whole - 8).step, RowMetrics().step - 2);
  EXPECT_LE(layOutTimeline(*model, {}, fitRows(*model, {}, whole - 8)).height, whole - 8);
  // A pixel too many needs all rows to be one pixel lower.
  EXPECT_EQ(fitRows(*model, {}, whole - 1).step, RowMetrics().step - 1);
  EXPECT_EQ(fitRows(*model, {}, 50).step, RowMetrics().step) << "it cannot fit: rows stay readable";
  // Only a large screen has taller rows, and no more than fit.
  ASSERT_LT(whole, 900);
  EXPECT_EQ(fitRows(*model, {}, 999).step, RowMetrics().step);
  const RowMetrics tall = fitRows(*model, {}, 9'999);
  EXPECT_EQ(tall.step, 27);  // 1.8 × 15
  EXPECT_EQ(tall.activity, 39);
  EXPECT_EQ(tall.counter, 46);
  EXPECT_LE(layOutTimeline(*model, {}, fitRows(*model, {}, 1'000)).height, 1'000);
}

TEST(TimelineScene, DrawsPassesWaitsStepsAndTransfers) {
  const TimelineScene scene = timelineSmallScene();
  const Shapes shapes = scene.draw(timelineWhole(scene), {});
  const auto boxes = [&](ColourRole role) { return shapes.fills[static_cast<std::size_t>(role)]; };
  ASSERT_EQ(boxes(ColourRole::forward).size(), 4U);
  const Box first = boxes(ColourRole::forward)[0];
  EXPECT_EQ(first.x, 100);
  EXPECT_EQ(first.width, 59) << "a pixel sets it off from its neighbour";
  EXPECT_EQ(boxes(ColourRole::backward).size(), 2U);
  EXPECT_EQ(boxes(ColourRole::update).size(), 2U);
  EXPECT_EQ(boxes(ColourRole::computeGroup).size(), 4U) << "layer and conv, twice";
  EXPECT_EQ(boxes(ColourRole::exchange).size(), 2U);
  EXPECT_EQ(boxes(ColourRole::activation).size(), 4U) << "sent and received, twice";
  EXPECT_EQ(shapes.hatches.size(), 5U);
  std::vector<std::string> texts;
  for (const Label& label : shapes.labels) texts.push_back(label.text);
  for (const char* text : {"F0", "B0", "host", "fill", "layer"})
    EXPECT_NE(std::find(texts.begin(), texts.end(), text), texts.end()) << text;
}

TEST(TimelineScene, ColoursByMicroBatch) {
  const TimelineScene scene = timelineSmallScene({true, StepRows::flame, true, {}});
  const Shapes shapes = scene.draw(timelineWhole(scene), {});
  EXPECT_EQ(shapes.fills[static_cast<std::size_t>(microBatchRole(0, true))].size(), 2U) << "backward";
  EXPECT_EQ(shapes.fills[static_cast<std::size_t>(ColourRole::forward)].size(), 0U);
  EXPECT_EQ(shapes.fills[static_cast<std::size_t>(ColourRole::update)].size(), 2U)
      << "belongs to no micro-batch";
}

TEST(TimelineScene, TheStepBeforeAPlacementIsTheLastOfTheOneBefore) {
  const TimelineScene scene = timelineSmallScene({false, StepRows::flat, true, {}});
  const TimelineItem second = itemAt(scene, 505, RowKind::flat, 0);
  ASSERT_EQ(scene.pathOf(second), "layer/conv/a");
  ASSERT_EQ(second.start, Ticks(500));
  const TimelineItem before = scene.neighbour(second, -1);
  EXPECT_EQ(scene.pathOf(before), "layer/relu");
  EXPECT_EQ(before.start, Ticks(130));
}

TEST(TimelineScene, APathNamesTheGroupThatContainsAGroup) {
  SmallProfile small;
  const auto segment = small.segment(0, Pass::forward, 40);
  small.step(segment, 0, testing::StepKind::compute, "a/x/1", 0, 10);
  small.step(segment, 0, testing::StepKind::compute, "a/x/2", 10, 10);
  small.step(segment, 0, testing::StepKind::compute, "b/y/1", 20, 10);
  small.step(segment, 0, testing::StepKind::compute, "b/y/2", 30, 10);
  small.place(segment, 0, 100, 140, Pass::forward, 0, 0);
  small.addRun(0, 800);
  const TimelineScene scene = sceneOf(small.trace());
  const TimelineItem item = itemAt(scene, 125, RowKind::flame, 0, 1);
  ASSERT_EQ(item.kind, Kind::group);
  EXPECT_EQ(scene.pathOf(item), "b/y") << "group a ends where y begins";
}

TEST(TimelineScene, NothingOutsideTheWindowIsDrawn) {
  const TimelineScene scene = timelineSmallScene();
  TimelineWindow window = timelineWhole(scene);
  window.top = scene.layout().groups[1].y;
  const Shapes shapes = scene.draw(window, {});
  EXPECT_EQ(shapes.fills[static_cast<std::size_t>(ColourRole::backward)].size(), 0U) << "only D0 has one";
  window.view = TimeView(Ticks(5000), Ticks(6000), 800);
  EXPECT_EQ(scene.draw(window, {}).fillCount(), 0U);
}

TEST(TimelineScene, BoxesStayOnTheCanvasAtAnyZoom) {
  const TimelineScene scene = timelineSmallScene();
  for (const auto& [start, end] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 800}, {105, 109}, {-1'000'000'000'000, 1'000'000'000'000}, {150, 220}}) {
    const Shapes shapes = scene.draw({TimeView(Ticks(start), Ticks(end), 333), 0, scene.layout().height}, {});
    for (const auto& boxes : shapes.fills) {
      for (const Box& box : boxes) {
        EXPECT_GE(box.x, 0);
        EXPECT_LE(box.right(), 333);
      }
    }
    for (const Hatch& hatch : shapes.hatches) EXPECT_LE(hatch.box.right(), 333);
  }
}

TEST(TimelineScene, CostDependsOnPixels) {
  SmallProfile small;
  std::int64_t t = 0;
  for (int i = 0; i < 200'000; ++i, t += 70)
    small.place(small.forward0, 0, t, t + 60, Pass::forward, i % 10, i / 10);
  small.addRun(0, t);
  const TimelineScene scene = sceneOf(small.trace());
  const Shapes far = scene.draw({TimeView(Ticks(0), Ticks(t), 1600), 0, scene.layout().height}, {});
  std::int64_t columns = 0;
  for (const auto& boxes : far.fills) {
    for (const Box& box : boxes) columns += box.width;
  }
  EXPECT_EQ(columns, 1600 * 4) << "every column of the activity and of three levels of names";
  EXPECT_LE(far.fillCount(), 40U) << "and columns of one colour are one box";
  const Shapes near =
      scene.draw({TimeView(Ticks(t / 2), Ticks(t / 2 + 140), 1600), 0, scene.layout().height}, {});
  EXPECT_LE(near.fillCount(), 30U);
}

TEST(TimelineScene, PointingFindsTheInnermost) {
  const TimelineScene scene = timelineSmallScene();
  const TimelineItem pass = itemAt(scene, 130, RowKind::activity, 0);
  EXPECT_EQ(pass.kind, Kind::pass);
  EXPECT_EQ(pass.start, Ticks(100));
  EXPECT_EQ(pass.end, Ticks(160));
  EXPECT_EQ(scene.labelOf(pass), "F0");
  const TimelineItem wait = itemAt(scene, 170, RowKind::activity, 0);
  EXPECT_EQ(wait.kind, Kind::wait);
  EXPECT_EQ(scene.labelOf(wait), "slower stage");
  const TimelineItem group = itemAt(scene, 110, RowKind::flame, 0, 0);
  EXPECT_EQ(group.kind, Kind::group);
  EXPECT_EQ(scene.labelOf(group), "layer");
  const TimelineItem step = itemAt(scene, 125, RowKind::flame, 0, 2);
  EXPECT_EQ(step.kind, Kind::step);
  EXPECT_EQ(scene.labelOf(step), "b");
  EXPECT_EQ(step.start, Ticks(120));
  EXPECT_EQ(step.end, Ticks(130));
  const TimelineItem transfer = itemAt(scene, 170, RowKind::transfer, 1);
  EXPECT_EQ(transfer.kind, Kind::transfer);
  EXPECT_EQ(scene.labelOf(transfer), "activation 0");
  EXPECT_FALSE(itemAt(scene, 280, RowKind::activity, 0)) << "nothing was recorded there";
  EXPECT_FALSE(scene.itemAt(timelineWhole(scene), 130, -3));
  EXPECT_FALSE(scene.itemAt(timelineWhole(scene), -1, 10));
  EXPECT_FALSE(TimelineScene().itemAt(TimelineWindow{}, 0, 0));
}

TEST(TimelineScene, NamePathsOfGroupsAndSteps) {
  const TimelineScene scene = timelineSmallScene();
  EXPECT_EQ(scene.pathOf(itemAt(scene, 110, RowKind::flame, 0, 0)), "layer");
  EXPECT_EQ(scene.pathOf(itemAt(scene, 110, RowKind::flame, 0, 1)), "layer/conv");
  EXPECT_EQ(scene.pathOf(itemAt(scene, 125, RowKind::flame, 0, 2)), "layer/conv/b");
  EXPECT_EQ(scene.pathOf(itemAt(scene, 140, RowKind::flame, 0, 1)), "layer/relu");
  EXPECT_EQ(scene.pathOf(itemAt(scene, 130, RowKind::activity, 0)), "");
}

TEST(TimelineScene, EveryBoxIsFoundWhereItIsDrawn) {
  const TimelineScene scene = timelineSmallScene();
  const TimelineWindow window = timelineWhole(scene);
  for (int x = 0; x < 800; x += 3) {
    for (std::size_t row = 0; row < scene.layout().rows.size(); ++row) {
      const int y = centre(scene, static_cast<int>(row));
      const TimelineItem item = scene.itemAt(window, x, y);
      if (!item || item.start > Ticks(x) || item.end <= Ticks(x)) continue;
      const auto box = scene.boxOf(window, item);
      ASSERT_TRUE(box);
      EXPECT_TRUE(box->contains(x, y)) << x << " " << row;
    }
  }
}

TEST(TimelineScene, BoxesOutsideTheWindowHaveNone) {
  const TimelineScene scene = timelineSmallScene();
  const TimelineItem pass = itemAt(scene, 130, RowKind::activity, 0);
  EXPECT_FALSE(scene.boxOf({TimeView(Ticks(500), Ticks(600), 100), 0, 500}, pass));
  EXPECT_FALSE(scene.boxOf({TimeView(Ticks(0), Ticks(800), 100), 400, 500}, pass));
  const auto narrow = scene.boxOf({TimeView(Ticks(0), Ticks(800'000), 100), 0, 500}, pass);
  ASSERT_TRUE(narrow);
  EXPECT_EQ(narrow->width, 1);
}

TEST(TimelineScene, NeighboursOfARow) {
  const TimelineScene scene = timelineSmallScene();
  const TimelineItem pass = itemAt(scene, 130, RowKind::activity, 0);
  EXPECT_EQ(scene.labelOf(scene.neighbour(pass, 1)), "slower stage");
  EXPECT_EQ(scene.labelOf(scene.neighbour(pass, -1)), "host");
  EXPECT_FALSE(scene.neighbour(scene.neighbour(pass, -1), -1)) << "the first";
  const TimelineItem step = itemAt(scene, 125, RowKind::flame, 0, 2);
  EXPECT_EQ(scene.labelOf(scene.neighbour(step, -1)), "a");
  const TimelineItem next = scene.neighbour(step, 1);
  EXPECT_EQ(scene.labelOf(next), "a") << "of the next placement that has this level";
  EXPECT_EQ(next.start, Ticks(500));
  EXPECT_FALSE(scene.neighbour(scene.neighbour(next, 1), 1));
  const TimelineItem transfer = itemAt(scene, 170, RowKind::transfer, 1);
  EXPECT_EQ(scene.neighbour(transfer, 1).start, Ticks(560));
  EXPECT_FALSE(scene.neighbour(transfer, -1));
  EXPECT_FALSE(scene.neighbour({}, 1));
}

TEST(TimelineScene, AWaitLeadsToWhatItWaitedFor) {
  const TimelineScene scene = timelineSmallScene();
  const TimelineItem wait = itemAt(scene, 170, RowKind::activity, 0);
  const TimelineItem cause = waitedFor(scene, wait);
  EXPECT_EQ(cause.kind, Kind::pass);
  EXPECT_EQ(cause.device, 1);
  EXPECT_EQ(scene.labelOf(cause), "F0");
  EXPECT_EQ(cause.end, Ticks(200));
  EXPECT_FALSE(waitedFor(scene, itemAt(scene, 50, RowKind::activity, 0))) << "the host is no placement";
  EXPECT_FALSE(waitedFor(scene, cause));
  const auto arrows = arrowsOf(scene, timelineWhole(scene), wait);
  ASSERT_EQ(arrows.size(), 1U);
  EXPECT_EQ(arrows[0].x1, 200);
  EXPECT_EQ(arrows[0].y1, centre(scene, rowIndex(scene, RowKind::activity, 1)));
  EXPECT_EQ(arrows[0].y2, centre(scene, rowIndex(scene, RowKind::activity, 0)));
}

TEST(TimelineScene, ArrowsOfTransfersAndPasses) {
  const TimelineScene scene = timelineSmallScene();
  const auto one = arrowsOf(scene, timelineWhole(scene), itemAt(scene, 170, RowKind::transfer, 1));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].x1, 160);
  EXPECT_EQ(one[0].x2, 180);
  EXPECT_EQ(one[0].y1, centre(scene, rowIndex(scene, RowKind::transfer, 0)));
  EXPECT_EQ(one[0].y2, centre(scene, rowIndex(scene, RowKind::transfer, 1)));
  const TimelineItem sender = itemAt(scene, 130, RowKind::activity, 0),
                     receiver = itemAt(scene, 190, RowKind::activity, 1);
  EXPECT_EQ(transfersOf(scene, sender), std::vector<int>{0});
  EXPECT_EQ(transfersOf(scene, receiver), std::vector<int>{0});
  EXPECT_TRUE(transfersOf(scene, itemAt(scene, 230, RowKind::activity, 0)).empty()) << "no gradient was sent";
  EXPECT_TRUE(arrowsOf(scene, timelineWhole(scene), {}).empty());
}

TEST(TimelineScene, ThePassLeadsToTheNearestTransfersOfItsMicroBatch) {
  SmallProfile small;
  small.fill();
  small.transfer(0, 1, 161, 180, model::TransferKind::activation, 0, 0);
  small.transfer(1, 0, 100, 120, model::TransferKind::activation, 0,
                 0);  // not of the sender, not to the receiver
  small.transfer(0, 1, 150, 155, model::TransferKind::activation, 0, 0);  // leaves before the pass ends
  small.transfer(0, 1, 160, 175, model::TransferKind::activation, 1, 0);  // of another micro-batch
  const TimelineScene scene = sceneOf(small.trace());
  const auto startsOf = [&](int x, int device) {
    std::vector<std::int64_t> starts;
    for (const int transfer : transfersOf(scene, itemAt(scene, x, RowKind::activity, device)))
      starts.push_back(scene.model()->trace->transfers[static_cast<std::size_t>(transfer)].start.count);
    return starts;
  };
  EXPECT_EQ(startsOf(130, 0), std::vector<std::int64_t>{160}) << "the first after the pass";
  EXPECT_EQ(startsOf(190, 1), std::vector<std::int64_t>{161}) << "the last before it";
}

TEST(TimelineScene, NoArrowLeadsToAHiddenDevice) {
  TimelineOptions options;
  options.hidden = {1};
  const TimelineScene scene = timelineSmallScene(options);
  const TimelineItem wait = itemAt(scene, 170, RowKind::activity, 0);
  ASSERT_EQ(wait.kind, Kind::wait);
  EXPECT_TRUE(arrowsOf(scene, timelineWhole(scene), wait).empty());
}

TEST(TimelineLayout, DevicesFollowTheWantedOrderAndThenTheirOwn) {
  TimelineOptions options;
  options.order = {7, 2, -1, 1, 1};
  const TimelineScene scene = timelineSmallScene(options);
  ASSERT_EQ(scene.layout().groups.size(), 2U);
  EXPECT_EQ(scene.layout().groups[0].title, "D1");
  EXPECT_EQ(scene.layout().groups[1].title, "D0");
}

TEST(FoundSteps, EqualAPlainSearch) {
  SmallProfile small;
  small.fill();
  const auto lanes = {model::LaneId(), small.compute[0], small.exchange[0], small.compute[1]};
  const auto trace = small.trace();
  for (const char* word : {"conv", "layer", "relu", "conv/a", "nothing"}) {
    const analysis::NameQuery query{word};
    const FoundSteps found(*trace, query);
    for (int s = 0; s < static_cast<int>(trace->segments.size()); ++s) {
      const analysis::TraceSegment& segment = trace->segments[static_cast<std::size_t>(s)];
      const auto matches = [&](std::size_t i) {
        return query.matches(trace->names[static_cast<std::size_t>(segment.stepNames[i])]);
      };
      const auto among = [&](model::LaneId lane, std::int64_t from, std::int64_t to) {
        for (std::size_t i = 0; i < segment.steps.size(); ++i) {
          const std::int64_t offset = segment.steps[i].offset.count;
          if (matches(i) && offset >= from && offset < to && (!lane.valid() || segment.steps[i].lane == lane))
            return true;
        }
        return false;
      };
      EXPECT_EQ(found.any(s), among({}, 0, 1000)) << word << s;
      for (std::size_t i = 0; i < segment.steps.size(); ++i)
        EXPECT_EQ(found.step(s, static_cast<int>(i)), matches(i)) << word << s << i;
      EXPECT_FALSE(found.step(s, -1));
      for (const model::LaneId lane : lanes)
        for (const std::int64_t from : {0, 1, 19, 20, 21, 30, 31})
          for (const std::int64_t to : {0, 1, 20, 21, 30, 31, 60})
            EXPECT_EQ(found.any(s, lane, Ticks(from), Ticks(to)), among(lane, from, to))
                << word << s << from << to;
    }
    EXPECT_FALSE(found.any(-1));
  }
}

TEST(TimelineScene, ItemsAreFoundByWhatTheyAre) {
  const TimelineScene scene = timelineSmallScene();
  const TimelineItem wait = itemAt(scene, 170, RowKind::activity, 0);
  EXPECT_EQ(scene.waitItem(0, wait.index), wait);
  const TimelineItem transfer = itemAt(scene, 170, RowKind::transfer, 0);
  EXPECT_EQ(scene.transferItem(transfer.index), transfer);
  const auto place = scene.model()->trace->find(model::PlacementId(0));
  EXPECT_EQ(scene.passItem(*place), itemAt(scene, 130, RowKind::activity, 0));
  // Without transfer rows a transfer is shown on its sender.
  const TimelineScene bare = timelineSmallScene({false, StepRows::none, false, {}});
  EXPECT_EQ(bare.transferItem(0).row, 0);
}

TEST(TimelineScene, PassesHaveShortNames) {
  EXPECT_EQ(passLabel(Pass::forward, 3), "F3");
  EXPECT_EQ(passLabel(Pass::recompute, 3), "R3");
  EXPECT_EQ(passLabel(Pass::backward, 12), "B12");
  EXPECT_EQ(passLabel(Pass::weightGradient, 0), "W0");
  EXPECT_EQ(passLabel(Pass::update, -1), "U");
  EXPECT_EQ(passLabel(Pass::hostIn, 2), "in 2");
  EXPECT_EQ(passLabel(Pass::hostOut, -1), "out");
  EXPECT_EQ(passLabel(Pass::sync, -1), "sync");
}

TEST(TimelineScene, OverviewHasALanePerDevice) {
  const TimelineScene scene = timelineSmallScene();
  const Shapes shapes = overview(*scene.model(), TimeView(Ticks(0), Ticks(800), 400), 40, false);
  const auto& forwards = shapes.fills[static_cast<std::size_t>(ColourRole::forward)];
  ASSERT_EQ(forwards.size(), 4U);
  EXPECT_EQ(forwards[0].y, 0);
  EXPECT_EQ(forwards[2].y, 20);
  EXPECT_TRUE(shapes.hatches.empty());
}

/// The strip of a trace, half a pixel a tick.
Shapes stripOf(SmallProfile& small) {
  const auto model = TimelineModel::make(small.trace());
  return overview(*model, TimeView(Ticks(0), Ticks(800), 400), 40, false);
}

TEST(TimelineScene, OverviewShowsTheStepsOfADeviceWithoutKnownPasses) {
  SmallProfile small;
  const auto kernels = small.segment(0, Pass::other, 100);
  small.step(kernels, 0, model::StepKind::compute, "kernel", 0, 20);
  const auto copies = small.segment(0, Pass::other, 100, small.exchange[0]);
  small.step(copies, 0, model::StepKind::exchange, "copy", 60, 40, small.exchange[0]);
  // They overlap, so each has a track of its own.
  small.place(kernels, 0, 100, 200, Pass::other, -1, -1);
  small.place(copies, 0, 150, 250, Pass::other, -1, -1);
  small.addRun(0, 800);
  const Shapes shapes = stripOf(small);
  const auto fills = [&](ColourRole role) { return shapes.fills[static_cast<std::size_t>(role)]; };
  ASSERT_EQ(fills(ColourRole::compute).size(), 1U);
  EXPECT_EQ(fills(ColourRole::compute)[0].x, 50);
  EXPECT_EQ(fills(ColourRole::compute)[0].width, 10);
  ASSERT_EQ(fills(ColourRole::exchange).size(), 1U);
  EXPECT_EQ(fills(ColourRole::exchange)[0].x, 105);
  EXPECT_EQ(fills(ColourRole::exchange)[0].width, 20);
  EXPECT_TRUE(fills(ColourRole::otherPass).empty());
}

TEST(TimelineScene, OverviewLeavesOutIdleDevicesWhereThereIsLittleRoom) {
  SmallProfile small;
  small.place(small.forward1, 1, 100, 160, Pass::forward, 0, 0);
  small.addRun(0, 800);
  const auto model = TimelineModel::make(small.trace());
  const auto forwardOf = [&](int height) {
    const Shapes shapes = overview(*model, TimeView(Ticks(0), Ticks(800), 400), height, false);
    return shapes.fills[static_cast<std::size_t>(ColourRole::forward)];
  };
  ASSERT_EQ(forwardOf(40).size(), 1U);
  EXPECT_EQ(forwardOf(40)[0].y, 20) << "below the lane of the idle device";
  ASSERT_EQ(forwardOf(5).size(), 1U);
  EXPECT_EQ(forwardOf(5)[0].y, 0);
  EXPECT_GE(forwardOf(5)[0].height, 4);
}

/// A trace of a training loop names its weight updates, but its forward and backward passes are kernels.
TEST(TimelineScene, OverviewShowsTheStepsBesideWeightUpdates) {
  SmallProfile small;
  const auto kernels = small.segment(0, Pass::other, 100);
  small.step(kernels, 0, model::StepKind::compute, "kernel", 0, 20);
  const auto thread = small.segment(0, Pass::other, 800, small.exchange[0]);
  small.step(thread, 0, model::StepKind::control, "host", 0, 800, small.exchange[0]);
  small.place(small.forward0, 0, 600, 660, Pass::update, -1, 0);
  small.place(kernels, 0, 100, 200, Pass::other, -1, -1);
  small.place(thread, 0, 0, 800, Pass::other, -1, -1);
  small.addRun(0, 800);
  const Shapes shapes = stripOf(small);
  const auto fills = [&](ColourRole role) { return shapes.fills[static_cast<std::size_t>(role)]; };
  ASSERT_EQ(fills(ColourRole::update).size(), 1U);
  EXPECT_EQ(fills(ColourRole::update)[0].x, 300);
  ASSERT_GE(fills(ColourRole::compute).size(), 1U);
  EXPECT_EQ(fills(ColourRole::compute)[0].x, 50);
  EXPECT_EQ(fills(ColourRole::compute)[0].width, 10);
  EXPECT_TRUE(fills(ColourRole::control).empty()) << "the host's thread would hide when the device is idle";
}

TEST(TimelineScene, OverviewShowsThePassesOfAllTracksAndTheFirstOneOnTop) {
  SmallProfile small;
  small.place(small.forward0, 0, 100, 160, Pass::forward, 0, 0);
  small.place(small.segment(0, Pass::collective, 100, small.exchange[0]), 0, 140, 240, Pass::collective, -1,
              0);
  small.addRun(0, 800);
  const Shapes shapes = stripOf(small);
  const auto& forwards = shapes.fills[static_cast<std::size_t>(ColourRole::forward)];
  const auto& collectives = shapes.fills[static_cast<std::size_t>(ColourRole::collectivePass)];
  ASSERT_EQ(forwards.size(), 1U);
  EXPECT_EQ(forwards[0].x, 50);
  EXPECT_EQ(forwards[0].right(), 80);
  ASSERT_EQ(collectives.size(), 1U);
  EXPECT_EQ(collectives[0].x, 80);
  EXPECT_EQ(collectives[0].right(), 120);
}

}  // namespace
}  // namespace pipescope::geometry
