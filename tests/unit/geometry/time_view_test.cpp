#include "profiler/geometry/timeline/time_view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace pipescope::geometry {
namespace {

TEST(TimeView, MapsItsEndsToTheCanvas) {
  const TimeView view(Ticks(1000), Ticks(3000), 500);
  EXPECT_DOUBLE_EQ(view.x(Ticks(1000)), 0);
  EXPECT_DOUBLE_EQ(view.x(Ticks(3000)), 500);
  EXPECT_DOUBLE_EQ(view.ticksPerPixel(), 4);
  EXPECT_EQ(view.time(0), Ticks(1000));
  EXPECT_EQ(view.time(250), Ticks(2000));
  EXPECT_EQ(view.start(), Ticks(1000));
  EXPECT_EQ(view.end(), Ticks(3000));
}

TEST(TimeView, ZoomKeepsTheTimeUnderThePointer) {
  // Far from zero, where a double has no fraction of a tick left.
  const std::int64_t far = 4'000'000'000'000'000'000;
  std::minstd_rand random(3);
  TimeView view(Ticks(far), Ticks(far + 1'000'000'000'000), 1600);
  for (int i = 0; i < 200; ++i) {
    const double x = static_cast<double>(random() % 1600);
    const Ticks before = view.time(x);
    const double position = view.x(before);
    view.zoomAbout(x, i % 3 == 0 ? 0.5 : 1.7, 1e13);
    const double ticks = std::abs(view.x(before) - x) * view.ticksPerPixel();
    EXPECT_LE(ticks, std::abs(position - x) * 1.7 * view.ticksPerPixel() + 1.0) << i;
    EXPECT_NEAR(static_cast<double>((view.time(x) - before).count), 0, 1) << i;
  }
}

TEST(TimeView, ZoomingInAndOutComesBack) {
  TimeView view(Ticks(123'456), Ticks(987'654), 1111);
  const TimeView before = view;
  for (int i = 0; i < 10; ++i) view.zoomAbout(333, 2, 1e9);
  for (int i = 0; i < 10; ++i) view.zoomAbout(333, 0.5, 1e9);
  EXPECT_NEAR(view.x(Ticks(500'000)), before.x(Ticks(500'000)), 1e-6);
  EXPECT_NEAR(view.span(), before.span(), 1e-6);
}

TEST(TimeView, SpanStaysWithinItsLimits) {
  TimeView view(Ticks(0), Ticks(1000), 100);
  for (int i = 0; i < 50; ++i) view.zoomAbout(50, 2, 1e6);
  EXPECT_DOUBLE_EQ(view.span(), TimeView::kShortest);
  for (int i = 0; i < 50; ++i) view.zoomAbout(50, 0.5, 1e6);
  EXPECT_DOUBLE_EQ(view.span(), 1e6);
  view.zoomAbout(50, 0, 1e6);
  view.zoomAbout(50, std::numeric_limits<double>::quiet_NaN(), 1e6);
  EXPECT_DOUBLE_EQ(view.span(), 1e6);
}

TEST(TimeView, PanMovesByPixels) {
  TimeView view(Ticks(0), Ticks(1000), 100);
  view.pan(25);
  EXPECT_DOUBLE_EQ(view.x(Ticks(250)), 0);
  view.pan(-0.5);
  EXPECT_DOUBLE_EQ(view.x(Ticks(250)), 0.5);
}

TEST(TimeView, KeepsWithinAStretch) {
  TimeView view(Ticks(0), Ticks(1000), 100);
  view.pan(-50);
  view.keepWithin(Ticks(0), Ticks(5000));
  EXPECT_EQ(view.start(), Ticks(0));
  view.pan(5000);
  view.keepWithin(Ticks(0), Ticks(5000));
  EXPECT_EQ(view.end(), Ticks(5000));
  EXPECT_DOUBLE_EQ(view.span(), 1000);
  view.keepWithin(Ticks(2000), Ticks(2100));
  EXPECT_EQ(view.start(), Ticks(2000));
  EXPECT_EQ(view.end(), Ticks(2100));
}

TEST(TimeView, KeepsWithinAStretchToAFractionOfATick) {
  TimeView view(Ticks(0), Ticks(100), 1000);  // ten pixels a tick
  view.pan(5);
  view.keepWithin(Ticks(0), Ticks(100));
  EXPECT_DOUBLE_EQ(view.x(Ticks(100)), 1000);
  EXPECT_DOUBLE_EQ(view.x(Ticks(0)), 0);
}

TEST(TimeView, AnotherWidthShowsTheSameStretch) {
  TimeView view(Ticks(10), Ticks(110), 100);
  view.setWidth(1000);
  EXPECT_EQ(view.start(), Ticks(10));
  EXPECT_EQ(view.end(), Ticks(110));
  EXPECT_DOUBLE_EQ(view.ticksPerPixel(), 0.1);
  view.setWidth(0);
  EXPECT_EQ(view.width(), 1);
}

TEST(TimeView, FirstTickOfAColumn) {
  TimeView view(Ticks(1000), Ticks(1700), 97);
  view.pan(0.3);
  for (int column = 0; column <= 97; ++column) {
    const Ticks first = view.firstAt(column);
    EXPECT_GE(view.x(first), column - 1e-9);
    EXPECT_LT(view.x(first - Ticks(1)), column);
  }
}

TEST(TimeView, HostileTimesStayOnThePainter) {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min(),
                 highest = std::numeric_limits<std::int64_t>::max();
  TimeView view(Ticks(0), Ticks(100), 1000);
  EXPECT_EQ(view.column(Ticks(lowest)), -1);
  EXPECT_EQ(view.column(Ticks(highest)), 1001);
  EXPECT_TRUE(std::isfinite(view.x(Ticks(lowest))));
  TimeView whole(Ticks(lowest), Ticks(highest), 1000);
  EXPECT_TRUE(std::isfinite(whole.span()));
  for (int i = 0; i < 100; ++i) whole.pan(1e6);
  EXPECT_TRUE(std::isfinite(whole.x(Ticks(0))));
  const TimeView backwards(Ticks(100), Ticks(0), 1000);
  EXPECT_DOUBLE_EQ(backwards.span(), 1);
}

}  // namespace
}  // namespace pipescope::geometry
