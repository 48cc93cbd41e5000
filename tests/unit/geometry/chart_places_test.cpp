// Places of what charts draw, computed by hand from the size of the picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "profiler/geometry/charts/curves.h"
#include "profiler/geometry/charts/lifetimes.h"
#include "profiler/geometry/charts/parallel_axes.h"
#include "profiler/geometry/charts/roofline.h"
#include "profiler/geometry/charts/waterfall.h"
#include "profiler/geometry/svg_shapes.h"

namespace pipescope::geometry {
namespace {

using testing::ElementsAre;

std::vector<std::string> textsOf(const Shapes& shapes) {
  std::vector<std::string> texts;
  for (const Label& label : shapes.labels) texts.push_back(label.text);
  return texts;
}

const Label& labelOf(const Shapes& shapes, const std::string& text) {
  static const Label none;
  for (const Label& label : shapes.labels)
    if (label.text == text) return label;
  ADD_FAILURE() << "no label " << text;
  return none;
}

TEST(StepCurves, NumbersStandBetweenTheEdgeAndTheAxis) {
  for (const std::size_t letters : {std::size_t{1}, std::size_t{5}, std::size_t{40}}) {
    const StepCurves curves({{ColourRole::series, {0, 4, 2}, false}}, 300, 120,
                            [&](double) { return std::string(letters, '8'); });
    const Shapes shapes = curves.draw(TextMeasure());
    ASSERT_FALSE(shapes.labels.empty());
    ASSERT_FALSE(shapes.lines.empty());
    const int axis = shapes.lines[0].x1;
    for (const Label& label : shapes.labels) {
      EXPECT_GE(label.box.x, 0) << label.text;
      EXPECT_EQ(label.box.right(), axis - 4) << label.text;
      EXPECT_GE(label.box.y, 0);
      EXPECT_LE(label.box.bottom(), 120);
    }
  }
}

TEST(StepCurves, EachPixelBelongsToAnIndex) {
  // 276 − 76 − 8 = 192 pixels for 3 values.
  const StepCurves curves({{ColourRole::series, {1, 2, 3}, false}}, 276, 100, [](double) { return "x"; });
  EXPECT_EQ(curves.indexAt(75), -1);
  EXPECT_EQ(curves.indexAt(76), 0);
  EXPECT_EQ(curves.indexAt(76 + 63), 0);
  EXPECT_EQ(curves.indexAt(76 + 64), 1);
  EXPECT_EQ(curves.indexAt(76 + 127), 1);
  EXPECT_EQ(curves.indexAt(76 + 128), 2);
  EXPECT_EQ(curves.indexAt(76 + 191), 2);
  EXPECT_EQ(curves.indexAt(76 + 192), -1);
  EXPECT_EQ(StepCurves({}, 276, 100, [](double) { return "x"; }).indexAt(100), -1);
}

TEST(StepCurves, ColumnsReachFromTheLeastToTheLargestValue) {
  // A room of 100 pixels' height from y = 8: 0 lies at 108, 1 at 8, a half at 58. Two values a column.
  std::vector<double> values(2 * 192, 0.5);
  values[2 * 5] = 0, values[2 * 5 + 1] = 1;
  const StepCurves curves({{ColourRole::series, values, false}}, 276, 118, [](double) { return "x"; });
  const Shapes shapes = curves.draw(TextMeasure());
  const auto& columns = shapes.fills[static_cast<std::size_t>(ColourRole::series)];
  ASSERT_EQ(columns.size(), 192U);
  EXPECT_EQ(columns[4], (Box{80, 58, 1, 2}));
  EXPECT_EQ(columns[5], (Box{81, 8, 1, 102}));  // two pixels thick
  EXPECT_EQ(columns[6], (Box{82, 8, 1, 52}));   // joined to the end of the column before
  EXPECT_EQ(columns[7], (Box{83, 58, 1, 2}));
}

/// The chart of one decade to each side of a point, 200 by 200 pixels of room.
Roofline rooflineOf(std::vector<RooflinePoint> points, std::vector<RooflineCeiling> ceilings = {}) {
  return Roofline(std::move(points), std::move(ceilings), 62 + 200 + 12, 10 + 200 + 36);
}

TEST(Roofline, APointLiesInTheMiddleOfItsDecades) {
  const Roofline chart = rooflineOf({{10, 1e9, 0}, {10, 1e9, 0.25}, {10, 1e9, 1}, {10, 1e9, 9}});
  // From 1 to 100 FLOP per byte, and from 10⁸ to 10¹⁰ FLOP/s. Areas follow the weights.
  EXPECT_EQ(chart.boxOf(0), (Box{162 - 3, 110 - 3, 6, 6}));
  EXPECT_EQ(chart.boxOf(1), (Box{162 - 7, 110 - 7, 14, 14}));
  EXPECT_EQ(chart.boxOf(2), (Box{162 - 11, 110 - 11, 22, 22}));
  EXPECT_EQ(chart.boxOf(3), chart.boxOf(2));
}

TEST(Roofline, DecadesHaveTheirNames) {
  const Shapes shapes = rooflineOf({{10, 1e9, 0}}).draw(TextMeasure());
  std::vector<std::string> texts = textsOf(shapes);
  texts.resize(6);  // after them come the names of the axes
  EXPECT_THAT(texts, ElementsAre("1", "10", "100", "100 M", "1 G", "10 G"));
  EXPECT_EQ(labelOf(shapes, "10").box, (Box{162 - 9, 212, 18, 16}));
  EXPECT_EQ(labelOf(shapes, "1 G").box, (Box{62 - 25 - 4, 110 - 8, 25, 16}));
  const Shapes small = rooflineOf({{0.005, 1e3, 0}}).draw(TextMeasure());
  EXPECT_THAT(textsOf(small), testing::IsSupersetOf({"0.001", "0.01", "100", "1 k", "10 k"}));
}

TEST(Roofline, NamesOfDecadesNeitherMeetNorLeaveThePicture) {
  const Shapes shapes = rooflineOf({{1e-9, 1, 0}, {1e9, 1e18, 0}}).draw(TextMeasure());
  for (std::size_t i = 0; i < shapes.labels.size(); ++i) {
    const Box& box = shapes.labels[i].box;
    EXPECT_GE(box.x, 0);
    EXPECT_LE(box.right(), 274);
    for (std::size_t k = 0; k < i; ++k) {
      const Box& other = shapes.labels[k].box;
      const bool across = box.y == other.y, up = box.right() == other.right();
      EXPECT_TRUE((!across || box.right() <= other.x || other.right() <= box.x) &&
                  (!up || box.bottom() <= other.y || other.bottom() <= box.y))
          << shapes.labels[i].text << " over " << shapes.labels[k].text;
    }
  }
}

TEST(Roofline, ASlopeIsARateTimesTheFlopPerByte) {
  // A peak of 10¹⁰ and a memory of 10⁹ bytes/s meet at 10 FLOP per byte. At 1 the memory gives 10⁹ FLOP/s.
  const Roofline chart = rooflineOf({{10, 1e9, 0}}, {{"peak", 1e10, true}, {"memory", 1e9, false}});
  const Shapes shapes = chart.draw(TextMeasure());
  std::vector<Line> strong;
  for (const Line& line : shapes.lines)
    if (line.strong) strong.push_back(line);
  ASSERT_EQ(strong.size(), 2U);
  // Axes reach from 1 to 100, and from 10⁸ to 10¹¹, because the peak itself needs room.
  EXPECT_EQ(strong[0].x1, 162);
  EXPECT_EQ(strong[0].x2, 262);
  EXPECT_EQ(strong[0].y1, 77);  // 10 + 200 ÷ 3
  EXPECT_EQ(strong[0].y2, 77);
  EXPECT_EQ(strong[1].x1, 62);
  EXPECT_EQ(strong[1].y1, 143);  // 10 + 200 · 2 ÷ 3
  EXPECT_EQ(strong[1].x2, 162);
  EXPECT_EQ(strong[1].y2, 77);
  EXPECT_EQ(labelOf(shapes, "peak").box.right(), 262);
  EXPECT_EQ(labelOf(shapes, "peak").box.y, 79);
  EXPECT_LE(labelOf(shapes, "memory").box.right(), 112) << "left of the middle of the slope";
}

TEST(Roofline, TheNearestPointIsHit) {
  const Roofline chart = rooflineOf({{10, 1e9, 0}, {10 * std::pow(10, 0.05), 1e9, 0}});
  const Box left = chart.boxOf(0), right = chart.boxOf(1);
  EXPECT_EQ(right.x - left.x, 5);  // 100 pixels a decade
  EXPECT_EQ(chart.hit(left.x + 3, left.y + 3), 0);
  EXPECT_EQ(chart.hit(right.x + 3, right.y + 3), 1);
  EXPECT_EQ(chart.hit(left.x - 6, left.y), 0);
  EXPECT_EQ(chart.hit(left.x - 7, left.y), -1);
  EXPECT_EQ(chart.hit(left.x, left.bottom() + 5), 0);
  EXPECT_EQ(chart.hit(left.x, left.bottom() + 6), -1);
}

/// Two axes at x = 60 and 160, with values from y = 42 (largest) to 142.
ParallelAxes axesOf(std::vector<double> first, std::vector<double> second) {
  const auto number = [](double value) { return std::to_string(static_cast<int>(value)); };
  std::vector<ParallelLine> lines(first.size());
  return ParallelAxes({{"first", std::move(first), {}, number}, {"second", std::move(second), {}, number}},
                      lines, 220, 168);
}

TEST(ParallelAxes, AHitIsAtMostFivePixelsFromALine) {
  // Lines from (60, 142) to (160, 42) and from (60, 42) to (160, 42).
  const ParallelAxes chart = axesOf({0, 10}, {7, 7.0});
  const ParallelAxes slope = axesOf({0, 10, 0}, {4, 0, 4});
  // The first line of `slope` falls from (60, 142) to (160, 42): 45°. A step of (3, 3) away from it is 4.2
  // pixels.
  EXPECT_EQ(slope.hit(110, 92 + 30), -1);
  EXPECT_EQ(slope.hit(80 + 3, 122 + 3), 0);
  EXPECT_EQ(slope.hit(80 - 3, 122 - 3), 0);
  EXPECT_EQ(slope.hit(80 + 4, 122 + 4), -1) << "5.7 pixels";
  EXPECT_EQ(slope.hit(80 - 4, 122 - 4), -1);
  EXPECT_EQ(slope.hit(60 - 3, 142 + 3), 0) << "beyond the end";
  EXPECT_EQ(slope.hit(60 - 4, 142 + 4), -1);
  EXPECT_EQ(slope.hit(140, 122), 1) << "the other diagonal";
  EXPECT_EQ(chart.hit(160, 92), 0) << "equal values lie in the middle";
}

TEST(ParallelAxes, AMarkedLineIsDrawnOnceMore) {
  const ParallelAxes chart = axesOf({0, 10}, {1, 2});
  const auto marked = [&](int line) {
    int count = 0;
    for (const Line& each : chart.draw(TextMeasure(), line).lines) count += each.role == ColourRole::critical;
    return count;
  };
  EXPECT_EQ(marked(-1), 0);
  EXPECT_EQ(marked(0), 1);
  EXPECT_EQ(marked(1), 1);
  EXPECT_EQ(marked(2), 0);
}

TEST(ParallelAxes, AxesReachFromTheLargestToTheLeastValue) {
  std::vector<std::tuple<int, int, int, int>> axes;
  for (const Line& line : axesOf({0, 10}, {1, 2}).draw(TextMeasure()).lines)
    if (line.role == ColourRole::idle && line.strong) axes.emplace_back(line.x1, line.y1, line.x2, line.y2);
  EXPECT_THAT(axes, ElementsAre(std::tuple(60, 42, 60, 142), std::tuple(160, 42, 160, 142)));
}

TEST(ParallelAxes, ThePlaceOfALineIsWhereItMeetsItsFirstAxis) {
  const ParallelAxes chart = axesOf({0, 10, NAN}, {0, 5, 10});
  EXPECT_EQ(chart.boxOf(0), (Box{56, 138, 8, 8}));
  EXPECT_EQ(chart.boxOf(1), (Box{56, 38, 8, 8}));
  EXPECT_EQ(chart.boxOf(2), (Box{156, 38, 8, 8})) << "it has no first value";
  EXPECT_TRUE(chart.meets(0, {55, 140, 10, 5}));
  EXPECT_FALSE(chart.meets(0, {55, 130, 10, 5}));
  EXPECT_THAT(textsOf(chart.draw(TextMeasure())), ElementsAre("first", "10", "0", "second", "10", "0"));
}

TEST(LifeChart, TicksAreRoundStepsBeforeTheEnd) {
  // Names take 113 of 340 pixels, notes 74, the edge 8: 145 pixels for 100 steps. A number needs 70.
  const LifeChart chart({{"a/b", "12 B", ColourRole::series, {{0, 50}, {99, 100}}}}, 100, -1, -1, 340);
  const Shapes shapes = chart.draw(TextMeasure());
  ASSERT_EQ(shapes.grounds.size(), 2U);
  EXPECT_EQ(shapes.grounds[0].second.x, 187);
  EXPECT_EQ(shapes.grounds[1].second.x, 187 + 73);
  EXPECT_THAT(textsOf(shapes), ElementsAre("0", "50", "a/b", "12 B"));
  EXPECT_EQ(labelOf(shapes, "12 B").box.right(), 187 - 8) << "notes end before the bars";
  EXPECT_GE(labelOf(shapes, "12 B").box.x, 113) << "and begin after the names";
  EXPECT_EQ(chart.barOf(0, 0), (Box{187, 23, 73, 12}));
  EXPECT_EQ(chart.barOf(0, 1).right(), 187 + 145);
  EXPECT_EQ(chart.stepAt(186), -1);
  EXPECT_EQ(chart.stepAt(187), 0);
  EXPECT_EQ(chart.stepAt(187 + 144), 99);
  EXPECT_EQ(chart.stepAt(187 + 145), -1);
  EXPECT_EQ(chart.hit(0, 19), -1);
  EXPECT_EQ(chart.hit(0, 20), 0);
  EXPECT_EQ(chart.hit(339, 37), 0);
  EXPECT_EQ(chart.hit(340, 37), -1);
  EXPECT_EQ(chart.hit(0, 38), -1);
  EXPECT_EQ(LifeChart::heightOf(1), 20 + 18 + 8);
}

TEST(LifeChart, SelectedStepsHaveAGround) {
  const LifeChart chart({{"a", "", ColourRole::series, {}}}, 10, 2, 4, 340);
  const Shapes shapes = chart.draw(TextMeasure(), 0);
  ASSERT_FALSE(shapes.grounds.empty());
  EXPECT_EQ(shapes.grounds[0].first, ColourRole::free);
  EXPECT_EQ(shapes.grounds[0].second, (Box{187 + 29, 0, 44, 38}));  // 14.5 pixels a step, from 29 to 72.5
  ASSERT_EQ(shapes.outlines.size(), 1U);
  EXPECT_EQ(shapes.outlines[0].box, (Box{0, 20, 339, 17}));
}

TEST(Waterfall, ColumnsBelowZeroReachBelowTheAxis) {
  // From −5 to 15 in 200 pixels below y = 20: 10 pixels a unit, so 0 lies at 170.
  const Waterfall chart({{"A", 10, true}, {"b", 5, false}, {"c", -20, false}, {"D", -5, true}}, 400, 244,
                        [](double, bool) { return "v"; });
  EXPECT_EQ(chart.boxOf(0), (Box{6, 70, 88, 100}));
  EXPECT_EQ(chart.boxOf(1), (Box{106, 20, 88, 50}));
  EXPECT_EQ(chart.boxOf(2), (Box{206, 20, 88, 200}));
  EXPECT_EQ(chart.boxOf(3), (Box{306, 170, 88, 50}));
  EXPECT_EQ(chart.endsOf(2), (std::pair<double, double>(15, -5)));
  EXPECT_EQ(chart.hit(0, 0), 0);
  EXPECT_EQ(chart.hit(99, 243), 0);
  EXPECT_EQ(chart.hit(100, 243), 1);
  EXPECT_EQ(chart.hit(399, 0), 3);
  EXPECT_EQ(chart.hit(400, 0), -1);
  EXPECT_EQ(chart.hit(0, 244), -1);
  EXPECT_EQ(chart.hit(-1, 0), -1);
  EXPECT_EQ(chart.hit(0, -1), -1);
}

TEST(SvgShapes, EveryShapeIsAnElementAtItsPlace) {
  Shapes shapes;
  shapes.ground(ColourRole::series, {1, 2, 3, 4});
  shapes.fill(ColourRole::counter, {5, 6, 7, 8});
  shapes.hatch(ColourRole::waitFill, {9, 10, 11, 12});
  shapes.outlines.push_back({{13, 14, 15, 16}, ColourRole::critical});
  shapes.arrows.push_back({17, 18, 19, 20, ColourRole::activation});
  shapes.lines.push_back({21, 22, 23, 24, ColourRole::idle, true});
  shapes.labels.push_back({{10, 20, 100, 12}, "a<b", ColourRole::counter});
  shapes.labels.push_back({{10, 20, 100, 11}, "low", ColourRole::series});
  shapes.labels.push_back({{10, 20, 100, 9}, "lowest", ColourRole::series, true});
  shapes.labels.push_back({{10, 20, 100, 8}, "too low", ColourRole::series});
  shapes.labels.push_back({{10, 20, 100, 12}, "", ColourRole::series});
  const std::string svg = svgShapes(shapes, [](ColourRole role) {
    return std::string(role == ColourRole::counter  ? "#ffffff"
                       : role == ColourRole::series ? "#000000"
                                                    : "#777777");
  });
  const auto pattern = "hatch" + std::to_string(static_cast<int>(ColourRole::waitFill));
  EXPECT_EQ(
      svg,
      "<defs>\n<pattern id=\"" + pattern +
          "\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
          "<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"#777777\" "
          "stroke-width=\"2\"/></pattern>\n</defs>\n"
          "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" fill=\"#000000\"/>\n"
          "<rect x=\"5\" y=\"6\" width=\"7\" height=\"8\" fill=\"#ffffff\"/>\n"
          "<rect x=\"9\" y=\"10\" width=\"11\" height=\"12\" fill=\"url(#" +
          pattern +
          ")\"/>\n"
          "<rect x=\"13\" y=\"14\" width=\"15\" height=\"16\" fill=\"none\" stroke-width=\"2\" "
          "stroke=\"#777777\"/>\n"
          "<line x1=\"17\" y1=\"18\" x2=\"19\" y2=\"20\" stroke=\"#777777\"/>\n"
          "<line x1=\"21\" y1=\"22\" x2=\"23\" y2=\"24\" stroke=\"#777777\" stroke-width=\"2\"/>\n"
          "<text x=\"60\" y=\"30\" font-size=\"11\" text-anchor=\"middle\" fill=\"black\">a&lt;b</text>\n"
          "<text x=\"60\" y=\"28\" font-size=\"9\" text-anchor=\"middle\" fill=\"white\">low</text>\n"
          "<text x=\"60\" y=\"27\" font-size=\"9\" text-anchor=\"middle\" fill=\"black\">lowest</text>\n");
}

}  // namespace
}  // namespace pipescope::geometry
