// Tests what marked times paint over the timeline: a line and the time, and nothing outside the visible time.
#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>

#include "views/timeline/annotations.h"

namespace pipescope::testing {
namespace {

using base::Ticks;
using timeline::Annotations;
using timeline::TimelineLook;

/// Columns of pixels that the marks of these times change. The view shows the ticks from 1,000 to 2,000, one
/// pixel each.
std::set<int> paintedColumns(std::initializer_list<int> times) {
  constexpr int kWide = 1'000, kTall = 80;
  const shell::Palette palette;
  const timeline::LabelFont labels{QFont()};
  const TimelineLook look{palette,
                          labels,
                          {},
                          geometry::TimeView(Ticks(1'000), Ticks(2'000), kWide),
                          QSize(TimelineLook::kGutter + kWide, kTall),
                          Ticks(0)};
  Annotations annotations;
  for (const int time : times) annotations.toggleMarker(Ticks(time));
  QImage image(look.size, QImage::Format_RGB32);
  image.fill(Qt::magenta);
  QPainter painter(&image);
  annotations.paint(painter, look);
  painter.end();
  std::set<int> columns;
  for (int x = 0; x < image.width(); ++x) {
    for (int y = 0; y < image.height(); ++y) {
      if (image.pixelColor(x, y) != QColor(Qt::magenta)) columns.insert(x - TimelineLook::kGutter);
    }
  }
  return columns;
}

TEST(TimelineMarks, StandAtTheirTime) {
  const std::set<int> columns = paintedColumns({1'400});
  ASSERT_FALSE(columns.empty());
  EXPECT_EQ(*columns.begin(), 400) << "the line, and the time at its right";
  EXPECT_GT(columns.size(), 5U);
}

TEST(TimelineMarks, OutsideTheVisibleTimeAreNotPainted) {
  EXPECT_TRUE(paintedColumns({990}).empty()) << "its text would reach into the view";
  EXPECT_TRUE(paintedColumns({2'010}).empty()) << "its text would be moved into the view";
  EXPECT_FALSE(paintedColumns({1'000}).empty()) << "the first visible time";
}

TEST(TimelineMarks, HaveTheirTextWithinTheView) {
  const std::set<int> columns = paintedColumns({1'995});
  ASSERT_FALSE(columns.empty());
  EXPECT_LT(*columns.begin(), 990) << "the text is at the left of the line";
  EXPECT_LE(*columns.rbegin(), 999);
}

}  // namespace
}  // namespace pipescope::testing
