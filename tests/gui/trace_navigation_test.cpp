// Tests how mouse and keyboard move through the trace.
#include <QScrollBar>

#include "trace_fixture.h"
#include "views/timeline/overview_strip.h"

namespace pipescope::testing {
namespace {

using Kind = TimelineItem::Kind;

/// Rows that stay visible are moved, and only the others are drawn.
TEST_F(TracePageTest, ScrolledRowsLookAsDrawnAnew) {
  openTrace();
  window->resize(1200, 520);
  ASSERT_TRUE(settle());
  QScrollBar& bar = *canvas->verticalScrollBar();
  ASSERT_GT(bar.maximum(), 120);
  canvas->viewport()->grab();
  for (const int to : {7, 90, 64, bar.maximum(), 0, 33}) {
    bar.setValue(to);
    const QImage scrolled = canvas->viewport()->grab().toImage();
    const geometry::TimelineOptions options = canvas->options();
    geometry::TimelineOptions others = options;
    others.byMicroBatch = !others.byMicroBatch;
    canvas->setOptions(others);  // draws everything
    canvas->viewport()->grab();
    canvas->setOptions(options);
    ASSERT_EQ(bar.value(), to);
    EXPECT_EQ(scrolled, canvas->viewport()->grab().toImage()) << to;
  }
}

TEST_F(TracePageTest, CtrlWheelZoomsAboutThePointer) {
  openTrace();
  const QPoint at(TimelineCanvas::kGutter + 400, TimelineCanvas::kTop + 20);
  const geometry::TimeView before = canvas->window().view;
  const base::Ticks time = before.time(400);
  wheel(at, 120, Qt::ControlModifier);
  EXPECT_NEAR(range().view().span(), before.span() / 1.25, 1);
  EXPECT_NEAR(canvas->window().view.x(time), before.x(time), 0.51);
  wheel(at, -120, Qt::ControlModifier);
  EXPECT_NEAR(range().view().span(), before.span(), 2);
}

TEST_F(TracePageTest, KeysZoomAndPan) {
  openTrace();
  canvas->setFocus();
  const double span = range().view().span();
  QTest::keyClick(canvas, Qt::Key_W);
  EXPECT_NEAR(range().view().span(), span / 1.6, 1);
  const base::Ticks start = range().start();
  QTest::keyClick(canvas, Qt::Key_D);
  EXPECT_GT(range().start(), start);
  QTest::keyClick(canvas, Qt::Key_A);
  EXPECT_NEAR(static_cast<double>(range().start().count), static_cast<double>(start.count), 2);
  QTest::keyClick(canvas, Qt::Key_S);
  EXPECT_NEAR(range().view().span(), span, 2);
  QTest::keyClick(canvas, Qt::Key_Right);
  const base::Ticks moved = range().start();
  QTest::keyClick(canvas, Qt::Key_Left);
  EXPECT_LT(range().start(), moved);
  QTest::keyClick(canvas, Qt::Key_0);
  EXPECT_EQ(range().start(), trace().start);
  EXPECT_EQ(range().end(), trace().end);
}

TEST_F(TracePageTest, ZoomStaysWithinTheTrace) {
  openTrace();
  for (int i = 0; i < 30; ++i) QTest::keyClick(canvas, Qt::Key_S);
  EXPECT_EQ(range().start(), trace().start);
  EXPECT_EQ(range().end(), trace().end);
  for (int i = 0; i < 60; ++i) QTest::keyClick(canvas, Qt::Key_W);
  EXPECT_GE(range().view().span(), geometry::TimeView::kShortest);
  for (int i = 0; i < 5; ++i) QTest::keyClick(canvas, Qt::Key_A);
  EXPECT_GE(range().start(), trace().start);
}

TEST_F(TracePageTest, BackspaceUndoesZooms) {
  openTrace();
  const geometry::TimeView first = range().view();
  canvas->zoomTo(first.time(100), first.time(200));
  const geometry::TimeView second = range().view();
  canvas->zoomToAll();
  QTest::keyClick(canvas, Qt::Key_Backspace);
  EXPECT_EQ(range().view(), second);
  QTest::keyClick(canvas, Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(range().view(), first) << "as undo is elsewhere";
  QTest::keyClick(canvas, Qt::Key_Backspace);
  EXPECT_EQ(range().view(), first) << "there is nothing before";
}

TEST_F(TracePageTest, DraggingPans) {
  openTrace();
  QTest::keyClick(canvas, Qt::Key_W);
  const base::Ticks start = range().start();
  const QPoint from(TimelineCanvas::kGutter + 600, TimelineCanvas::kTop + 30);
  QTest::mousePress(canvas->viewport(), Qt::LeftButton, {}, from);
  dragTo(canvas->viewport(), from - QPoint(40, 0));
  dragTo(canvas->viewport(), from - QPoint(200, 0));
  QTest::mouseRelease(canvas->viewport(), Qt::LeftButton, {}, from - QPoint(200, 0));
  EXPECT_NEAR(static_cast<double>((range().start() - start).count), 200 * range().view().ticksPerPixel(),
              range().view().ticksPerPixel());
  EXPECT_FALSE(canvas->selected()) << "a drag selects nothing";
}

TEST_F(TracePageTest, CtrlDragZoomsToAStretch) {
  openTrace();
  const geometry::TimeView before = canvas->window().view;
  const QPoint from(TimelineCanvas::kGutter + 200, TimelineCanvas::kTop + 30);
  QTest::mousePress(canvas->viewport(), Qt::LeftButton, Qt::ControlModifier, from);
  dragTo(canvas->viewport(), from + QPoint(150, 0), Qt::ControlModifier);
  picture("trace_range");
  QTest::mouseRelease(canvas->viewport(), Qt::LeftButton, Qt::ControlModifier, from + QPoint(300, 0));
  EXPECT_NEAR(static_cast<double>(range().start().count), static_cast<double>(before.time(200).count), 2);
  EXPECT_NEAR(static_cast<double>(range().end().count), static_cast<double>(before.time(500).count), 2);
}

TEST_F(TracePageTest, DoubleClickZooms) {
  openTrace();
  const TimelineItem pass = findPass(1, model::Pass::backward, 2, 0);
  QTest::mouseDClick(canvas->viewport(), Qt::LeftButton, {}, centre(pass));
  EXPECT_EQ(canvas->selected(), pass);
  EXPECT_NEAR(range().view().span(), 1.2 * static_cast<double>((pass.end - pass.start).count), 10);
}

TEST_F(TracePageTest, NeighboursByKey) {
  openTrace();
  const TimelineItem pass = findPass(1, model::Pass::recompute, 3, 0);
  click(pass);
  QTest::keyClick(canvas, Qt::Key_Period);
  EXPECT_EQ(canvas->scene().labelOf(canvas->selected()), "B3");
  QTest::keyClick(canvas, Qt::Key_Comma);
  EXPECT_EQ(canvas->scene().labelOf(canvas->selected()), "R3");
  QTest::keyClick(canvas, Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(canvas->scene().labelOf(canvas->selected()), "F7");
  QTest::keyClick(canvas, Qt::Key_Escape);
  EXPECT_FALSE(canvas->selected());
  EXPECT_EQ(window->selection().current().kind, shell::Selected::Kind::none);
}

TEST_F(TracePageTest, GroupsFoldByAClickOnTheirName) {
  openTrace();
  const std::size_t rows = canvas->scene().layout().rows.size();
  const geometry::TimelineGroup& group = canvas->scene().layout().groups[1];
  QTest::mouseClick(canvas->viewport(), Qt::LeftButton, {}, {40, TimelineCanvas::kTop + group.y + 10});
  EXPECT_LT(canvas->scene().layout().rows.size(), rows);
  EXPECT_TRUE(canvas->scene().layout().groups[1].collapsed);
  QTest::mouseClick(canvas->viewport(), Qt::LeftButton, {},
                    {40, TimelineCanvas::kTop + canvas->scene().layout().groups[1].y + 10});
  EXPECT_EQ(canvas->scene().layout().rows.size(), rows);
}

TEST_F(TracePageTest, AClickOnTheStepBandShowsTheStep) {
  openTrace();
  canvas->zoomToAll();
  const int x = canvas->window().view.column(trace().iterations[2].start + base::Ticks(100'000));
  QTest::mouseClick(canvas->viewport(), Qt::LeftButton, {}, {TimelineCanvas::kGutter + x, 8});
  EXPECT_TRUE(labels().contains(QStringLiteral("Iteration 2 of 0–3")));
  EXPECT_LT(range().view().span(),
            1.1 * static_cast<double>((trace().iterations[2].end - trace().iterations[2].start).count));
}

TEST_F(TracePageTest, OverviewHandlesSetTheRange) {
  openTrace();
  auto* strip = child<timeline::OverviewStrip>();
  const auto [left, right] = strip->handles();
  EXPECT_LT(left, right);
  const base::Ticks start = range().start(), end = range().end();
  QTest::mousePress(strip, Qt::LeftButton, {}, {right, 20});
  dragTo(strip, {right + 150, 20});
  QTest::mouseRelease(strip, Qt::LeftButton, {}, {right + 150, 20});
  EXPECT_EQ(range().start(), start);
  EXPECT_GT(range().end(), end);
  EXPECT_NEAR(strip->handles().second, right + 150, 2);
  const double span = range().view().span();
  const int middle = (strip->handles().first + strip->handles().second) / 2;
  QTest::mousePress(strip, Qt::LeftButton, {}, {middle, 20});
  dragTo(strip, {middle + 100, 20});
  QTest::mouseRelease(strip, Qt::LeftButton, {}, {middle + 100, 20});
  EXPECT_GT(range().start(), start);
  EXPECT_NEAR(range().view().span(), span, 2);
  QTest::mouseClick(strip, Qt::LeftButton, {}, {strip->width() - 40, 20});
  EXPECT_GT(range().start(), end) << "a click elsewhere goes there";
  QTest::keyClick(canvas, Qt::Key_Backspace);
}

}  // namespace
}  // namespace pipescope::testing
