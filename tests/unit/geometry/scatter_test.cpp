// Tests the charts of sweeps: points by two figures, and lines over all figures.
#include <gtest/gtest.h>

#include <cmath>

#include "profiler/geometry/charts/parallel_axes.h"

namespace pipescope::geometry {
namespace {

const double kNothing = std::nan("");

std::string plainNumber(double value) {
  return std::to_string(static_cast<int>(std::lround(value)));
}

ScatterPlot somePoints() {
  return {{{0, 0, ColourRole::counter, true},
           {10, 5, ColourRole::counter, true},
           {20, 1, ColourRole::counter, false},
           {kNothing, 3, ColourRole::counter, false}},
          {"across", plainNumber},
          {"up", plainNumber},
          400,
          300};
}

std::size_t strongLines(const Shapes& shapes) {
  std::size_t count = 0;
  for (const Line& line : shapes.lines) count += line.strong ? 1 : 0;
  return count;
}

bool hasLabel(const Shapes& shapes, const std::string& text) {
  for (const Label& label : shapes.labels)
    if (label.text == text) return true;
  return false;
}

TEST(ScatterChart, PlacesPointsByTheirFigures) {
  const ScatterPlot chart = somePoints();
  const Box a = chart.boxOf(0), b = chart.boxOf(1), c = chart.boxOf(2);
  EXPECT_LT(a.x, b.x);
  EXPECT_LT(b.x, c.x);
  EXPECT_GT(a.y, c.y) << "more is further up";
  EXPECT_GT(c.y, b.y);
  EXPECT_EQ(chart.boxOf(3).width, 0) << "without a value there is no point";
  EXPECT_GT(a.width, c.width) << "points of the front are larger";
}

TEST(ScatterChart, DrawsTheFrontAsALineAndTheAxes) {
  const Shapes shapes = somePoints().draw(TextMeasure());
  EXPECT_EQ(strongLines(shapes), 1U);
  EXPECT_EQ(shapes.fillCount(), 3U);
  EXPECT_TRUE(hasLabel(shapes, "across") && hasLabel(shapes, "up") && hasLabel(shapes, "10"));
  EXPECT_TRUE(shapes.outlines.empty());
  EXPECT_EQ(somePoints().draw(TextMeasure(), 1).outlines.size(), 1U);
}

/// Three digits are what tables and axes write: 28.75 MiB would be "28.8 MiB" on an axis.
TEST(ScatterChart, TicksOfBytesAreAmountsThatThreeDigitsTell) {
  constexpr double kMiB = 1024 * 1024;
  std::vector<double> ticks;
  const auto note = [&](double value) {
    ticks.push_back(value / kMiB);
    return plainNumber(value);
  };
  for (const auto& [least, most] : {std::pair{28.4, 31.3}, {2.1, 2.9}, {300.0, 301.0}}) {
    ticks.clear();
    const ScatterPlot chart(
        {{least * kMiB, 0, ColourRole::counter, true}, {most * kMiB, 1, ColourRole::counter}},
        {"across", note, true}, {"up", plainNumber}, 1'300, 300);
    chart.draw(TextMeasure());
    ASSERT_FALSE(ticks.empty());
    for (const double tick : ticks) {
      const double digits = tick >= 100 ? 1 : tick >= 10 ? 10 : 100;
      EXPECT_NEAR(tick * digits, std::round(tick * digits), 1e-9) << tick << " MiB";
    }
  }
}

TEST(ScatterChart, FindsThePointBelowThePointer) {
  const ScatterPlot chart = somePoints();
  for (const int point : {0, 1, 2}) {
    const Box box = chart.boxOf(point);
    EXPECT_EQ(chart.hit(box.x + box.width / 2, box.y + box.height / 2), point);
  }
  EXPECT_EQ(chart.hit(395, 5), -1);
}

TEST(ScatterChart, OfPointsThatOverlapTheNearestIsFound) {
  const ScatterPlot chart({{10, 5, ColourRole::counter, false},
                           {10.2, 5, ColourRole::counter, false},
                           {0, 0, ColourRole::counter, false},
                           {20, 10, ColourRole::counter, false}},
                          {"across", plainNumber}, {"up", plainNumber}, 400, 300);
  const Box first = chart.boxOf(0), second = chart.boxOf(1);
  ASSERT_LT(first.x, second.x);
  ASSERT_LT(second.x, first.right());
  EXPECT_EQ(chart.hit(first.x, first.y + 4), 0);
  EXPECT_EQ(chart.hit(second.right(), second.y + 4), 1);
}

TEST(ScatterChart, TheAxisBeginsAtZeroWhereNothingIsLess) {
  const auto leftOf = [](double least) {
    const ScatterPlot chart({{least, 1, ColourRole::counter, false}, {20, 5, ColourRole::counter, false}},
                            {"across", plainNumber}, {"up", plainNumber}, 400, 300);
    return chart.boxOf(0).x + chart.boxOf(0).width / 2;
  };
  EXPECT_EQ(leftOf(0), 84) << "the axis is 84 pixels from the left edge";
  EXPECT_GT(leftOf(-1), 84) << "a value below zero keeps a margin";
}

TEST(ScatterChart, BytesHaveTicksAtPowersOfTwo) {
  const ScatterPlot chart({{1000, 1, ColourRole::counter, false}, {9000, 2, ColourRole::counter, false}},
                          {"bytes", plainNumber, true}, {"rate", plainNumber}, 500, 300);
  const Shapes shapes = chart.draw(TextMeasure());
  EXPECT_TRUE(hasLabel(shapes, "2048") && hasLabel(shapes, "8192"));
  EXPECT_FALSE(hasLabel(shapes, "2000"));
}

TEST(ScatterChart, EqualAndMissingValuesAreDrawnToo) {
  const ScatterPlot equal({{7, 7, ColourRole::counter, false}}, {"x", plainNumber}, {"y", plainNumber}, 200,
                          200);
  EXPECT_GT(equal.boxOf(0).width, 0);
  EXPECT_FALSE(equal.draw(TextMeasure()).grounds.empty());
  const ScatterPlot none({}, {"x", plainNumber}, {"y", plainNumber}, 200, 200);
  EXPECT_EQ(none.draw(TextMeasure()).fillCount(), 0U);
}

ParallelAxes someLines() {
  return {{{"batch", {1, 2, 3}, {}, plainNumber},
           {"schedule", {0, 1, 0}, {"popart", "gpipe"}, {}},
           {"rate", {10, 30, kNothing}, {}, plainNumber}},
          {{ColourRole::counter, false}, {ColourRole::pathForward, true}, {ColourRole::counter, false}},
          600,
          300};
}

TEST(ParallelCoordinates, JoinTheValuesOfALine) {
  const Shapes shapes = someLines().draw(TextMeasure());
  EXPECT_TRUE(hasLabel(shapes, "batch") && hasLabel(shapes, "popart") && hasLabel(shapes, "gpipe"));
  EXPECT_TRUE(hasLabel(shapes, "30") && hasLabel(shapes, "10"));
  std::size_t plain = 0;
  for (const Line& line : shapes.lines) plain += line.strong ? 0 : 1;
  EXPECT_EQ(plain, 3U) << "two pieces of the first line, one of the third, which lacks the last axis";
  EXPECT_EQ(strongLines(shapes), 2U + 3U) << "the front's line, and three axes";
}

TEST(ParallelCoordinates, FindTheLineBelowThePointer) {
  const ParallelAxes chart = someLines();
  for (const int line : {0, 1, 2}) {
    const Box box = chart.boxOf(line);
    EXPECT_EQ(chart.hit(box.x + box.width / 2, box.y + box.height / 2), line);
  }
  EXPECT_EQ(chart.hit(300, 2), -1);
}

TEST(ParallelCoordinates, LinesCrossARectangleOnAnAxis) {
  const ParallelAxes chart = someLines();
  EXPECT_TRUE(chart.meets(0, chart.boxOf(0)));
  EXPECT_FALSE(chart.meets(1, chart.boxOf(0)));
  const Box axis{chart.boxOf(0).x, 0, chart.boxOf(0).width, 300};
  for (const int line : {0, 1, 2}) EXPECT_TRUE(chart.meets(line, axis)) << "all have a batch";
  EXPECT_FALSE(chart.meets(0, {200, 0, 40, 300})) << "between two axes";
}

}  // namespace
}  // namespace pipescope::geometry
