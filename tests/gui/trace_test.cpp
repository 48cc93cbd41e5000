// Tests the trace page: its first view, navigation, pointing at items, waits and statistics.
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QTabWidget>
#include <QToolButton>

#include <set>
#include "profiler/geometry/timeline_links.h"

#include "views/pages/parts/facts.h"
#include "views/pages/parts/range_table.h"
#include "views/timeline/legend.h"
#include "views/timeline/overview_strip.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using geometry::RowKind;
using geometry::TimelineItem;
using timeline::TimelineCanvas;
using Kind = TimelineItem::Kind;

class TracePageTest : public WindowTest {
 protected:
  void openTrace(const FixtureOptions& options = {}) {
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), QStringLiteral("trace"));
    canvas = child<TimelineCanvas>();
    ASSERT_NE(canvas, nullptr);
    ASSERT_NE(canvas->scene().model(), nullptr);
  }

  const analysis::Trace& trace() const { return *canvas->scene().model()->trace; }
  const shell::TimeRange& range() const { return window->timeRange(); }

  /// The middle of an item, in the viewport's coordinates.
  QPoint centre(const TimelineItem& item) const {
    const auto box = canvas->scene().boxOf(canvas->window(), item);
    EXPECT_TRUE(box.has_value());
    if (!box) return {};
    return {TimelineCanvas::kGutter + box->x + box->width / 2,
            TimelineCanvas::kTop + box->y + box->height / 2};
  }

  /// The first wait of a device that has this cause and starts after this time.
  TimelineItem findWait(int device, model::WaitCause cause, base::Ticks after) const {
    const auto& waits = trace().devices[static_cast<std::size_t>(device)].tracks.front().waits;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].cause == cause && waits[i].start >= after &&
          waits[i].end - waits[i].start > base::Ticks(20'000))
        return canvas->scene().waitItem(device, static_cast<int>(i));
    }
    return {};
  }

  TimelineItem findPass(int device, model::Pass pass, int microBatch, int iteration) const {
    const analysis::TraceTrack& track = trace().devices[static_cast<std::size_t>(device)].tracks.front();
    for (std::size_t i = 0; i < track.placements.size(); ++i) {
      const analysis::TracePlacement& p = track.placements[i];
      if (p.pass == pass && p.microBatch == microBatch && p.iteration == iteration)
        return canvas->scene().passItem({device, 0, static_cast<std::int32_t>(i)});
    }
    return {};
  }

  void click(const TimelineItem& item) {
    QTest::mouseClick(canvas->viewport(), Qt::LeftButton, {}, centre(item));
  }
  void wheel(const QPoint& at, int turn, Qt::KeyboardModifiers modifiers) {
    QWheelEvent event(at, canvas->viewport()->mapToGlobal(at), {}, {0, turn}, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(canvas->viewport(), &event);
  }
  QStringList labels() const {
    QStringList texts;
    for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) texts << label->text();
    return texts;
  }
  QString detail(const QString& name) const { return child<pages::FactGrid>()->value(name); }

  std::unique_ptr<ProfileFixture> fixture;
  TimelineCanvas* canvas = nullptr;
};

TEST_F(TracePageTest, OpensOnOneStepFromFillToFlush) {
  openTrace();
  ASSERT_EQ(trace().runs.size(), 1U);
  EXPECT_EQ(trace().runs[0].id, model::RunId(2)) << "the last training call";
  ASSERT_EQ(trace().iterations.size(), 4U);
  const analysis::IterationSpan& first = trace().iterations[0];
  EXPECT_LE(range().start(), first.start);
  EXPECT_GE(range().end(), first.end);
  const auto length = static_cast<double>((first.end - first.start).count);
  EXPECT_LT(range().view().span(), length * 1.05);
  EXPECT_TRUE(labels().contains(QStringLiteral("Iteration 0 of 0–3")));
  EXPECT_EQ(canvas->scene().layout().groups.size(), 6U)
      << "four devices, the counters of the run, and the host's own time";
  EXPECT_EQ(canvas->scene().layout().groups[1].title, "IPU1");
  EXPECT_EQ(canvas->scene().layout().groups[1].subtitle, "mk2 · stage 1");
  picture("trace_step");
}

TEST_F(TracePageTest, ShowsPassesByNameAndWaitsHatched) {
  openTrace();
  const geometry::Shapes shapes =
      canvas->scene().draw(canvas->window(), timeline::LabelFont(canvas->font()).measure());
  std::set<std::string> texts;
  for (const geometry::Label& label : shapes.labels) texts.insert(label.text);
  for (const char* text : {"F0", "F3", "R0", "B0", "B9", "slower stage", "fill", "drain", "layer2"})
    EXPECT_EQ(texts.count(text), 1U) << text;
  EXPECT_GT(shapes.hatches.size(), 40U);
  QStringList legend;
  for (const auto& entry : child<timeline::Legend>()->entries()) legend << entry.text;
  for (const char* text : {"forward", "recompute", "backward", "update", "compute", "exchange", "sync",
                           "slower stage", "host", "→ gradient"}) {
    EXPECT_TRUE(legend.contains(QString::fromUtf8(text))) << text;
  }
}

TEST_F(TracePageTest, TheLegendHasEveryColourOnce) {
  openTrace({.slowHost = true});
  canvas->zoomToAll();
  for (int rows = 0; rows < 3; ++rows) {
    for (int colours = 0; colours < 2; ++colours) {
      choose(child<QComboBox>(QStringLiteral("Rows")), rows);
      choose(child<QComboBox>(QStringLiteral("Colours")), colours);
      std::set<geometry::ColourRole> named, hatched;
      for (const timeline::LegendEntry& entry : child<timeline::Legend>()->entries()) {
        (entry.hatched ? hatched : named).insert(entry.role);
        if (entry.also) named.insert(*entry.also);
      }
      geometry::TimelineWindow whole = canvas->window();
      whole.top = 0;
      whole.height = canvas->scene().layout().height;
      const geometry::Shapes shapes = canvas->scene().draw(whole, {});
      for (std::size_t i = 0; i < shapes.fills.size(); ++i) {
        const auto role = static_cast<geometry::ColourRole>(i);
        // A wait that is too narrow for its hatching is filled with its colour.
        EXPECT_TRUE(shapes.fills[i].empty() || named.contains(role) || hatched.contains(role))
            << geometry::roleKey(role) << " " << rows << colours;
      }
      for (const geometry::Hatch& hatch : shapes.hatches)
        EXPECT_TRUE(hatched.contains(hatch.role)) << geometry::roleKey(hatch.role);
      std::set<std::pair<QRgb, bool>> squares;
      for (const timeline::LegendEntry& entry : child<timeline::Legend>()->shown()) {
        EXPECT_TRUE(squares.emplace(palette->colour(entry.role).rgb(), entry.hatched).second)
            << entry.text.toStdString();
      }
    }
  }
}

TEST_F(TracePageTest, NextAndPreviousStep) {
  openTrace();
  const auto shows = [&](int step) {
    const analysis::IterationSpan& span = trace().iterations[static_cast<std::size_t>(step)];
    return range().start() <= span.start && range().end() >= span.end &&
           range().view().span() < 1.1 * static_cast<double>((span.end - span.start).count);
  };
  QTest::keyClick(canvas, Qt::Key_BracketRight);
  EXPECT_TRUE(shows(1));
  EXPECT_TRUE(labels().contains(QStringLiteral("Iteration 1 of 0–3")));
  QTest::keyClick(canvas, Qt::Key_BracketRight);
  EXPECT_TRUE(shows(2));
  QTest::keyClick(canvas, Qt::Key_BracketLeft);
  EXPECT_TRUE(shows(1));
  for (QToolButton* button : window->currentPage()->findChildren<QToolButton*>()) {
    if (button->accessibleName() == QStringLiteral("Previous iteration ([)"))
      QTest::mouseClick(button, Qt::LeftButton);
  }
  EXPECT_TRUE(shows(0));
  EXPECT_TRUE(labels().contains(QStringLiteral("Iteration 0 of 0–3")));
}

TEST_F(TracePageTest, StepsLeadIntoTheNeighbouringCalls) {
  openTrace();
  QTest::keyClick(canvas, Qt::Key_BracketLeft);
  ASSERT_TRUE(settle());
  EXPECT_EQ(trace().runs[0].id, model::RunId(1));
  EXPECT_TRUE(labels().contains(QStringLiteral("Iteration 3 of 0–3")))
      << "a call entered from behind shows its last step";
  EXPECT_EQ(child<QComboBox>(QStringLiteral("Call"))->currentText(), QStringLiteral("Call 1"));
  QTest::keyClick(canvas, Qt::Key_BracketRight);
  ASSERT_TRUE(settle());
  EXPECT_EQ(trace().runs[0].id, model::RunId(2));
  EXPECT_TRUE(labels().contains(QStringLiteral("Iteration 0 of 0–3")));
}

TEST_F(TracePageTest, CallsAreChosen) {
  openTrace();
  auto* calls = child<QComboBox>(QStringLiteral("Call"));
  ASSERT_EQ(calls->count(), 4);
  choose(calls, 3);
  ASSERT_TRUE(settle());
  EXPECT_EQ(trace().runs.size(), 3U);
  EXPECT_EQ(trace().iterations.size(), 12U);
  choose(calls, 0);
  ASSERT_TRUE(settle());
  EXPECT_EQ(trace().runs.size(), 1U);
  EXPECT_EQ(trace().runs[0].id, model::RunId(0));
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

TEST_F(TracePageTest, AWaitSaysItsCauseAndForWhom) {
  openTrace();
  const TimelineItem wait =
      findWait(0, model::WaitCause::slowerStage, trace().iterations[0].start + base::Ticks(600'000));
  ASSERT_TRUE(wait);
  click(wait);
  EXPECT_EQ(canvas->selected(), wait);
  EXPECT_EQ(detail(QStringLiteral("Cause")), QStringLiteral("slower stage"));
  // Stage 1 is the slowest. In this schedule its last work in the cycle is a backward pass.
  EXPECT_TRUE(detail(QStringLiteral("Waits for")).startsWith(QLatin1Char('B')))
      << detail(QStringLiteral("Waits for")).toStdString();
  EXPECT_TRUE(detail(QStringLiteral("Waits for")).endsWith(QStringLiteral("on IPU1")));
  const QStringList texts = labels();
  EXPECT_TRUE(texts.contains(QStringLiteral("IPU0 waits: slower stage")));
  EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [](const QString& text) {
    return text.startsWith(QStringLiteral("IPU0 does nothing because another stage is slower, and its work "
                                          "is not finished. It waits for B")) &&
           text.endsWith(QStringLiteral("on IPU1."));
  }));
  EXPECT_EQ(child<QTabWidget>()->currentIndex(), 1) << "details come to the front";
  picture("trace_wait");
}

TEST_F(TracePageTest, EnterJumpsToWhatAWaitWaitsFor) {
  openTrace();
  const TimelineItem wait =
      findWait(0, model::WaitCause::slowerStage, trace().iterations[0].start + base::Ticks(600'000));
  click(wait);
  QTest::keyClick(canvas, Qt::Key_Return);
  EXPECT_EQ(canvas->selected().kind, Kind::pass);
  EXPECT_EQ(canvas->selected().device, 1);
  EXPECT_EQ(canvas->selected().end, wait.end);
  EXPECT_EQ(window->selection().current().kind, shell::Selected::Kind::placement);
  EXPECT_EQ(window->selection().current().stage, 1);
}

TEST_F(TracePageTest, TheButtonJumpsToo) {
  openTrace();
  const TimelineItem host = findWait(2, model::WaitCause::host, trace().start);
  canvas->select(host);
  QPushButton* go = nullptr;
  for (QPushButton* button : window->currentPage()->findChildren<QPushButton*>()) {
    if (button->text().startsWith(QStringLiteral("Go to"))) go = button;
  }
  ASSERT_NE(go, nullptr);
  EXPECT_FALSE(go->isVisible()) << "the host is no placement";
  EXPECT_EQ(detail(QStringLiteral("Waits for")), QStringLiteral("the host"));
  canvas->select(findWait(2, model::WaitCause::slowerStage, trace().iterations[0].start));
  ASSERT_TRUE(go->isVisible());
  QTest::mouseClick(go, Qt::LeftButton);
  EXPECT_EQ(canvas->selected().kind, Kind::pass);
}

TEST_F(TracePageTest, APassTellsItsParts) {
  openTrace();
  const TimelineItem pass = findPass(1, model::Pass::backward, 4, 0);
  ASSERT_TRUE(pass);
  click(pass);
  EXPECT_EQ(detail(QStringLiteral("Device")), QStringLiteral("IPU1"));
  EXPECT_EQ(detail(QStringLiteral("Pass")), QStringLiteral("backward"));
  EXPECT_EQ(detail(QStringLiteral("Stage")), QStringLiteral("1"));
  EXPECT_EQ(detail(QStringLiteral("Micro-batch")), QStringLiteral("4"));
  EXPECT_EQ(detail(QStringLiteral("Iteration")), QStringLiteral("0"));
  EXPECT_EQ(detail(QStringLiteral("Call")), QStringLiteral("2"));
  EXPECT_EQ(detail(QStringLiteral("Pipeline cycle")), QStringLiteral("9")) << "k + 2N − 2 − i";
  EXPECT_EQ(detail(QStringLiteral("Length")), QStringLiteral("131,400 cycles (98.8 µs)"));
  EXPECT_EQ(detail(QStringLiteral("Input")), QStringLiteral("50.0 KiB from IPU2"));
  EXPECT_EQ(detail(QStringLiteral("Output")), QStringLiteral("225 KiB to IPU0"));
  EXPECT_TRUE(labels().contains(QStringLiteral("B4 · backward of micro-batch 4")));
  picture("trace_pass");
}

TEST_F(TracePageTest, AStepTellsItsTiles) {
  openTrace();
  const TimelineItem pass = findPass(1, model::Pass::forward, 2, 0);
  canvas->select(pass);
  QTest::keyClick(canvas, Qt::Key_F);
  ASSERT_LT(range().view().span(), 1.3 * static_cast<double>((pass.end - pass.start).count));
  // Points at the step in the third flame row, about 30 % into the pass.
  int row = -1;
  for (std::size_t i = 0; i < canvas->scene().layout().rows.size(); ++i) {
    const auto& candidate = canvas->scene().layout().rows[i];
    if (candidate.device == 1 && candidate.kind == RowKind::flame && candidate.level == 2)
      row = static_cast<int>(i);
  }
  ASSERT_GE(row, 0);
  const auto& place = canvas->scene().layout().rows[static_cast<std::size_t>(row)];
  const int x =
      canvas->window().view.column(pass.start + base::Ticks((pass.end - pass.start).count * 3 / 10));
  QTest::mouseClick(canvas->viewport(), Qt::LeftButton, {},
                    {TimelineCanvas::kGutter + x,
                     TimelineCanvas::kTop + place.y + place.height / 2 - canvas->window().top});
  ASSERT_EQ(canvas->selected().kind, Kind::step);
  EXPECT_EQ(detail(QStringLiteral("Name path")), QStringLiteral("layer2/conv/Convolve"));
  EXPECT_EQ(detail(QStringLiteral("Kind")), QStringLiteral("compute"));
  EXPECT_EQ(detail(QStringLiteral("Program")), QStringLiteral("OnTileExecute"));
  EXPECT_TRUE(detail(QStringLiteral("Active tiles")).endsWith(QStringLiteral("of 1,472")));
  EXPECT_EQ(detail(QStringLiteral("Min · mean · max")).count(QStringLiteral(" · ")), 2);
  EXPECT_EQ(window->selection().current().kind, shell::Selected::Kind::step);
  hover(canvas->viewport(), {TimelineCanvas::kGutter + x,
                             TimelineCanvas::kTop + place.y + place.height / 2 - canvas->window().top});
  picture("trace_step_selected");
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

TEST_F(TracePageTest, TransfersShowArrowsAndTheirRate) {
  openTrace();
  int transfer = -1;
  for (std::size_t i = 0; i < trace().transfers.size() && transfer < 0; ++i) {
    if (trace().transfers[i].microBatch == 3 && trace().transfers[i].kind == model::TransferKind::activation)
      transfer = static_cast<int>(i);
  }
  canvas->select(canvas->scene().transferItem(transfer));
  EXPECT_EQ(detail(QStringLiteral("From")), QStringLiteral("IPU0"));
  EXPECT_EQ(detail(QStringLiteral("To")), QStringLiteral("IPU1"));
  EXPECT_EQ(detail(QStringLiteral("Bytes")), QStringLiteral("225 KiB"));
  EXPECT_EQ(detail(QStringLiteral("Link")), QStringLiteral("IPU-Link"));
  EXPECT_TRUE(detail(QStringLiteral("Rate")).endsWith(QStringLiteral("GB/s")));
  EXPECT_EQ(geometry::arrowsOf(canvas->scene(), canvas->window(), canvas->selected()).size(), 1U);
  EXPECT_EQ(window->selection().current().kind, shell::Selected::Kind::transfer);
}

TEST_F(TracePageTest, RowsAndColoursAreChosen) {
  openTrace();
  const auto rows = [&] { return canvas->scene().layout().rows.size(); };
  const std::size_t flame = rows();
  const TimelineItem pass = findPass(2, model::Pass::forward, 5, 0);
  canvas->select(pass);
  choose(child<QComboBox>(QStringLiteral("Rows")), 1);
  EXPECT_LT(rows(), flame);
  EXPECT_EQ(canvas->scene().labelOf(canvas->selected()), "F5") << "the selection stays";
  picture("trace_flat");
  choose(child<QComboBox>(QStringLiteral("Rows")), 2);
  std::size_t activities = 0;
  for (const auto& row : canvas->scene().layout().rows) activities += row.kind == RowKind::activity;
  EXPECT_EQ(activities, 4U);
  QTest::keyClick(canvas, Qt::Key_M);
  const geometry::Shapes shapes = canvas->scene().draw(canvas->window(), {});
  EXPECT_TRUE(shapes.fills[static_cast<std::size_t>(geometry::ColourRole::forward)].empty());
  EXPECT_FALSE(shapes.fills[static_cast<std::size_t>(geometry::microBatchRole(3, false))].empty());
  picture("trace_micro_batches");
}

TEST_F(TracePageTest, RowHeightsFitOrAreChosen) {
  openTrace();
  const auto height = [&] {
    for (const auto& row : canvas->scene().layout().rows) {
      if (row.kind == RowKind::flame) return row.height;
    }
    return 0;
  };
  EXPECT_LE(canvas->scene().layout().height, canvas->window().height) << "all devices are seen at once";
  const int fitted = height();
  QTest::keyClick(canvas, Qt::Key_W, Qt::ShiftModifier);
  EXPECT_EQ(height(), fitted + 3);
  wheel({TimelineCanvas::kGutter + 50, 200}, 120, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(height(), fitted + 6);
  QTest::keyClick(canvas, Qt::Key_S, Qt::ShiftModifier);
  EXPECT_EQ(height(), fitted + 3);
  QTest::keyClick(canvas, Qt::Key_R, Qt::ShiftModifier);
  EXPECT_EQ(height(), fitted);
  window->resize(1600, 700);
  ASSERT_TRUE(settle());
  EXPECT_LE(height(), 15);
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

TEST_F(TracePageTest, TheTableFollowsTheView) {
  openTrace();
  auto* table = child<pages::RangeTable>();
  ASSERT_NE(table, nullptr);
  QAbstractItemModelTester tester(table->ranges(), QAbstractItemModelTester::FailureReportingMode::Fatal);
  ASSERT_EQ(table->ranges()->rowCount(), 4);
  const auto text = [&](int row, int column) {
    return table->ranges()->index(row, column).data().toString();
  };
  EXPECT_EQ(text(1, pages::RangeModel::device), QStringLiteral("IPU1 · stage 1"));
  EXPECT_EQ(
      table->ranges()->headerData(pages::RangeModel::balance, Qt::Horizontal, Qt::DisplayRole).toString(),
      QStringLiteral("Tile balance"));
  // Over the whole call, the steps of each stage must take the time that the schedule gives.
  canvas->zoomToAll();
  ASSERT_TRUE(waitFor([&] { return table->ranges()->rows()[0].total == trace().end - trace().start; }));
  for (std::size_t i = 0; i < 4; ++i) {
    const analysis::RangeStatistics& row = table->ranges()->rows()[i];
    std::int64_t sum = row.idle.count;
    for (const std::int64_t ticks : row.byKind) sum += ticks;
    EXPECT_EQ(sum, row.total.count) << "every tick is accounted for once";
    const FixtureFacts& facts = fixture->facts();
    const std::int64_t work =
        4 * (10 * (facts.forwardTicks[i] + facts.recomputeTicks[i] + facts.backwardTicks[i]) +
             facts.updateTicks[i]);
    const std::int64_t steps = row.byKind[analysis::kindIndex(model::StepKind::compute)] +
                               row.byKind[analysis::kindIndex(model::StepKind::exchange)] +
                               row.byKind[analysis::kindIndex(model::StepKind::sync)];
    EXPECT_GE(steps, work);
    EXPECT_LE(steps, work + 4 * 16 * 480 + 80'000) << "external syncs, and syncs of stream copies";
  }
  // Every stage sends its boundary tensors in each of sixteen cycles of four iterations. Stage 0 sends
  // 230,400 bytes a cycle.
  EXPECT_EQ(table->ranges()->rows()[0].globalOut, base::Bytes(4 * 16 * 230'400));
  EXPECT_EQ(table->ranges()->rows()[3].globalOut, base::Bytes(4 * 16 * 40'960));
  const double efficiency = table->ranges()->rows()[1].parallelEfficiency;
  EXPECT_GT(efficiency, table->ranges()->rows()[3].parallelEfficiency);
  EXPECT_LT(efficiency, 1);
}

TEST_F(TracePageTest, TheTableSortsFiltersAndCopies) {
  openTrace();
  auto* table = child<pages::RangeTable>();
  ASSERT_TRUE(waitFor([&] { return table->ranges()->rowCount() == 4; }));
  const auto names = [&] {
    QStringList list;
    for (int row = 0; row < table->model()->rowCount(); ++row)
      list << table->model()->index(row, 0).data().toString();
    return list;
  };
  table->sortByColumn(pages::RangeModel::device, Qt::DescendingOrder);
  EXPECT_EQ(names().first(), QStringLiteral("IPU3 · stage 3"));
  table->sortByColumn(pages::RangeModel::idle, Qt::AscendingOrder);
  const auto idle = [&](int row) {
    return table->model()
        ->index(row, pages::RangeModel::idle)
        .data(pages::RangeModel::kSortRole)
        .toLongLong();
  };
  EXPECT_LE(idle(0), idle(1));
  EXPECT_LE(idle(2), idle(3));
  auto* filter = child<QLineEdit>(QStringLiteral("Filter devices"));
  filter->setText(QStringLiteral("ipu2"));
  EXPECT_EQ(names(), QStringList{QStringLiteral("IPU2 · stage 2")});
  table->selectRow(0);
  QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
  const QString copied = QApplication::clipboard()->text();
  EXPECT_TRUE(copied.startsWith(QStringLiteral("Device\tTime in view\tTile balance")))
      << copied.toStdString();
  EXPECT_TRUE(copied.contains(QStringLiteral("IPU2 · stage 2\tcompute: "))) << copied.toStdString();
  filter->clear();
  const std::unique_ptr<QMenu> menu(table->makeMenu());
  for (QAction* action : menu->actions()) {
    if (action->text() == QStringLiteral("Stream Rx")) action->trigger();
    if (action->text() == QStringLiteral("Copy all as CSV")) action->trigger();
  }
  EXPECT_TRUE(table->isColumnHidden(pages::RangeModel::streamIn));
  EXPECT_EQ(QApplication::clipboard()->text().count(QLatin1Char('\n')), 5) << "headings and four devices";
}

TEST_F(TracePageTest, TimeInSeconds) {
  openTrace();
  const TimelineItem pass = findPass(1, model::Pass::backward, 4, 0);
  canvas->select(pass);
  QTest::keyClick(window.get(), Qt::Key_U, Qt::ControlModifier | Qt::ShiftModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(detail(QStringLiteral("Length")), QStringLiteral("98.8 µs"));
  EXPECT_TRUE(canvas->selected()) << "nothing but the figures changed";
}

TEST_F(TracePageTest, TheAxisUnitIsALink) {
  openTrace();
  QTest::mouseClick(canvas->viewport(), Qt::LeftButton, {},
                    {TimelineCanvas::kGutter - 20, TimelineCanvas::kStepBand + 8});
  ASSERT_TRUE(settle());
  EXPECT_EQ(shell::Settings().value(QStringLiteral("time_unit")).toString(), QStringLiteral("time"));
  canvas->select(findPass(1, model::Pass::backward, 4, 0));
  EXPECT_EQ(detail(QStringLiteral("Length")), QStringLiteral("98.8 µs"));
  QTest::mouseClick(canvas->viewport(), Qt::LeftButton, {},
                    {TimelineCanvas::kGutter - 20, TimelineCanvas::kStepBand + 8});
  ASSERT_TRUE(settle());
  EXPECT_EQ(shell::Settings().value(QStringLiteral("time_unit")).toString(), QStringLiteral("cycles"));
}

TEST_F(TracePageTest, PlacesAreShown) {
  openTrace();
  const base::Ticks inFirstCall(1'000'000);
  window->go({QStringLiteral("trace"), inFirstCall, -1});
  ASSERT_TRUE(settle());
  EXPECT_EQ(trace().runs[0].id, model::RunId(0));
  EXPECT_LE(range().start(), inFirstCall);
  EXPECT_GE(range().end(), inFirstCall);
  EXPECT_LT(range().view().span(), 500'000);
}

TEST_F(TracePageTest, FixedSystemsHaveNoStepsAndCostUnits) {
  openTrace({.fixed = true});
  for (const auto& row : canvas->scene().layout().rows) EXPECT_NE(row.kind, RowKind::flame);
  canvas->select(findPass(0, model::Pass::forward, 0, 0));
  EXPECT_EQ(detail(QStringLiteral("Length")), QStringLiteral("1.03 units"));
}

TEST_F(TracePageTest, AFrameCostsLittle) {
  openTrace();
  choose(child<QComboBox>(QStringLiteral("Call")), 3);
  ASSERT_TRUE(settle());
  canvas->zoomToAll();
  canvas->viewport()->repaint();
  const geometry::Shapes shapes = canvas->scene().draw(canvas->window(), {});
  const auto width = static_cast<std::size_t>(canvas->window().view.width());
  EXPECT_LE(shapes.fillCount(), width * canvas->scene().layout().rows.size());
  EXPECT_GT(canvas->lastDrawMs(), 0);
  picture("trace_all");
}

}  // namespace
}  // namespace pipescope::testing
