// Tests the parts that pages are made of: tables and charts.
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QSortFilterProxyModel>
#include <QStyledItemDelegate>
#include <QTableView>

#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/data_table_cells.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/table_menu.h"
#include "views/timeline/bar_chart.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::Chart;
using pages::DataTable;
using timeline::BarChart;

sections::SectionTable sampleTable() {
  using sections::Format;
  return {"t",
          "Sample",
          "per test",
          {{"name", "Name", Format::plain, "a name"},
           {"n", "Count", Format::count, ""},
           {"share", "Share", Format::fraction, ""},
           {"nothing", "Nothing", Format::plain, ""}},
          {{std::string("b"), std::int64_t{20}, 0.25, {}},
           {std::string("a"), std::int64_t{3'000}, 0.75, {}},
           {std::string("c"), std::int64_t{100}, 0.5, {}}}};
}

TEST(DataTableTest, ModelKeepsItsPromises) {
  pages::SectionTableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setTable(sampleTable());
  EXPECT_EQ(model.rowCount(), 3);
  EXPECT_EQ(model.index(1, 1).data().toString(), QStringLiteral("3,000"));
  EXPECT_EQ(model.index(0, 2).data().toString(), QStringLiteral("25.0 %"));
  EXPECT_EQ(model.index(0, 2).data(pages::kRawRole).toString(), QStringLiteral("0.25"));
  EXPECT_EQ(model.headerData(2, Qt::Horizontal, pages::kRawRole).toString(), QStringLiteral("0 … 1"));
  EXPECT_FALSE(model.index(0, 0).data(pages::kRawRole).isValid()) << "a text has no figure";
  EXPECT_EQ(model.index(0, 3).data().toString(), QStringLiteral("–"));
  EXPECT_EQ(model.headerData(0, Qt::Horizontal, Qt::ToolTipRole).toString(), QStringLiteral("a name"));
  EXPECT_FALSE(model.index(7, 7).isValid());
  sections::SectionTable times = sampleTable();
  times.columns[1].format = sections::Format::ticks;
  model.setTable(times, 1, geometry::TimeScale{geometry::TimeUnit::time, 1'000'000});
  EXPECT_EQ(model.index(1, 1).data().toString(), QStringLiteral("3.00 ms"));
  EXPECT_EQ(model.index(1, 1).data(pages::kRawRole).toString(), QStringLiteral("3000"));
  EXPECT_EQ(model.headerData(1, Qt::Horizontal, pages::kRawRole).toString(), QStringLiteral("ticks"));
  model.setTable({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(DataTableTest, SortsByValueAndCopies) {
  shell::Palette palette;
  DataTable table(palette);
  table.setTable(sampleTable());
  table.resize(600, 300);
  table.show();
  EXPECT_EQ(table.model()->columnCount(), 3) << "a column that says nothing is left out";
  table.sortBy(1, Qt::DescendingOrder);
  const auto name = [&](int row) { return table.shown()->index(row, 0).data().toString(); };
  EXPECT_EQ(name(0), QStringLiteral("a")) << "3,000 is more than 100, as a number";
  EXPECT_EQ(name(2), QStringLiteral("b"));
  table.view()->selectRow(0);
  QTest::keyClick(table.view(), Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QApplication::clipboard()->text(), QStringLiteral("Name\tCount\tShare\na\t3,000\t75.0 %"));
  QSignalSpy activated(&table, &DataTable::rowActivated);
  QTest::keyClick(table.view(), Qt::Key_Return);
  ASSERT_EQ(activated.count(), 1);
  EXPECT_EQ(activated[0][0].toInt(), 1) << "rows of the model, however they are sorted";
}

TEST(DataTableTest, CellsAreMeasuredAsWideAsQtLaysThemOut) {
  shell::Palette palette;
  DataTable table(palette);
  sections::SectionTable rows = sampleTable();
  rows.rows[0][0] = std::string("encoder/layer11/feed_forward/fi ÷ Wave");
  rows.rows[1][1] = std::int64_t{123'456'789'012};
  table.setTable(rows);
  table.resize(600, 300);
  table.show();
  QTableView* view = table.view();
  const QStyledItemDelegate qt;
  QStyleOptionViewItem option;
  option.initFrom(view);
  option.font = view->font();
  option.widget = view;
  for (int row = 0; row < view->model()->rowCount(); ++row) {
    for (int column = 0; column < view->model()->columnCount(); ++column) {
      const QModelIndex cell = view->model()->index(row, column);
      const bool share = cell.data(pages::SectionTableModel::kShareRole).isValid();
      const int bar = share ? pages::kBarIndent + pages::kBarWidth + pages::kBarGap : 0;
      const int margins = 6, own = view->itemDelegate()->sizeHint(option, cell).width();
      EXPECT_NEAR(own, qt.sizeHint(option, cell).width() + margins + bar, 1)
          << cell.data().toString().toStdString();
    }
  }
}

TEST(ChartTest, PeaksAreNeverAveragedAway) {
  shell::Palette palette;
  Chart chart(palette);
  chart.resize(400, 300);
  chart.show();
  std::vector<std::int64_t> values(100'000, 1'000);
  values[73'210] = 50'000;
  chart.setStack({{geometry::ColourRole::series, values, false}});
  chart.setAxes(QStringLiteral("unit"), QStringLiteral("bytes"));
  chart.replot();
  const QImage image = chart.canvas()->grab().toImage();
  const int x = static_cast<int>(chart.transform(QwtPlot::xBottom, 73'210.5)),
            y = static_cast<int>(chart.transform(QwtPlot::yLeft, 40'000));
  bool seen = false;
  for (int dx = -1; dx <= 1; ++dx)
    seen = seen || image.pixelColor(x + dx, y) == palette.colour(geometry::ColourRole::series);
  EXPECT_TRUE(seen) << "one of 100,000 on 340 pixels";
}

TEST(ChartTest, ASingleIndexFillsTheChart) {
  shell::Palette palette;
  Chart chart(palette);
  chart.resize(400, 300);
  chart.show();
  chart.setStack({{geometry::ColourRole::series, {1'000}, false}});
  chart.replot();
  const QImage image = chart.canvas()->grab().toImage();
  const int y = static_cast<int>(chart.transform(QwtPlot::yLeft, 500));
  for (const int part : {1, 2, 3})
    EXPECT_EQ(image.pixelColor(image.width() * part / 4, y), palette.colour(geometry::ColourRole::series))
        << part << " quarters";
}

TEST(ChartTest, HostileValuesAndEmptyStacks) {
  shell::Palette palette;
  Chart chart(palette);
  chart.resize(300, 200);
  chart.show();
  chart.setStack({});
  EXPECT_EQ(chart.size(), 0);
  EXPECT_EQ(chart.total(3), 0);
  chart.setStack({{geometry::ColourRole::series, {-5, std::numeric_limits<std::int64_t>::max(), 7}, false},
                  {geometry::ColourRole::gaps, {1, std::numeric_limits<std::int64_t>::max()}, true}});
  EXPECT_EQ(chart.size(), 2) << "as many as every layer has";
  EXPECT_EQ(chart.total(0), 1);
  chart.setRange(-100, 5000);
  chart.setMark(1);
  chart.grab();
  EXPECT_GE(chart.range().first, 0);
}

TEST(BarChartTest, PointsAndClicks) {
  shell::Palette palette;
  BarChart chart(palette);
  geometry::Bar bar;
  bar.parts = {{geometry::ColourRole::forward, 3, "3", false},
               {geometry::ColourRole::waitFill, 1, "1", true}};
  chart.setBars({bar, bar}, {QStringLiteral("one"), QStringLiteral("two")}, {QStringLiteral("note"), {}});
  chart.resize(400, chart.sizeHint().height());
  chart.show();
  EXPECT_GT(chart.partRect({1, 0}).y(), chart.partRect({0, 0}).bottom());
  EXPECT_NEAR(chart.partRect({0, 0}).width(), 3 * chart.partRect({0, 1}).width(), 3);
  QSignalSpy clicked(&chart, &BarChart::clicked);
  QTest::mouseClick(&chart, Qt::LeftButton, {}, chart.partRect({1, 1}).center());
  ASSERT_EQ(clicked.count(), 1);
  EXPECT_EQ(clicked[0][0].toInt(), 1);
  chart.setBars({}, {});
  chart.grab();
}

}  // namespace
}  // namespace pipescope::testing
