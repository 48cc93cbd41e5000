// Tests what the trace page tells about items, and its table of the visible time.
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QTabWidget>
#include <algorithm>

#include "profiler/geometry/timeline/timeline_links.h"
#include "trace_fixture.h"
#include "views/pages/parts/tables/range_table.h"
#include "views/pages/parts/trace/trace_texts.h"

namespace pipescope::testing {
namespace {

using Kind = TimelineItem::Kind;

TEST_F(TracePageTest, RowsOfAnOlderTraceAreGoneBeforeOneWithFewerDevicesIsShown) {
  openTrace();
  const auto* ranges = child<pages::RangeTable>()->ranges();
  ASSERT_TRUE(waitFor([&] { return ranges->rowCount() == 4; }));
  std::vector<int> counts;
  QObject::connect(ranges, &QAbstractItemModel::modelReset, window.get(),
                   [&] { counts.push_back(ranges->rowCount()); });
  open(ProfileFixture({.stages = 2, .fixed = true}).profile(), QStringLiteral("trace"));
  EXPECT_TRUE(waitFor([&] { return ranges->rowCount() == 2; }));
  ASSERT_FALSE(counts.empty());
  EXPECT_EQ(counts.front(), 0) << "no row of the older trace is asked for with the new one";
  EXPECT_EQ(*std::max_element(counts.begin(), counts.end()), 2);
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

TEST_F(TracePageTest, WhatIsSaidOfTheItemBelowThePointerGoesWhenTheItemMovesAway) {
  openTrace();
  int asked = 0;
  canvas->setDescriber([&asked](const TimelineItem&) { return ++asked, QStringList{QStringLiteral("B0")}; });
  const QPoint pointer = centre(findPass(1, model::Pass::backward, 2, 0));
  hover(canvas->viewport(), pointer);
  canvas->viewport()->grab();
  EXPECT_GT(asked, 0);
  for (int i = 0; i < 4; ++i) QTest::keyClick(canvas, Qt::Key_D);
  asked = 0;
  canvas->viewport()->grab();
  EXPECT_EQ(asked, 0);
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
  EXPECT_EQ(detail(QStringLiteral("Call")), QStringLiteral("3"));
  EXPECT_EQ(detail(QStringLiteral("Pipeline cycle")), QStringLiteral("9")) << "k + 2N − 2 − i";
  EXPECT_EQ(detail(QStringLiteral("Length")), QStringLiteral("131,400 cycles (98.8 µs)"));
  EXPECT_EQ(detail(QStringLiteral("Input")), QStringLiteral("50.0 KiB from IPU2"));
  EXPECT_EQ(detail(QStringLiteral("Output")), QStringLiteral("225 KiB to IPU0"));
  EXPECT_TRUE(labels().contains(QStringLiteral("B4 · backward of micro-batch 4")));
  picture("trace_pass");
}

/// Clicks the step of layer2 in a forward pass of IPU1, and returns where it is.
class TraceStepTest : public TracePageTest {
 protected:
  QPoint clickStep() {
    const TimelineItem pass = findPass(1, model::Pass::forward, 2, 0);
    canvas->select(pass);
    QTest::keyClick(canvas, Qt::Key_F);
    EXPECT_LT(range().view().span(), 1.3 * static_cast<double>((pass.end - pass.start).count));
    // Points at the step in the third flame row, about 30 % into the pass.
    int row = -1;
    for (std::size_t i = 0; i < canvas->scene().layout().rows.size(); ++i) {
      const auto& candidate = canvas->scene().layout().rows[i];
      if (candidate.device == 1 && candidate.kind == RowKind::flame && candidate.level == 2)
        row = static_cast<int>(i);
    }
    EXPECT_GE(row, 0);
    if (row < 0) return {};
    const auto& place = canvas->scene().layout().rows[static_cast<std::size_t>(row)];
    const int x =
        canvas->window().view.column(pass.start + base::Ticks((pass.end - pass.start).count * 3 / 10));
    const QPoint at(TimelineCanvas::kGutter + x,
                    TimelineCanvas::kTop + place.y + place.height / 2 - canvas->window().top);
    QTest::mouseClick(canvas->viewport(), Qt::LeftButton, {}, at);
    return at;
  }
};

TEST_F(TraceStepTest, ACollectiveNamesItsAxis) {
  openTrace({.collectives = true});
  clickStep();
  ASSERT_EQ(canvas->selected().kind, Kind::step);
  EXPECT_EQ(detail(QStringLiteral("Name path")), QStringLiteral("layer2/conv/Convolve"));
  EXPECT_EQ(detail(QStringLiteral("Axis")), QStringLiteral("tensor · 4 chips"));
  const pages::TraceTexts texts(canvas->scene(), *window->session().snapshot()->catalog, {});
  EXPECT_TRUE(texts.callout(canvas->selected()).last().endsWith(QStringLiteral(", tensor axis")))
      << texts.callout(canvas->selected()).last().toStdString();
  openTrace();
  clickStep();
  EXPECT_EQ(detail(QStringLiteral("Axis")), QString()) << "one chip does it alone";
}

TEST_F(TraceStepTest, AStepTellsItsTiles) {
  openTrace();
  const QPoint at = clickStep();
  ASSERT_EQ(canvas->selected().kind, Kind::step);
  EXPECT_EQ(detail(QStringLiteral("Name path")), QStringLiteral("layer2/conv/Convolve"));
  EXPECT_EQ(detail(QStringLiteral("Kind")), QStringLiteral("compute"));
  EXPECT_EQ(detail(QStringLiteral("Program")), QStringLiteral("OnTileExecute"));
  EXPECT_TRUE(detail(QStringLiteral("Active tiles")).endsWith(QStringLiteral("of 1,472")));
  EXPECT_EQ(detail(QStringLiteral("Min · mean · max, active tiles")).count(QStringLiteral(" · ")), 2);
  EXPECT_EQ(window->selection().current().kind, shell::Selected::Kind::step);
  hover(canvas->viewport(), at);
  picture("trace_step_selected");
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
  // The steps of each stage over the whole call must take the time that the schedule gives.
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
  EXPECT_TRUE(copied.startsWith(QStringLiteral("Device\tTime\tTile balance"))) << copied.toStdString();
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

TEST_F(TracePageTest, ColumnsThatNoTimeOfTheTraceFillsAreLeftOut) {
  using Model = pages::RangeModel;
  for (const FixtureOptions& options :
       {FixtureOptions{}, FixtureOptions{.fixed = true}, FixtureOptions{.imported = true}}) {
    openTrace(options);
    auto* table = child<pages::RangeTable>();
    ASSERT_TRUE(waitFor([&] { return table->ranges()->rowCount() > 0; }));
    std::set<int> filled;
    for (const analysis::RangeStatistics& row :
         analysis::rangeStatistics(trace(), trace().start, trace().end)) {
      for (const auto& [column, bytes] :
           {std::pair(Model::streamIn, row.streamIn), std::pair(Model::streamOut, row.streamOut),
            std::pair(Model::globalIn, row.globalIn), std::pair(Model::globalOut, row.globalOut)}) {
        if (bytes.count > 0 && !options.fixed) filled.insert(column);
      }
    }
    const auto shown = [&] {
      std::set<int> columns;
      for (const int column : {Model::streamIn, Model::streamOut, Model::globalIn, Model::globalOut}) {
        if (!table->isColumnHidden(column)) columns.insert(column);
      }
      return columns;
    };
    EXPECT_EQ(shown(), filled);
    EXPECT_EQ(filled.size(), options.fixed ? 0U : 3U) << "one has nothing to show";
    // A column does not come and go with what is in view.
    geometry::TimeView view(trace().start, trace().start + base::Ticks(10), range().view().width());
    window->timeRange().show(view);
    ASSERT_TRUE(waitFor([&] { return table->ranges()->rows().front().total == base::Ticks(10); }));
    EXPECT_EQ(shown(), filled);
  }
}

}  // namespace
}  // namespace pipescope::testing
