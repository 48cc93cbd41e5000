// Tests the charts of operations, comparisons and graphs: their areas, places and marks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "profiler/geometry/charts/curves.h"
#include "profiler/geometry/charts/lifetimes.h"
#include "profiler/geometry/charts/roofline.h"
#include "profiler/geometry/charts/treemap.h"
#include "profiler/geometry/charts/waterfall.h"
#include "profiler/geometry/graph_fold.h"
#include "profiler/geometry/graph_scene.h"

namespace pipescope::geometry {
namespace {

bool overlap(const Box& a, const Box& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

TEST(LifeChart, BarsLieOverTheirSteps) {
  const std::vector<LifeRow> rows = {{"layer/a", "3 KiB", ColourRole::series, {{0, 40}, {60, 100}}},
                                     {"layer/b", "1 KiB", ColourRole::series, {{99, 100}}}};
  const LifeChart chart(rows, 100, 10, 19, 1200);
  const Box first = chart.barOf(0, 0), second = chart.barOf(0, 1), last = chart.barOf(1, 0);
  // Ten steps of the axis, measured by its whole length.
  const double tenth = (second.right() - first.x) / 10.0;
  EXPECT_NEAR(first.width, 4 * tenth, 1);
  EXPECT_NEAR(second.x - first.x, 6 * tenth, 1);
  EXPECT_EQ(last.right(), second.right());
  EXPECT_FALSE(overlap(first, last)) << "rows lie below each other";
  EXPECT_EQ(chart.hit(first.x, first.y), 0);
  EXPECT_EQ(chart.hit(last.x, last.y), 1);
  EXPECT_EQ(chart.hit(first.x, 0), -1) << "the axis";
  EXPECT_EQ(chart.hit(first.x, LifeChart::heightOf(rows.size())), -1);
  EXPECT_EQ(chart.stepAt(first.x), 0);
  EXPECT_EQ(chart.stepAt(second.right() - 1), 99);
  EXPECT_EQ(chart.stepAt(0), -1) << "the names";
  const Shapes shapes = chart.draw(TextMeasure(), 1);
  ASSERT_FALSE(shapes.grounds.empty());
  EXPECT_EQ(shapes.grounds[0].first, ColourRole::free) << "the selected steps";
  EXPECT_NEAR(shapes.grounds[0].second.x - first.x, tenth, 1);
  EXPECT_NEAR(shapes.grounds[0].second.width, tenth, 1);
  EXPECT_EQ(shapes.outlines.size(), 1u);
  for (const int width : {1, 90, 400}) {
    for (const auto& boxes : LifeChart(rows, 100, -1, -1, width).draw(TextMeasure()).fills) {
      for (const Box& box : boxes) EXPECT_GE(box.width, 1) << width;
    }
  }
}

TEST(Treemap, AreasAreProportionalAndCoverThePlane) {
  const std::vector<double> values = {6, 6, 4, 3, 2, 2, 1};  // the example of the algorithm's paper
  std::vector<TreemapItem> items;
  for (const double value : values) items.push_back({value, ColourRole::series, ""});
  constexpr int kWide = 600, kTall = 400;
  const Treemap map(items, kWide, kTall);
  double area = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Box& box = map.boxOf(static_cast<int>(i));
    const double own = static_cast<double>(box.width) * box.height;
    area += own;
    EXPECT_NEAR(own, values[i] / 24 * kWide * kTall, 0.02 * kWide * kTall) << i;
    EXPECT_GE(box.x, 0);
    EXPECT_LE(box.right(), kWide);
    EXPECT_LE(box.bottom(), kTall);
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(overlap(box, map.boxOf(static_cast<int>(j)))) << i << j;
  }
  EXPECT_EQ(area, kWide * kTall) << "no gaps";
  // The first row of the paper's figure holds the two largest items, one above the other.
  EXPECT_EQ(map.boxOf(0).x, map.boxOf(1).x);
  EXPECT_EQ(map.boxOf(0).bottom(), map.boxOf(1).y);
  EXPECT_GT(map.boxOf(2).x, map.boxOf(0).x);
}

TEST(Treemap, FindsWhatItDraws) {
  const Treemap map(
      {{3, ColourRole::compute, "a"}, {0, ColourRole::sync, "b"}, {1, ColourRole::exchange, "c"}}, 80, 60);
  for (const int item : {0, 2}) {
    const Box& box = map.boxOf(item);
    EXPECT_EQ(map.hit(box.x, box.y), item);
    EXPECT_EQ(map.hit(box.right() - 1, box.bottom() - 1), item);
  }
  EXPECT_EQ(map.boxOf(1), Box()) << "nothing has no area";
  EXPECT_EQ(map.hit(80, 10), -1);
  EXPECT_EQ(map.draw({}, 2).outlines.size(), 1U);
}

TEST(Treemap, BadValuesHaveNoArea) {
  const Treemap map({{std::nan(""), ColourRole::compute, ""}, {-1, ColourRole::compute, ""}}, 80, 60);
  EXPECT_EQ(map.hit(10, 10), -1);
  EXPECT_EQ(Treemap({{1, ColourRole::compute, ""}}, 0, 60).hit(0, 0), -1);
}

TEST(Roofline, EqualFactorsAreEqualDistances) {
  const Roofline chart({{1, 1e9, 0, ColourRole::series},
                        {10, 1e10, 0, ColourRole::series},
                        {100, 1e11, 0, ColourRole::series}},
                       {}, 700, 500);
  const auto centre = [&](int point) {
    const Box box = chart.boxOf(point);
    return std::pair(box.x + box.width / 2, box.y + box.height / 2);
  };
  const auto [x0, y0] = centre(0);
  const auto [x1, y1] = centre(1);
  const auto [x2, y2] = centre(2);
  EXPECT_NEAR(x1 - x0, x2 - x1, 1);
  EXPECT_NEAR(y0 - y1, y1 - y2, 1);
  EXPECT_GT(x1, x0);
  EXPECT_LT(y1, y0) << "more is higher";
  EXPECT_EQ(chart.hit(x1, y1), 1);
  EXPECT_EQ(chart.hit(x1, y1 + 60), -1);
}

TEST(Roofline, SlopesMeetThePeakAtTheirRidge) {
  // 100 GFLOP/s over 10 GB/s is 10 FLOP per byte.
  const Roofline chart({{1, 1e9, 0, ColourRole::series}}, {{"peak", 1e11, true}, {"memory", 1e10, false}},
                       700, 500);
  const Shapes shapes = chart.draw({});
  std::vector<Line> strong;
  for (const Line& line : shapes.lines) {
    if (line.strong) strong.push_back(line);
  }
  ASSERT_EQ(strong.size(), 2U);
  EXPECT_EQ(strong[0].y1, strong[0].y2) << "the peak is horizontal";
  EXPECT_EQ(strong[1].x2, strong[0].x1) << "and begins where the slope ends";
  EXPECT_EQ(strong[1].y2, strong[0].y1);
  EXPECT_GT(strong[1].y1, strong[1].y2);
}

TEST(Roofline, ThePeakBeginsAtTheFastestMemory) {
  // 100 GFLOP/s are reached at 10 FLOP per byte over 10 GB/s, and at 1 FLOP per byte over 100 GB/s.
  const RooflineCeiling peak{"peak", 1e11, true}, slow{"slow", 1e10, false}, fast{"fast", 1e11, false};
  for (const auto& ceilings : {std::vector{peak, slow, fast}, std::vector{fast, peak, slow}}) {
    const Shapes shapes = Roofline({{1, 1e9, 0, ColourRole::series}}, ceilings, 700, 500).draw({});
    int begins = -1;
    std::vector<int> slopesEnd;
    for (const Line& line : shapes.lines) {
      if (!line.strong) continue;
      if (line.y1 == line.y2)
        begins = line.x1;
      else
        slopesEnd.push_back(line.x2);
    }
    ASSERT_EQ(slopesEnd.size(), 2U);
    EXPECT_EQ(begins, std::ranges::min(slopesEnd));
    EXPECT_LT(begins, std::ranges::max(slopesEnd));
  }
}

TEST(Roofline, PointsWithoutFlopAreNotDrawn) {
  const Roofline none({{0, 1e9, 1, ColourRole::series}, {1, 0, 1, ColourRole::series}},
                      {{"peak", 1e12, true}}, 700, 500);
  EXPECT_FALSE(none.any());
  EXPECT_EQ(none.draw({}).fillCount(), 0U);
  EXPECT_EQ(none.boxOf(0), Box());
}

TEST(Waterfall, ChangesLeadFromOneTotalToTheOther) {
  const Waterfall chart({{"source", 100, true}, {"a", -30, false}, {"b", 10, false}, {"target", 80, true}},
                        400, 240, [](double value, bool) { return std::to_string(static_cast<int>(value)); });
  EXPECT_EQ(chart.endsOf(1), std::pair(100.0, 70.0));
  EXPECT_EQ(chart.endsOf(2), std::pair(70.0, 80.0));
  EXPECT_EQ(chart.endsOf(3), std::pair(0.0, 80.0));
  EXPECT_EQ(chart.boxOf(0).y, chart.boxOf(1).y) << "a change begins where the total ends";
  EXPECT_EQ(chart.boxOf(2).y, chart.boxOf(3).y) << "and the last one ends at the other total";
  EXPECT_EQ(chart.boxOf(1).bottom(), chart.boxOf(2).bottom());
  EXPECT_EQ(chart.hit(chart.boxOf(2).x, 5), 2);
}

TEST(Waterfall, ALongNameHasTwoLines) {
  const Waterfall chart({{"source", 100, true}, {"exchange, its host", -30, false}, {"target", 70, true}},
                        360, 200, [](double, bool) { return std::string("1"); });
  TextMeasure measure;
  measure.width = [](const std::string& text) { return static_cast<int>(text.size()) * 10; };
  measure.averageCharacter = 10;
  // A column is 120 wide, so that eleven characters have room.
  std::vector<std::string> names;
  int lowest = 0;
  for (const Label& label : chart.draw(measure).labels) {
    if (label.text != "1") names.push_back(label.text);
    lowest = std::max(lowest, label.box.bottom());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"source", "exchange,", "its host", "target"}));
  EXPECT_LE(lowest, 200);
  EXPECT_LT(chart.boxOf(0).bottom(), 200 - 2 * 14) << "the bars end above both lines";
}

TEST(Waterfall, ColoursTellGainsFromLossesAndLinesJoinTheColumns) {
  const Waterfall chart({{"source", 100, true}, {"a", -30, false}, {"b", 10, false}, {"target", 80, true}},
                        400, 240, [](double, bool) { return std::string(); });
  const Shapes shapes = chart.draw({});
  const auto boxesOf = [&](ColourRole role) { return shapes.fills[static_cast<std::size_t>(role)]; };
  EXPECT_EQ(boxesOf(ColourRole::lostUseful), std::vector<Box>{chart.boxOf(1)}) << "less time is better";
  EXPECT_EQ(boxesOf(ColourRole::lostImbalance), std::vector<Box>{chart.boxOf(2)});
  EXPECT_EQ(boxesOf(ColourRole::counter), (std::vector<Box>{chart.boxOf(0), chart.boxOf(3)}));
  ASSERT_EQ(shapes.lines.size(), 3U);
  EXPECT_EQ(shapes.lines[0].y1, chart.boxOf(0).y) << "from the top of the source";
  EXPECT_EQ(shapes.lines[1].y1, chart.boxOf(1).bottom()) << "a reduction ends at its lower edge";
  EXPECT_EQ(shapes.lines[2].y1, chart.boxOf(3).y);
}

TEST(Waterfall, NoChangeIsNeitherAGainNorALoss) {
  const Waterfall chart({{"source", 100, true}, {"a", 0, false}, {"target", 100, true}}, 600, 200,
                        [](double value, bool) { return std::to_string(value); });
  const Shapes shapes = chart.draw({});
  EXPECT_EQ(shapes.fills[static_cast<std::size_t>(ColourRole::otherKind)].size(), 1U);
  EXPECT_TRUE(shapes.fills[static_cast<std::size_t>(ColourRole::lostUseful)].empty());
}

TEST(Waterfall, ChangesForOtherWorkAreNeitherGainsNorLosses) {
  const Waterfall chart(
      {{"source", 100, true}, {"a", -30, false}, {"b", 10, false}, {"target", 80, true}}, 400, 240,
      [](double, bool) { return std::string(); }, false);
  const Shapes shapes = chart.draw({});
  EXPECT_TRUE(shapes.fills[static_cast<std::size_t>(ColourRole::lostUseful)].empty());
  EXPECT_TRUE(shapes.fills[static_cast<std::size_t>(ColourRole::lostImbalance)].empty());
  EXPECT_EQ(shapes.fills[static_cast<std::size_t>(ColourRole::otherKind)],
            (std::vector<Box>{chart.boxOf(1), chart.boxOf(2)}));
}

TEST(StepCurves, NoPeakIsAveragedAway) {
  StepCurve curve{ColourRole::series, std::vector<double>(10'000, 1)};
  curve.values[5'003] = 100;
  const StepCurves chart({curve}, 400, 200, [](double) { return std::string(); });
  EXPECT_EQ(chart.most(), 100);
  const Shapes shapes = chart.draw({});
  int top = 1'000;
  for (const Box& box : shapes.fills[static_cast<std::size_t>(ColourRole::series)])
    top = std::min(top, box.y);
  EXPECT_LE(top, 10) << "one step of 10,000 reaches the upper edge";
  EXPECT_EQ(chart.indexAt(0), -1);
  EXPECT_NEAR(static_cast<double>(chart.indexAt(76 + 158)), 5'000, 60);
}

TEST(StepCurves, AShorterCurveEndsEarlier) {
  const StepCurves chart(
      {{ColourRole::series, std::vector<double>(100, 1)}, {ColourRole::counter, std::vector<double>(50, 1)}},
      400, 200, [](double) { return std::string(); });
  const Shapes shapes = chart.draw({});
  const auto rightOf = [&](ColourRole role) {
    int right = 0;
    for (const Box& box : shapes.fills[static_cast<std::size_t>(role)]) right = std::max(right, box.right());
    return right - 76;
  };
  EXPECT_NEAR(rightOf(ColourRole::counter) * 2, rightOf(ColourRole::series), 4);
}

/// A chain of blocks with a way around each of them, as in a residual network.
std::vector<GraphArc> residual(std::size_t nodes) {
  std::vector<GraphArc> arcs;
  for (std::size_t i = 0; i + 1 < nodes; ++i) arcs.push_back({i, i + 1});
  for (std::size_t i = 0; i + 3 < nodes; i += 3) arcs.push_back({i, i + 3});
  return arcs;
}

TEST(GraphLayout, ArcsLeadDownAndBoxesDoNotOverlap) {
  const std::vector<GraphSize> sizes(60, {100, 30});
  const std::vector<GraphArc> arcs = residual(sizes.size());
  const GraphLayout layout = layOutGraph(sizes, arcs);
  ASSERT_EQ(layout.boxes.size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_GE(layout.boxes[i].x, 0);
    EXPECT_LE(layout.boxes[i].right(), layout.width);
    EXPECT_LE(layout.boxes[i].bottom(), layout.height);
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(overlap(layout.boxes[i], layout.boxes[j])) << i << " " << j;
  }
  for (std::size_t a = 0; a < arcs.size(); ++a) {
    EXPECT_GE(layout.boxes[arcs[a].to].y, layout.boxes[arcs[a].from].bottom());
    ASSERT_GE(layout.arcs[a].size(), 2U);
    EXPECT_EQ(layout.arcs[a].front().second, layout.boxes[arcs[a].from].bottom());
    EXPECT_EQ(layout.arcs[a].back().second, layout.boxes[arcs[a].to].y);
    // An arc around boxes passes through none of them.
    for (std::size_t i = 0; i + 1 < layout.arcs[a].size(); i += 2) {
      const auto [x, y] = layout.arcs[a][i];
      for (std::size_t b = 0; b < sizes.size(); ++b) {
        if (b == arcs[a].from || b == arcs[a].to) continue;
        EXPECT_FALSE(layout.boxes[b].contains(x, y)) << "arc " << a << " box " << b;
      }
    }
  }
}

TEST(GraphLayout, CirclesAndLoopsAreDrawnToo) {
  const GraphLayout layout =
      layOutGraph(std::vector<GraphSize>(3, {50, 20}), {{0, 1}, {1, 2}, {2, 0}, {1, 1}});
  std::set<int> rows;
  for (const Box& box : layout.boxes) rows.insert(box.y);
  EXPECT_EQ(rows.size(), 3U);
  EXPECT_TRUE(layout.arcs[3].empty()) << "a loop has no way";
  EXPECT_GE(layout.arcs[2].size(), 2U);
  EXPECT_TRUE(layOutGraph({}, {}).boxes.empty());
}

TEST(GraphLayout, InputsOfLateLayersStandBesideThem) {
  // 0 → 1 → … → 9, and 10 → 11 → 9, as labels that a loss takes after a cast.
  std::vector<GraphArc> arcs = {{10, 11}, {11, 9}};
  for (std::size_t i = 0; i + 1 < 10; ++i) arcs.push_back({i, i + 1});
  const GraphLayout layout = layOutGraph(std::vector<GraphSize>(12, {50, 20}), arcs);
  EXPECT_EQ(layout.boxes[11].y, layout.boxes[8].y);
  EXPECT_EQ(layout.boxes[10].y, layout.boxes[7].y);
}

/// Layers whose arcs are permutations can be drawn without a crossing.
TEST(GraphLayout, ArcsOfPermutationsDoNotCross) {
  constexpr std::size_t kLayers = 12, kWide = 4;
  std::vector<GraphArc> arcs;
  for (std::size_t layer = 0; layer + 1 < kLayers; ++layer) {
    for (std::size_t i = 0; i < kWide; ++i)
      arcs.push_back({layer * kWide + i, (layer + 1) * kWide + (i * 3 + layer) % kWide});
  }
  const GraphLayout layout = layOutGraph(std::vector<GraphSize>(kLayers * kWide, {60, 20}), arcs);
  for (std::size_t a = 0; a < arcs.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (arcs[a].from / kWide != arcs[b].from / kWide) continue;
      const bool left = layout.boxes[arcs[a].from].x < layout.boxes[arcs[b].from].x;
      EXPECT_EQ(layout.boxes[arcs[a].to].x < layout.boxes[arcs[b].to].x, left) << "arcs " << a << ", " << b;
    }
  }
}

TEST(GraphLayout, BoxesOfARowHaveTheirMiddlesAtOneHeight) {
  const GraphLayout layout = layOutGraph({{50, 20}, {50, 20}, {50, 60}}, {{0, 1}, {0, 2}});
  EXPECT_EQ(layout.boxes[1].y + 10, layout.boxes[2].y + 30);
}

TEST(GraphScene, TheLabelOfACutComesBeforeOthers) {
  const std::vector<SceneBox> boxes(2, {"n", "", ColourRole::series, -1, false});
  std::vector<SceneArc> arcs(8, {0, 1, "768x1024", false});
  arcs.push_back({0, 1, "cut", true});
  const GraphScene scene(boxes, arcs);
  const Shapes shapes = scene.draw({1, 300, 100}, 800, 600, {}, -1);
  EXPECT_TRUE(std::ranges::any_of(shapes.labels, [](const Label& label) { return label.text == "cut"; }));
  EXPECT_LT(std::ranges::count_if(shapes.labels, [](const Label& label) { return label.text == "768x1024"; }),
            8)
      << "there is not room for all of them";
}

TEST(GraphScene, DrawsOnlyWhatCanBeSeen) {
  constexpr std::size_t kNodes = 5'000;
  std::vector<SceneBox> boxes;
  for (std::size_t i = 0; i < kNodes; ++i)
    boxes.push_back(
        {"layer" + std::to_string(i), "Conv", ColourRole::series, static_cast<int>(i / 1'250), false});
  std::vector<SceneArc> arcs;
  for (const GraphArc& arc : residual(kNodes)) arcs.push_back({arc.from, arc.to, "1x2", false});
  const GraphScene scene(boxes, arcs);
  const Shapes near = scene.draw({1, 300, 0}, 800, 600, {}, -1);
  EXPECT_LT(near.fillCount(), 20U);
  EXPECT_GT(near.fillCount(), 3U);
  const GraphPlace all = scene.whole(800, 600);
  EXPECT_EQ(scene.draw(all, 800, 600, {}, -1).fillCount(), kNodes);
  const GraphPlace place{1, 300, 0};
  const Box box = scene.boxOf(place, 3);
  EXPECT_EQ(scene.hit(place, box.x + 5, box.y + 5), 3);
  EXPECT_EQ(scene.draw(place, 800, 600, {}, 3).outlines.size(), 1U);
}

TEST(GraphScene, StagesHaveGroundsOfTheirOwn) {
  const auto grounds = [](const std::vector<int>& regions, const std::vector<SceneArc>& arcs) {
    std::vector<SceneBox> boxes;
    for (const int region : regions) boxes.push_back({"n", "", ColourRole::series, region, false});
    const GraphScene scene(boxes, arcs);
    const GraphPlace all = scene.whole(400, 400);
    const Shapes shapes = scene.draw(all, 400, 400, {}, -1);
    // A ground is that of all boxes within it, so they must have one region.
    for (const auto& [role, ground] : shapes.grounds) {
      std::set<int> within;
      for (std::size_t i = 0; i < regions.size(); ++i) {
        if (overlap(ground, scene.boxOf(all, static_cast<int>(i)))) within.insert(regions[i]);
      }
      EXPECT_EQ(within.size(), 1U);
    }
    return shapes.grounds.size();
  };
  const std::vector<SceneArc> chain = {{0, 1, "", false}, {1, 2, "", false}, {2, 3, "", false}};
  EXPECT_EQ(grounds({0, 0, 1, 1}, chain), 2U);
  EXPECT_EQ(grounds({0, 1, 0, 1}, chain), 4U) << "the rectangles would lie over each other";
  EXPECT_EQ(grounds({0, 0, 0, 0}, chain), 0U) << "a single stage needs no ground";
  // The labels of the last stage lie beside the stage before, as in a classifier.
  EXPECT_EQ(grounds({0, 1, 2, 2}, {{0, 1, "", false}, {1, 3, "", false}, {2, 3, "", false}}), 4U);
}

TEST(GraphScene, CutsAroundTheEndOfAColumnHaveTheirLabels) {
  std::vector<SceneBox> boxes;
  std::vector<SceneArc> arcs;
  for (int i = 0; i < 32; ++i) boxes.push_back({"encoder/layer", "Gemm", ColourRole::series, i / 8, false});
  for (std::size_t i = 0; i + 1 < boxes.size(); ++i) {
    const bool cut = boxes[i].region != boxes[i + 1].region;
    arcs.push_back({i, i + 1, "1x2", cut, cut ? "786 KiB" : ""});
  }
  const GraphScene scene(boxes, arcs);
  const Shapes shapes = scene.draw(scene.whole(1300, 480), 1300, 480, {}, -1);
  const auto isCut = [](const Label& label) { return label.text == "786 KiB"; };
  EXPECT_EQ(std::ranges::count_if(shapes.labels, isCut), 3);
  // No line of a cut crosses the name of a stage.
  for (const Label& label : shapes.labels) {
    if (!label.text.starts_with("stage ")) continue;
    for (const Line& line : shapes.lines) {
      const Box around{std::min(line.x1, line.x2), std::min(line.y1, line.y2),
                       std::abs(line.x2 - line.x1) + 1, std::abs(line.y2 - line.y1) + 1};
      EXPECT_FALSE(line.strong && line.y1 == line.y2 && overlap(label.box, around)) << label.text;
    }
  }
}

/// A chain of boxes, laid out below each other.
GraphLayout chain(std::size_t boxes) {
  std::vector<GraphArc> arcs;
  for (std::size_t i = 0; i + 1 < boxes; ++i) arcs.push_back({i, i + 1});
  return layOutGraph(std::vector<GraphSize>(boxes, {190, 40}), arcs);
}

TEST(GraphFold, ALongChainBecomesColumns) {
  const GraphLayout folded = foldTallGraph(chain(30), std::vector<int>(30, -1), 3);
  std::set<int> columns;
  for (std::size_t i = 0; i < folded.boxes.size(); ++i) {
    const Box& box = folded.boxes[i];
    columns.insert(box.x);
    EXPECT_GE(box.x, 0);
    EXPECT_GE(box.y, 0);
    EXPECT_LE(box.right(), folded.width);
    EXPECT_LE(box.bottom(), folded.height);
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(overlap(box, folded.boxes[j])) << i << " " << j;
  }
  EXPECT_GT(columns.size(), 2U);
  EXPECT_LT(folded.height, 1'000);
  // Every arc still begins at its first box and ends at its last one.
  for (std::size_t i = 0; i < folded.arcs.size(); ++i) {
    const auto& points = folded.arcs[i];
    EXPECT_EQ(points.front().second, folded.boxes[i].bottom()) << i;
    EXPECT_EQ(points.back().second, folded.boxes[i + 1].y) << i;
    EXPECT_TRUE(points.size() == 2 || points.size() == 6) << "straight, or around the end of a column";
  }
}

/// The head of an arrow may end above its box. It goes with the box to the next column.
TEST(GraphFold, AnArcThatEndsAboveItsBoxFollowsTheBox) {
  GraphLayout layout;
  layout.width = 190;
  layout.height = 30 * 80;
  for (int i = 0; i < 30; ++i) {
    layout.boxes.push_back({0, i * 80, 190, 40});
    if (i > 0) layout.arcs.push_back({{95, (i - 1) * 80 + 40}, {95, i * 80 - 3}});
  }
  const GraphLayout folded = foldTallGraph(layout, std::vector<int>(30, -1), 3);
  std::set<int> columns;
  for (std::size_t i = 0; i < folded.arcs.size(); ++i) {
    const Box &from = folded.boxes[i], &to = folded.boxes[i + 1];
    columns.insert(to.x);
    EXPECT_EQ(folded.arcs[i].front(), std::pair(from.x + 95, from.bottom())) << i;
    EXPECT_EQ(folded.arcs[i].back(), std::pair(to.x + 95, to.y - 3)) << i;
    EXPECT_EQ(folded.arcs[i].size(), from.x == to.x ? 2U : 6U) << i;
  }
  EXPECT_GT(columns.size(), 1U);
}

TEST(GraphFold, OneWideRowDoesNotKeepALongChainTall) {
  // Thirty boxes below each other, the last but one with two more beside it: as wide as the canvas wants.
  std::vector<GraphArc> arcs;
  for (std::size_t i = 0; i + 1 < 30; ++i) arcs.push_back({i, i + 1});
  for (std::size_t i = 30; i < 32; ++i) arcs.push_back({i, 29});
  const GraphLayout folded =
      foldTallGraph(layOutGraph(std::vector<GraphSize>(32, {190, 40}), arcs), std::vector<int>(32, -1), 3);
  const double ratio = static_cast<double>(folded.width) / folded.height;
  EXPECT_GT(ratio, 2);
  EXPECT_LT(ratio, 4.5);
}

TEST(GraphFold, ColumnsEndWithRegions) {
  std::vector<int> regions;
  for (int i = 0; i < 30; ++i) regions.push_back(i / 4);
  const GraphLayout folded = foldTallGraph(chain(30), regions, 3);
  for (std::size_t i = 0; i + 1 < regions.size(); ++i) {
    if (regions[i] == regions[i + 1]) {
      EXPECT_EQ(folded.boxes[i].x, folded.boxes[i + 1].x) << i;
    }
  }
}

TEST(GraphFold, SmallAndFlatGraphsStay) {
  const GraphLayout small = chain(5);
  EXPECT_EQ(foldTallGraph(small, std::vector<int>(5, 0), 3).boxes, small.boxes);
  EXPECT_TRUE(foldTallGraph({}, {}, 3).boxes.empty());
}

TEST(GraphScene, LabelsLieNeitherOverBoxesNorOverEachOther) {
  std::vector<SceneBox> boxes(30, {"encoder/layer", "Gemm", ColourRole::series, -1, false});
  std::vector<SceneArc> arcs;
  for (std::size_t i = 0; i + 1 < boxes.size(); ++i)
    arcs.push_back({i, i + 1, "768x1024 float16 and many more words", true, "1 MiB"});
  const GraphScene scene(boxes, arcs);
  const GraphPlace all = scene.whole(1300, 480);
  const Shapes shapes = scene.draw(all, 1300, 480, {}, -1);
  std::vector<Box> labels;
  for (const Label& label : shapes.labels) {
    if (label.on != ColourRole::idle) continue;
    for (const Box& other : labels) EXPECT_FALSE(overlap(label.box, other));
    for (std::size_t i = 0; i < boxes.size(); ++i)
      EXPECT_FALSE(overlap(label.box, scene.boxOf(all, static_cast<int>(i)))) << label.text;
    labels.push_back(label.box);
  }
  EXPECT_GT(labels.size(), 10U);
}

TEST(GraphScene, LabelsAndNamesOfStagesAreNotCrossedByLinesThatLean) {
  // The end of a classifier: its last stage also takes the labels, which lie beside the stage before.
  std::vector<SceneBox> boxes;
  for (const int region : {0, 1, 2, 3, 3})
    boxes.push_back({"B", "25.7 k cycles · 2 operators", ColourRole::series, region, false});
  const std::vector<SceneArc> arcs = {{0, 1, "10x2 · 225 KiB", true, "225 KiB"},
                                      {1, 2, "10x2 · 50.0 KiB", true, "50.0 KiB"},
                                      {2, 4, "10x2 · 40.0 KiB", true, "40.0 KiB"},
                                      {3, 4, "40 int32", false, ""}};
  const GraphScene scene(boxes, arcs);
  for (const double scale : {1.0, 0.8, 0.66, 0.6}) {
    const Shapes shapes = scene.draw({scale, 100, 20}, 900, 600, {}, -1);
    int labels = 0;
    for (const Label& label : shapes.labels) {
      const bool ofArc = label.on == ColourRole::idle;
      if (!ofArc && !label.text.starts_with("stage ")) continue;
      labels += ofArc ? 1 : 0;
      for (const Line& line : shapes.lines) {
        for (int i = 0; i <= 1'000; ++i) {
          const double x = line.x1 + (line.x2 - line.x1) * i / 1000.0,
                       y = line.y1 + (line.y2 - line.y1) * i / 1000.0;
          ASSERT_FALSE(x > label.box.x && x < label.box.right() && y > label.box.y && y < label.box.bottom())
              << label.text << " at " << scale;
        }
      }
    }
    EXPECT_GE(labels, 3) << "the cuts, at " << scale;
  }
}

TEST(GraphScene, ABoxWithoutRoomShowsTheTimeAlone) {
  const GraphScene scene({{"B1", "44.6 k cycles · 3 ops", ColourRole::series, -1, false}}, {});
  const auto texts = [&](double scale) {
    std::set<std::string> all;
    for (const Label& label : scene.draw({scale, 0, 0}, 400, 200, {}, -1).labels) all.insert(label.text);
    return all;
  };
  EXPECT_TRUE(texts(1).contains("44.6 k cycles · 3 ops"));
  EXPECT_TRUE(texts(0.6).contains("44.6 k cycles"));
}

TEST(StepCurves, TheAxisHasRoundNumbersOfBytes) {
  const double most = 1.17 * 1024 * 1024 * 1024;
  const auto shown = [](double bytes) { return std::to_string(std::llround(bytes / 1048576)) + " MiB"; };
  const Shapes shapes = StepCurves({{ColourRole::counter, {0, most}}}, 400, 200, shown).draw({});
  std::vector<std::string> labels;
  for (const Label& label : shapes.labels) labels.push_back(label.text);
  EXPECT_EQ(labels, (std::vector<std::string>{"0 MiB", "512 MiB", "1024 MiB"}));
}

TEST(StepCurves, TheGridLiesBehindTheAreas) {
  // The left half of the area is as high as the axis, and the right half a quarter of that.
  std::vector<double> values(100, 4 * 1048576.0);
  std::fill(values.begin() + 50, values.end(), 1048576.0);
  const StepCurves curves({{ColourRole::counter, values, true}}, 400, 218,
                          [](double) { return std::string(); });
  const Shapes shapes = curves.draw({});
  std::map<int, std::vector<std::pair<int, int>>> byHeight;
  for (const Line& line : shapes.lines) byHeight[line.y1].emplace_back(line.x1, line.x2);
  // Lines for 0 to 4 MiB lie 50 pixels apart; the chart reaches from 76 to 392.
  const std::vector whole{std::pair(76, 392)}, rightHalf{std::pair(234, 392)};
  const std::map<int, std::vector<std::pair<int, int>>> expected = {
      {208, whole}, {108, rightHalf}, {58, rightHalf}, {8, rightHalf}};
  EXPECT_EQ(byHeight, expected);
}

TEST(StepCurves, AnAreaLiesBehindTheLine) {
  const StepCurves curves({{ColourRole::counter, {4, 4, 2}, true}, {ColourRole::critical, {4, 4, 2}}}, 200,
                          120, [](double) { return std::string(); });
  const Shapes shapes = curves.draw({});
  ASSERT_FALSE(shapes.grounds.empty());
  EXPECT_EQ(shapes.grounds.front().first, ColourRole::counter);
  EXPECT_TRUE(shapes.fills[static_cast<std::size_t>(ColourRole::counter)].empty());
  EXPECT_FALSE(shapes.fills[static_cast<std::size_t>(ColourRole::critical)].empty());
}

}  // namespace
}  // namespace pipescope::geometry
