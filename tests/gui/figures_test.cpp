// Tests single figures, units and links of pages against values that are computed from the profile's rows.
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <QSortFilterProxyModel>
#include <QTabWidget>
#include <QTableView>
#include <cmath>

#include "profiler/geometry/timeline/timeline_search.h"
#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/range_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/shell/dialogs/find_bar.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::DataTable;
using timeline::TimelineCanvas;

class FigureTest : public WindowTest {
 protected:
  void openPage(const QString& page, const FixtureOptions& options = {}) {
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), page);
  }
  const DataTable* table(const std::string& key) const {
    for (const DataTable* found : window->currentPage()->findChildren<DataTable*>()) {
      if (found->model()->table().key == key) return found;
    }
    return nullptr;
  }
  pages::FigureCard* card(const QString& caption) const {
    for (pages::FigureCard* found : window->currentPage()->findChildren<pages::FigureCard*>()) {
      if (found->caption() == caption) return found;
    }
    return nullptr;
  }
  QString fact(const QString& name) const { return child<pages::FactGrid>()->value(name); }

  std::unique_ptr<ProfileFixture> fixture;
};

TEST_F(FigureTest, TableHeadingsForOtherProgramsHaveUnits) {
  openPage(QStringLiteral("memory"));
  ASSERT_NE(table("details"), nullptr);
  EXPECT_TRUE(table("details")->csv().startsWith(
      QStringLiteral("Category,Region,Liveness,Bytes (B),Share (0 … 1)\n")))
      << table("details")->csv().left(80).toStdString();
}

TEST_F(FigureTest, EveryColumnOfEveryTableSortsByValue) {
  openPage(QStringLiteral("summary"));
  int sorted = 0;
  for (const QString& page : window->pageIds()) {
    showPage(page);
    for (const DataTable* table : window->currentPage()->findChildren<DataTable*>()) {
      for (int column = 0; column < table->model()->columnCount(); ++column) {
        for (const Qt::SortOrder order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
          table->view()->sortByColumn(column, order);
          for (int row = 0; row + 1 < table->shown()->rowCount(); ++row) {
            const auto value = [&](int at) {
              return table->shown()->index(at, column).data(pages::SectionTableModel::kSortRole);
            };
            QVariant first = value(row), second = value(row + 1);
            EXPECT_TRUE(first.isValid() || !second.isValid()) << "empty cells come last";
            if (order == Qt::DescendingOrder) std::swap(first, second);
            if (!first.isValid() || !second.isValid()) continue;
            if (first.type() == QVariant::String) {
              // Numbers within names count by their value: layer2 before layer10.
              EXPECT_FALSE(
                  sections::countsBefore(second.toString().toStdString(), first.toString().toStdString()))
                  << table->title().toStdString();
            } else {
              EXPECT_LE(first.toDouble(), second.toDouble()) << table->title().toStdString();
            }
            ++sorted;
          }
        }
      }
    }
  }
  EXPECT_GT(sorted, 1000);
}

TEST_F(FigureTest, TheTablesOfTilesAreSortedByBytes) {
  openPage(QStringLiteral("memory"));
  for (const char* key : {"details", "variables", "vertices"}) {
    const sections::SectionTable& shown = table(key)->model()->table();
    std::size_t bytes = 0;
    while (shown.columns[bytes].key != "bytes") ++bytes;
    ASSERT_GT(shown.rows.size(), 1U) << key;
    for (std::size_t row = 0; row + 1 < shown.rows.size(); ++row) {
      EXPECT_GE(std::get<std::int64_t>(shown.rows[row][bytes]),
                std::get<std::int64_t>(shown.rows[row + 1][bytes]))
          << key;
    }
  }
}

TEST_F(FigureTest, ATransferTellsItsRate) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  const auto& transfers = canvas->scene().model()->trace->transfers;
  int checked = 0;
  for (std::size_t i = 0; i < transfers.size() && checked < 5; i += 7) {
    const model::Transfer& row = transfers[i];
    if (row.end <= row.start) continue;
    canvas->select(canvas->scene().transferItem(static_cast<int>(i)));
    const double seconds = static_cast<double>((row.end - row.start).count) / 1.33e9;
    EXPECT_EQ(
        fact(QStringLiteral("Rate")),
        QStringLiteral("%1 GB/s").arg(static_cast<double>(row.bytes.count) / seconds * 1e-9, 0, 'f', 2));
    ++checked;
  }
  EXPECT_EQ(checked, 5);
}

TEST_F(FigureTest, AStepTellsItsFastestMeanAndSlowestTile) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  const auto& rows = canvas->scene().layout().rows;
  int checked = 0;
  for (std::size_t r = 0; r < rows.size() && checked < 3; ++r) {
    if (rows[r].kind != geometry::RowKind::flame) continue;
    const auto& placement = canvas->scene().track(rows[r]).placements[3];
    const auto boxes = canvas->scene().boxesOf(rows[r], placement);
    for (std::size_t b = 0; boxes && b < boxes.row->boxes.size(); ++b) {
      const std::int32_t index = boxes.row->boxes[b].step;
      if (index < 0) continue;
      const model::Step& step =
          canvas->scene().model()->trace->segmentOf(placement)->steps[static_cast<std::size_t>(index)];
      if (step.kind != model::StepKind::compute || step.minTicks == step.maxTicks) continue;
      canvas->select(canvas->scene().boxItem(static_cast<int>(r), 3, b));
      const auto number = [](double value) {
        return QString::fromStdString(geometry::groupedNumber(std::llround(value)));
      };
      // All three are over the active tiles; the profile's mean is over all 1,472.
      const double mean = step.meanTicks * 1472 / static_cast<double>(step.activeUnits);
      EXPECT_GE(mean, static_cast<double>(step.minTicks.count));
      EXPECT_LE(mean, static_cast<double>(step.maxTicks.count));
      EXPECT_EQ(fact(QStringLiteral("Min · mean · max, active tiles")),
                QStringLiteral("%1 · %2 · %3")
                    .arg(number(static_cast<double>(step.minTicks.count)), number(mean),
                         number(static_cast<double>(step.maxTicks.count))));
      ++checked;
      break;
    }
  }
  EXPECT_GT(checked, 0);
}

TEST_F(FigureTest, LivenessTellsTheTotalAndGoesOnWithAKey) {
  openPage(QStringLiteral("liveness"));
  choose(child<QComboBox>(QStringLiteral("Device")), 0);
  ASSERT_TRUE(settle());
  auto* chart = child<pages::Chart>();
  const auto readout = [&] { return child<pages::ElidedLabel>()->text(); };
  QTest::keyClick(window.get(), Qt::Key_Comma);
  const int before = chart->mark();
  for (int i = 1; i <= 2; ++i) {
    QTest::keyClick(window.get(), Qt::Key_Period);
    EXPECT_EQ(chart->mark(), before + i);
    std::int64_t live = 0;
    for (const model::LivenessStep& row : **fixture->profile()->rows<model::LivenessStep>()) {
      if (row.executable == model::ExecutableId(0) && row.space == model::MemorySpaceId(0) &&
          row.index == chart->mark())
        live = row.notAlwaysLive.count;
    }
    const auto bytes = [](std::int64_t count) {
      return QString::fromStdString(formatCell(sections::Cell(count), sections::Format::bytes));
    };
    EXPECT_TRUE(readout().contains(
        QStringLiteral("%1 not always live, %2 in all").arg(bytes(live), bytes(chart->total(chart->mark())))))
        << readout().toStdString();
  }
}

TEST_F(FigureTest, StagesSayHowBusyTheyAreAndWhatIsFree) {
  openPage(QStringLiteral("stages"));
  const FixtureFacts& facts = fixture->facts();
  const auto& bars =
      child<timeline::BarChart>(QStringLiteral("One iteration on each stage's device"))->bars();
  double useful = 0;
  for (std::size_t i = 0; i < 4; ++i)
    useful += 10.0 *
              static_cast<double>(facts.forwardTicks[i] + facts.recomputeTicks[i] + facts.backwardTicks[i]) /
              4;
  const double share = useful / bars[0].total();
  EXPECT_EQ(card(QStringLiteral("Useful"))->value(),
            QString::fromStdString(formatCell(sections::Cell(share), sections::Format::fraction)));
}

TEST_F(FigureTest, WhatIsSelectedIsNotHiddenBehindPinnedRows) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  for (int i = 0; i < 5; ++i) canvas->changeRowHeight(1);
  canvas->changeGroup(timeline::GroupChange::pin, 3);
  const auto& layout = canvas->scene().layout();
  ASSERT_GT(layout.pinned, 0);
  auto* bar = canvas->verticalScrollBar();
  ASSERT_GT(bar->maximum(), layout.pinned) << "there must be something to scroll";
  for (const int device : {0, 1, 2}) {
    bar->setValue(bar->maximum());
    const geometry::TimelineItem pass = canvas->scene().passItem({device, 0, 12});
    canvas->select({});
    canvas->select(pass);
    canvas->reveal(pass);
    const auto& row = layout.rows[static_cast<std::size_t>(pass.row)];
    EXPECT_GE(row.y - bar->value(), layout.pinned) << device;
    EXPECT_LE(row.y + row.height - bar->value(), canvas->window().height) << device;
  }
}

TEST_F(FigureTest, AMeasuredSpanShowsItsSums) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  auto* ranges = child<pages::RangeTable>()->ranges();
  const geometry::TimelineItem pass = canvas->scene().passItem({1, 0, 12});
  canvas->select(pass);
  QTest::keyClick(canvas, Qt::Key_R);
  ASSERT_TRUE(settle());
  ASSERT_EQ(ranges->rowCount(), 4);
  for (const analysis::RangeStatistics& row : ranges->rows()) EXPECT_EQ(row.total, pass.end - pass.start);
  std::int64_t sum = ranges->rows()[1].idle.count;
  for (const std::int64_t ticks : ranges->rows()[1].byKind) sum += ticks;
  EXPECT_EQ(sum, (pass.end - pass.start).count);
  EXPECT_EQ(ranges->rows()[1].idle.count, 0) << "the device works during its pass";
  auto* tabs = child<QTabWidget>();
  EXPECT_EQ(tabs->tabText(0), QStringLiteral("Measured span"));
  EXPECT_EQ(tabs->currentIndex(), 0);
  picture("trace_measured");
  QTest::keyClick(canvas, Qt::Key_Escape);
  QTest::keyClick(canvas, Qt::Key_Escape);
  ASSERT_TRUE(settle());
  EXPECT_EQ(tabs->tabText(0), QStringLiteral("Summary"));
  EXPECT_EQ(ranges->rows()[1].total,
            std::min(window->timeRange().end(), canvas->scene().model()->trace->end) -
                std::max(window->timeRange().start(), canvas->scene().model()->trace->start));
}

TEST_F(FigureTest, WhatDoesNotFitLeadsToItsTile) {
  openPage(QStringLiteral("summary"), {.overflow = true});
  ASSERT_EQ(card(QStringLiteral("Memory"))->value(), QStringLiteral("Does not fit"));
  QTest::mouseClick(card(QStringLiteral("Memory")), Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Memory"));
  auto* chart = child<pages::Chart>();
  std::int64_t most = 0;
  for (int tile = 0; tile < chart->size(); ++tile) most = std::max(most, chart->total(tile));
  ASSERT_GE(chart->mark(), 0);
  EXPECT_EQ(chart->total(chart->mark()), most);
  EXPECT_EQ(window->selection().current().device, model::DeviceId(1));
  choose(child<QComboBox>(QStringLiteral("Device")), 1);
  ASSERT_TRUE(settle());
  window->go({QStringLiteral("memory"), {}, -1, {}, model::DeviceId(2), 11});
  ASSERT_TRUE(settle());
  EXPECT_EQ(chart->mark(), 2 * 1472 + 11) << "all devices are shown again";
  QTest::keyClick(window.get(), Qt::Key_F);
  EXPECT_EQ(chart->total(chart->mark()), most);
}

TEST_F(FigureTest, TheContextMenuOfAnItem) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  const geometry::TimelineItem pass = canvas->scene().passItem({1, 0, 12});
  canvas->zoomTo(pass.start, pass.end, 0.5);
  ASSERT_TRUE(settle());
  const auto box = canvas->scene().boxOf(canvas->window(), pass);
  ASSERT_TRUE(box.has_value());
  const QPoint at(TimelineCanvas::kGutter + box->x + box->width / 2,
                  TimelineCanvas::kTop + box->y + box->height / 2);
  const std::unique_ptr<QMenu> menu(canvas->makeMenu(at));
  const auto action = [&](const char* text) {
    for (QAction* one : menu->actions()) {
      if (one->text() == QLatin1String(text)) return one;
    }
    ADD_FAILURE() << text;
    return menu->actions().front();
  };
  EXPECT_FALSE(action("Find the same")->isEnabled()) << "a pass has no name path";
  action("Copy name")->trigger();
  EXPECT_TRUE(QApplication::clipboard()->text().startsWith(QString::fromStdString(canvas->scene().labelOf(
      canvas->scene().itemAt(canvas->window(), box->x + box->width / 2, box->y + box->height / 2)))))
      << QApplication::clipboard()->text().toStdString();
  action("Zoom to (F)")->trigger();
  EXPECT_NEAR(window->timeRange().view().span(), 1.2 * static_cast<double>((pass.end - pass.start).count),
              10);
  for (QAction* page : action("Show in")->menu()->actions())
    if (page->text() == QStringLiteral("Memory")) page->trigger();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Memory"));
  EXPECT_EQ(child<pages::Chart>()->litBand(), 1);
}

TEST_F(FigureTest, AStepIsFoundAgainFromItsMenu) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  canvas->select(geometry::TimelineSearch(canvas->scene()).byName({"layer2/conv/Convolve", true}, {}, 0));
  const geometry::TimelineItem step = canvas->selected();
  ASSERT_EQ(step.kind, geometry::TimelineItem::Kind::step);
  canvas->zoomTo(step.start, step.end, 0.5);
  canvas->reveal(step);
  ASSERT_TRUE(settle());
  const auto box = canvas->scene().boxOf(canvas->window(), step);
  ASSERT_TRUE(box.has_value());
  const std::unique_ptr<QMenu> menu(canvas->makeMenu(
      {TimelineCanvas::kGutter + box->x + box->width / 2, TimelineCanvas::kTop + box->y + box->height / 2}));
  for (QAction* action : menu->actions()) {
    if (action->text() == QStringLiteral("Find the same")) action->trigger();
  }
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->findBar()->box()->text(), QStringLiteral("layer2/conv/Convolve"));
  EXPECT_TRUE(canvas->scene().found() != nullptr);
}

TEST(ChartBands, AMarkCoversNoPartOfAName) {
  const QRect strip(100, 5, 200, 16);
  const auto covered = [&](int mark, int width) {
    const QRect place = pages::bandTextPlace(strip, width, mark);
    EXPECT_TRUE(strip.contains(place) || place.isEmpty()) << mark;
    // The name is written in the middle of its place.
    const int written = std::min(width, place.width()), left = place.center().x() - written / 2;
    return mark >= left - 1 && mark <= left + written + 1;
  };
  for (int mark = 90; mark < 310; ++mark) {
    for (const int width : {20, 60, 150, 190}) EXPECT_FALSE(covered(mark, width)) << mark << ", " << width;
  }
  EXPECT_NEAR(pages::bandTextPlace(strip, 60, -1).center().x(), strip.center().x(), 1);
  EXPECT_NEAR(pages::bandTextPlace(strip, 60, 110).center().x(), strip.center().x(), 1) << "the mark is far";
  EXPECT_EQ(pages::bandTextPlace(strip, 60, 200).width(), 60) << "there is room for all of it";
}

}  // namespace
}  // namespace pipescope::testing
