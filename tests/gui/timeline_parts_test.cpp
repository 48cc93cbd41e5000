// Tests the parts of the timeline separately: annotations, groups, keys, pointer, view, selection and levels
// of detail.
#include <gtest/gtest.h>

#include <QApplication>
#include <QImage>
#include <QPainter>
#include <QScrollBar>
#include <QTest>
#include <QWheelEvent>
#include <set>

#include "profile_fixture.h"
#include "profiler/analysis/timeline/trace.h"
#include "profiler/base/progress.h"
#include "views/pages/parts/tables/unit_list.h"
#include "views/timeline/painters/gutter_painter.h"
#include "views/timeline/painters/shapes_painter.h"
#include "views/timeline/tile_map.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/wait_matrix.h"

namespace pipescope::testing {
namespace {

using base::Ticks;
using geometry::TimelineItem;
using geometry::TimelineModel;
using geometry::TimeView;
using timeline::Annotations;
using timeline::GroupChange;

/// The trace of the fixture's training calls on four devices.
std::shared_ptr<const analysis::Trace> fixtureTrace() {
  const ProfileFixture fixture{FixtureOptions{}};
  const auto catalog = analysis::loadCatalog(*fixture.profile());
  EXPECT_TRUE(catalog.ok());
  base::SilentProgress progress;
  const auto trace =
      analysis::loadTrace(*fixture.profile(), **catalog, {model::ExecutableId(0), {}, {}}, progress);
  EXPECT_TRUE(trace.ok());
  return *trace;
}

TEST(GutterPainter, LanesOfAThreadWithALongNameShowTheirLevels) {
  const QFontMetrics metrics(QApplication::font());
  const auto shown = [&](const char* name) {
    return timeline::GutterPainter::shownName(QString::fromLatin1(name), metrics);
  };
  EXPECT_EQ(shown("a, level 2"), QStringLiteral("a, level 2")) << "it has room";
  EXPECT_EQ(shown("a thread with a rather long name, level 2"), QStringLiteral("level 2"));
  EXPECT_EQ(shown("a thread with a rather long name, level 12"), QStringLiteral("level 12"));
  const QString other = shown("a thread with a rather long name, row 2");
  EXPECT_TRUE(other.endsWith(QStringLiteral("row 2"))) << other.toStdString();
  EXPECT_LE(metrics.horizontalAdvance(other), timeline::TimelineCanvas::kGutter);
}

TEST(WaitMatrix, NamesOfRanksAreShortenedBeforeTheyAreCut) {
  shell::Palette palette;
  timeline::WaitMatrix matrix(palette);
  QStringList ranks;
  for (const char* data : {"0", "1"}) {
    for (const char* stage : {"0", "1", "2", "3"})
      ranks << QStringLiteral("DP rank [%1], PP rank %2, TP rank 0").arg(data, stage);
  }
  QStringList columns = ranks;
  columns << QStringLiteral("host");
  matrix.setMatrix(ranks, columns, {});
  matrix.show();
  for (const int width : {600, 900, 1400}) {
    matrix.resize(width, 500);
    const QStringList drawn = matrix.drawnColumns();
    EXPECT_EQ(drawn.size(), columns.size()) << "no name is left out at " << width;
    EXPECT_EQ(drawn.first(), QStringLiteral("DP [0], PP 0"));
    EXPECT_EQ(drawn.last(), QStringLiteral("host"));
    EXPECT_EQ(QSet<QString>(drawn.begin(), drawn.end()).size(), drawn.size());
  }
  matrix.resize(900, 500);
  const int upright = matrix.cellRect(0, 0).top();
  matrix.resize(1400, 500);
  EXPECT_LT(matrix.cellRect(0, 0).top(), upright) << "names that have room side by side lie";
  // Names that are numbers may be left out in part.
  QStringList numbers;
  for (int i = 0; i < 200; ++i) numbers << QString::number(i);
  matrix.setMatrix(ranks, numbers, {});
  EXPECT_LT(matrix.drawnColumns().size(), 100);
}

/// A canvas of 950 × 400 pixels that shows the whole trace.
struct Canvas {
  shell::Palette palette;
  shell::TimeRange range;
  std::shared_ptr<const analysis::Trace> trace = fixtureTrace();
  timeline::TimelineCanvas canvas{palette, range};

  explicit Canvas(int height = 400) {
    palette.setTheme(shell::Theme::light);
    canvas.resize(timeline::TimelineCanvas::kGutter + 800, height);
    canvas.show();
    canvas.setModel(TimelineModel::make(trace));
    range.reset(TimeView(trace->start, trace->end, 800));
  }

  void drag(const QPoint& from, const QPoint& to, Qt::KeyboardModifiers modifiers) {
    const auto send = [&](QEvent::Type type, const QPoint& at, Qt::MouseButtons buttons) {
      QMouseEvent event(type, at, canvas.viewport()->mapToGlobal(at), Qt::LeftButton, buttons, modifiers);
      QApplication::sendEvent(canvas.viewport(), &event);
    };
    send(QEvent::MouseButtonPress, from, Qt::LeftButton);
    send(QEvent::MouseMove, to, Qt::LeftButton);
    send(QEvent::MouseButtonRelease, to, Qt::NoButton);
  }
};

TEST(TimelineAnnotations, KeepTheLastSpansAndOrderMarks) {
  Annotations annotations;
  for (int i = 0; i < 25; ++i) annotations.addSpan(Ticks(i), Ticks(i + 1));
  ASSERT_EQ(annotations.spans().size(), Annotations::kMost);
  EXPECT_EQ(annotations.spans().front().from, Ticks(5)) << "the oldest went";
  for (const int time : {30, 10, 20}) annotations.toggleMarker(Ticks(time));
  EXPECT_EQ(annotations.markers(), (std::vector<Ticks>{Ticks(10), Ticks(20), Ticks(30)}));
  annotations.toggleMarker(Ticks(20));
  EXPECT_EQ(annotations.markers(), (std::vector<Ticks>{Ticks(10), Ticks(30)}));
  for (int i = 0; i < 30; ++i) annotations.toggleMarker(Ticks(1000 + i));
  EXPECT_EQ(annotations.markers().size(), Annotations::kMost);
  annotations.clear();
  EXPECT_TRUE(annotations.spans().empty() && annotations.markers().empty());
}

TEST(TimelineAnnotations, MeasuringBackwardsGivesTheSameSpan) {
  Annotations annotations;
  annotations.startMeasuring(Ticks(50));
  annotations.measureTo(Ticks(20));
  EXPECT_TRUE(annotations.finishMeasuring());
  ASSERT_EQ(annotations.spans().size(), 1U);
  EXPECT_EQ(annotations.spans()[0].from, Ticks(20));
  EXPECT_EQ(annotations.spans()[0].to, Ticks(50));
  annotations.startMeasuring(Ticks(50));
  EXPECT_FALSE(annotations.finishMeasuring()) << "an empty span is a click";
  EXPECT_EQ(annotations.spans().size(), 1U);
}

TEST(TimelineGroups, ChangeOrSayThatTheyCannot) {
  const auto trace = fixtureTrace();
  geometry::TimelineOptions options;
  const auto after = [&](GroupChange change, int device) {
    return timeline::changed(options, change, device, *trace);
  };
  EXPECT_FALSE(after(GroupChange::fold, -1)) << "no device is meant";
  EXPECT_FALSE(after(GroupChange::up, 0));
  EXPECT_FALSE(after(GroupChange::down, 3));
  EXPECT_EQ(after(GroupChange::down, 0)->order, (std::vector<int>{1, 0, 2, 3}));
  EXPECT_EQ(after(GroupChange::up, 3)->order, (std::vector<int>{0, 1, 3, 2}));
  EXPECT_EQ(after(GroupChange::fold, 2)->collapsed, std::set<int>{2});
  options.collapsed = {2};
  EXPECT_TRUE(after(GroupChange::fold, 2)->collapsed.empty());
  EXPECT_EQ(after(GroupChange::foldAll, -1)->collapsed, (std::set<int>{0, 1, 2, 3})) << "one is folded";
  options.collapsed = {0, 1, 2, 3};
  EXPECT_TRUE(after(GroupChange::foldAll, -1)->collapsed.empty()) << "all are folded";
  options.hidden = {0, 1, 2};
  EXPECT_FALSE(after(GroupChange::hide, 3)) << "one device stays visible";
  EXPECT_TRUE(after(GroupChange::showAll, -1)->hidden.empty());
}

TEST(TimelineKeys, ScrollRowsByLinesAndPages) {
  Canvas shown(200);
  shown.canvas.changeRowHeight(1);
  shown.canvas.changeRowHeight(1);
  QScrollBar* bar = shown.canvas.verticalScrollBar();
  ASSERT_GT(bar->maximum(), 0);
  QTest::keyClick(&shown.canvas, Qt::Key_Down);
  EXPECT_EQ(bar->value(), std::min(3 * bar->singleStep(), bar->maximum()));
  QTest::keyClick(&shown.canvas, Qt::Key_Up);
  EXPECT_EQ(bar->value(), 0);
  QTest::keyClick(&shown.canvas, Qt::Key_PageDown);
  EXPECT_EQ(bar->value(), std::min(bar->pageStep(), bar->maximum()));
  QTest::keyClick(&shown.canvas, Qt::Key_PageUp);
  EXPECT_EQ(bar->value(), 0);
}

TEST(TimelineKeys, EscapeEndsTheSelectionFirstAndThenRemovesSpans) {
  Canvas shown;
  shown.canvas.select(shown.canvas.scene().passItem({0, 0, 0}));
  ASSERT_TRUE(shown.canvas.selected());
  QTest::keyClick(&shown.canvas, Qt::Key_R);
  ASSERT_EQ(shown.canvas.spans().size(), 1U);
  QTest::keyClick(&shown.canvas, Qt::Key_Escape);
  EXPECT_FALSE(shown.canvas.selected());
  EXPECT_EQ(shown.canvas.spans().size(), 1U);
  QTest::keyClick(&shown.canvas, Qt::Key_Escape);
  EXPECT_TRUE(shown.canvas.spans().empty());
}

TEST(TimelineKeys, GoToTheNextAndPreviousItemOfAKind) {
  Canvas shown;
  const TimelineItem first = shown.canvas.scene().passItem({0, 0, 0});
  shown.canvas.select(first);
  QTest::keyClick(&shown.canvas, Qt::Key_Greater);
  const TimelineItem second = shown.canvas.selected();
  EXPECT_GT(second.start, first.start);
  QTest::keyClick(&shown.canvas, Qt::Key_Less);
  EXPECT_EQ(shown.canvas.selected(), first);
}

TEST(TimelinePointer, TheWheelWithShiftPans) {
  Canvas shown;
  shown.canvas.zoomBy(8);
  const Ticks before = shown.range.start();
  const auto wheel = [&](int turn) {
    const QPoint at(400, 100);
    QWheelEvent event(at, shown.canvas.viewport()->mapToGlobal(at), {}, {0, turn}, Qt::NoButton,
                      Qt::ShiftModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(shown.canvas.viewport(), &event);
  };
  wheel(-120);
  EXPECT_GT(shown.range.start(), before) << "turning towards oneself shows later times";
  wheel(120);
  EXPECT_EQ(shown.range.start(), before);
}

TEST(TimelinePointer, AStretchOfAPixelDoesNotZoom) {
  Canvas shown;
  const TimeView before = shown.range.view();
  shown.drag({400, 100}, {401, 100}, Qt::ControlModifier);
  EXPECT_EQ(shown.range.view(), before);
  shown.drag({400, 100}, {600, 100}, Qt::ControlModifier);
  EXPECT_NEAR(shown.range.view().span(), before.span() / 4, before.span() / 400);
}

TEST(TimelineView, RevealingCentresWhatFits) {
  Canvas shown;
  const Ticks end = shown.trace->end;
  shown.range.show(TimeView(shown.trace->start, shown.trace->start + Ticks(end.count / 16), 800));
  const auto half = static_cast<std::int32_t>(shown.trace->devices[0].tracks[0].placements.size() / 2);
  const TimelineItem item = shown.canvas.scene().passItem({0, 0, half});
  shown.canvas.reveal(item);
  const TimeView view = shown.canvas.window().view;
  EXPECT_NEAR((view.x(item.start) + view.x(item.end)) / 2, 400, 2);
}

TEST(TimelineView, OneUndoTakesBackAGesture) {
  Canvas shown;
  const TimeView before = shown.range.view();
  for (int i = 0; i < 5; ++i) shown.canvas.zoomBy(1.25);
  EXPECT_LT(shown.range.view().span(), before.span() / 2);
  QTest::keyClick(&shown.canvas, Qt::Key_Backspace);
  EXPECT_NEAR(shown.range.view().span(), before.span(), 1);
}

TEST(TimelineSteps, TheTimeAtWhichAStepEndsIsNotInIt) {
  Canvas shown;
  ASSERT_GE(shown.trace->iterations.size(), 2U);
  const analysis::IterationSpan first = shown.trace->iterations[0];
  // The view shows one tick per pixel around the end of the first step.
  shown.range.reset(TimeView(first.end - Ticks(400), first.end + Ticks(400), 800));
  EXPECT_EQ(shown.canvas.stepAt(399), 0);
  EXPECT_NE(shown.canvas.stepAt(400), 0);
  EXPECT_EQ(shown.canvas.stepAt(-1), -1);
}

/// The fixture's trace, treated as too large to load in detail, and a part of it that is loaded in detail.
struct Parts {
  std::shared_ptr<const TimelineModel> whole, part;
  Ticks from, to;
  Parts() {
    analysis::Trace trace = *fixtureTrace();
    trace.large = true;
    whole = TimelineModel::make(std::make_shared<const analysis::Trace>(trace));
    const std::int64_t quarter = (trace.end - trace.start).count / 4;
    from = trace.loadedFrom = trace.start + Ticks(quarter);
    to = trace.loadedTo = trace.start + Ticks(3 * quarter);
    part = TimelineModel::make(std::make_shared<const analysis::Trace>(trace));
  }
};

TEST(TimelineScenesTest, TheDetailIsShownWhereItCoversTheView) {
  const Parts parts;
  timeline::TimelineScenes scenes;
  scenes.setWhole(parts.whole);
  scenes.setDetail(parts.part);
  scenes.layOut({}, {});
  const Ticks one(1);
  EXPECT_TRUE(scenes.choose(TimeView(parts.from, parts.to, 800)));
  EXPECT_EQ(scenes.shown().model(), parts.part.get());
  EXPECT_FALSE(scenes.choose(TimeView(parts.from + one, parts.to - one, 800))) << "still the same";
  EXPECT_TRUE(scenes.choose(TimeView(parts.from, parts.to + one, 800)));
  EXPECT_EQ(scenes.shown().model(), parts.whole.get());
  EXPECT_FALSE(scenes.choose(TimeView(parts.from - one, parts.to, 800)));
  EXPECT_EQ(scenes.shown().model(), parts.whole.get());
}

TEST(TimelineSelectionTest, IsFoundAgainInAnotherPart) {
  const Parts parts;
  const auto layout = geometry::layOutTimeline(*parts.whole, {});
  const geometry::TimelineScene whole(parts.whole, layout, {}), part(parts.part, layout, {});
  timeline::TimelineSelection selection;
  selection.set(whole.passItem({1, 0, 2}), whole);
  EXPECT_TRUE(selection.isIn(whole));
  EXPECT_FALSE(selection.isIn(part));
  selection.findByIds(part);
  EXPECT_TRUE(selection.isIn(part));
  EXPECT_EQ(selection.item(), whole.passItem({1, 0, 2}));
  selection.set(whole.transferItem(3), whole);
  selection.findByIds(part);
  EXPECT_TRUE(selection.isIn(part));
  // A step has no id, so the selection cannot find it in the new part. It still refers to the old one.
  const TimelineItem pass = whole.passItem({0, 0, 0});
  TimelineItem step = pass;
  step.kind = TimelineItem::Kind::step;
  selection.set(step, whole);
  selection.findByIds(part);
  EXPECT_FALSE(selection.isIn(part));
  EXPECT_EQ(selection.item(), step);
}

TEST(TileMapTest, APointBesideTheCellsIsNoUnit) {
  shell::Palette palette;
  timeline::TileMap map(palette);
  map.resize(400, 300);
  map.setUnits(std::vector<std::int64_t>(64, 1), {{0, QStringLiteral("IPU0")}});
  const QRect first = map.unitRect(0);
  EXPECT_EQ(map.unitAt(first.center()), 0);
  int columns = 1;
  while (columns < 64 && map.unitRect(columns).y() == first.y()) ++columns;
  const QRect last = map.unitRect(columns - 1);
  EXPECT_EQ(map.unitAt(last.center()), columns - 1);
  EXPECT_EQ(map.unitAt({last.right() + 1, last.center().y()}), -1);
  EXPECT_EQ(map.unitAt({first.left() - 1, first.center().y()}), -1);
}

/// 1,472 tiles: 23 columns of 16 islands, each two by two. Numbers go down the columns.
TEST(TileMapTest, TilesOfAnIpuLieInColumnsOfIslands) {
  const shell::Palette palette;
  timeline::TileMap map(palette);
  map.resize(1200, 420);
  map.setUnits(std::vector<std::int64_t>(2 * 1472, 1),
               {{0, QStringLiteral("IPU0")}, {1472, QStringLiteral("IPU1")}});
  const auto at = [&](int tile) { return map.unitRect(tile).topLeft(); };
  const int cell = map.unitRect(0).width(), high = map.unitRect(0).height();
  EXPECT_GE(cell, 4);
  EXPECT_LE(high, 2 * cell);
  EXPECT_EQ(at(1) - at(0), QPoint(cell, 0));
  EXPECT_EQ(at(2) - at(0), QPoint(0, high));
  EXPECT_EQ(at(3) - at(0), QPoint(cell, high));
  EXPECT_EQ(at(4).x(), at(0).x());
  EXPECT_GE(at(4).y(), at(2).y() + high);
  EXPECT_EQ(at(64).y(), at(0).y());
  EXPECT_GT(at(64).x(), at(1).x() + cell) << "columns lie apart";
  EXPECT_EQ(at(60).y(), at(1471 - 3).y());
  std::set<int> columns, rows;
  for (int tile = 0; tile < 1472; ++tile) {
    columns.insert(at(tile).x());
    rows.insert(at(tile).y());
    EXPECT_TRUE(map.rect().contains(map.unitRect(tile)));
    EXPECT_EQ(map.unitAt(map.unitRect(tile).center()), tile);
  }
  EXPECT_EQ(columns.size(), 46U);
  EXPECT_EQ(rows.size(), 32U);
  EXPECT_TRUE(at(1472).x() > at(1471).x() || at(1472).y() > at(1471).y());
  EXPECT_EQ(map.unitAt(at(1) + QPoint(cell + 1, 0)), -1) << "between columns";
}

TEST(UnitLists, AreReadAndWritten) {
  using pages::unitList;
  using pages::unitsIn;
  const auto read = [](const char* list, int count) {
    return unitsIn(QString::fromUtf8(list), count, QStringLiteral("tile"));
  };
  EXPECT_EQ(*read("0,5-7", 8), (std::vector<int>{0, 5, 6, 7}));
  EXPECT_EQ(*read("6, 5 - 7,3,", 8), (std::vector<int>{3, 5, 6, 7})) << "each once, ascending";
  EXPECT_TRUE(read("", 8)->empty());
  const auto refusal = [&](const char* list) { return read(list, 7).error().message; };
  EXPECT_EQ(refusal("0,5-7"), "There is no tile 7: those shown are 0–6.");
  EXPECT_EQ(refusal("99999"), "There is no tile 99999: those shown are 0–6.");
  EXPECT_EQ(refusal("5-3"), "“5-3” goes backwards: write the smaller number first.");
  for (const char* list : {"x", "1-", "-1", "1-2-3", "1 2"})
    EXPECT_EQ(refusal(list),
              "“" + std::string(list) + "” is neither a number nor a range: write for example 0,5-7.");
  EXPECT_EQ(unitList({0, 5, 6, 7, 9}), QStringLiteral("0,5-7,9"));
  EXPECT_EQ(unitList({}), QString());
}

TEST(PaintShapes, ALabelOfATallWaitLeavesTheHatchingAboveIt) {
  const shell::Palette palette;
  geometry::Shapes shapes;
  const geometry::Box box{0, 0, 120, 200};
  shapes.hatch(geometry::ColourRole::waitFill, box);
  shapes.labels.push_back({box, "fill", geometry::ColourRole::waitFill, true});
  QImage picture(box.width, box.height, QImage::Format_RGB32);
  QPainter painter(&picture);
  timeline::paintShapes(painter, shapes, palette, timeline::LabelFont(QApplication::font()));
  painter.end();
  const auto hatched = [&](int from, int until) {
    int lines = 0;
    for (int y = from; y < until; ++y) {
      for (int x = 58; x < 63; ++x)
        lines += picture.pixelColor(x, y) == palette.colour(geometry::ColourRole::waitFill) ? 1 : 0;
    }
    return lines;
  };
  EXPECT_GT(hatched(10, 70), 0);
  EXPECT_GT(hatched(130, 190), 0);
}

}  // namespace
}  // namespace pipescope::testing
