// Tests that texts and controls have room: in the smallest window that the program is made for, and on large
// screens.
#include <qwt_scale_div.h>
#include <set>

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPixmap>
#include <QScrollBar>
#include <QSplitter>
#include <QTabWidget>
#include <QTableView>
#include <QToolButton>
#include <QTreeView>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <set>

#include "views/pages/parts/chart.h"
#include "views/pages/parts/columns_area.h"
#include "views/pages/parts/curve_chart.h"
#include "views/pages/parts/data_table.h"
#include "views/pages/parts/facts.h"
#include "views/pages/parts/insight_card.h"
#include "views/pages/parts/panel.h"
#include "views/pages/parts/range_table.h"
#include "views/pages/parts/section_table_model.h"
#include "views/pages/parts/tree_table.h"
#include "views/shell/growing.h"
#include "views/shell/sidebar.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/graph_canvas.h"
#include "views/timeline/pipeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

class LayoutTest : public WindowTest {
 protected:
  void openAt(const QSize& size, const QString& page, const FixtureOptions& options = {}) {
    window->resize(size);
    open(ProfileFixture(options).profile(), page);
    QCoreApplication::processEvents();
  }
};

TEST_F(LayoutTest, ControlsAreNotCutInASmallWindow) {
  openAt({1024, 700}, QStringLiteral("summary"));
  for (const QString& page : window->pageIds()) {
    showPage(page);
    QCoreApplication::processEvents();
    for (const QComboBox* box : window->currentPage()->findChildren<QComboBox*>()) {
      if (box->isVisible()) {
        EXPECT_GE(box->width(), box->sizeHint().width())
            << page.toStdString() << ": " << box->accessibleName().toStdString();
      }
    }
  }
}

TEST_F(LayoutTest, FactsOfTheIterationAreNotCut) {
  openAt({1600, 900}, QStringLiteral("pipeline"));
  auto* facts = child<pages::FactGrid>();
  ASSERT_NE(facts, nullptr);
  ASSERT_GT(facts->facts().size(), 10U);
  for (std::size_t i = 0; i < facts->facts().size(); ++i)
    EXPECT_EQ(facts->shownValue(static_cast<int>(i)), facts->facts()[i].value);
}

TEST_F(LayoutTest, FactsTakeTheRoomThatTheirLabelsLeave) {
  pages::FactGrid grid(*palette);
  grid.setColumnWidth(300);
  grid.setFacts({{QStringLiteral("Ramp-up"), QStringLiteral("61,982,335 cycles (34.4 %)"), {}},
                 {QStringLiteral("Steady"), QStringLiteral("33,622,412 cycles (18.7 %)"), {}},
                 {QStringLiteral("thereof compute"), QStringLiteral("176,095,023 cycles (93.9 %)"), {}},
                 {QStringLiteral("thereof host"), QStringLiteral("81,279 cycles (0.0 %)"), {}}});
  grid.resize(640, 60);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(grid.shownValue(i), grid.facts()[static_cast<std::size_t>(i)].value) << i;
}

TEST_F(LayoutTest, AllFactsCanBeReachedInASmallWindow) {
  openAt({1024, 700}, QStringLiteral("pipeline"));
  auto* facts = child<pages::FactGrid>();
  EXPECT_GE(facts->height(), facts->heightForWidth(facts->width())) << "it is scrolled, not cut";
}

TEST_F(LayoutTest, TheSidebarShowsAllPagesInALowWindow) {
  openAt({1024, 700}, QStringLiteral("summary"));
  for (const int height : {700, 480}) {
    window->resize(1024, height);
    QCoreApplication::processEvents();
    EXPECT_EQ(window->height(), height);
    const auto* sidebar = window->findChild<shell::Sidebar*>();
    const QList<QToolButton*> buttons = sidebar->findChildren<QToolButton*>();
    EXPECT_EQ(buttons.size(), window->pageIds().size());
    for (const QToolButton* button : buttons) {
      EXPECT_TRUE(sidebar->rect().contains(button->geometry())) << height << button->text().toStdString();
      EXPECT_GE(button->height(), 20);
    }
  }
}

TEST_F(LayoutTest, LowerPartsGetAShareOfALargeScreen) {
  const auto lower = [&](const QString& page, const QSize& size) {
    window->resize(size);
    showPage(page);
    QCoreApplication::processEvents();
    for (const QSplitter* splitter : window->currentPage()->findChildren<QSplitter*>()) {
      if (splitter->orientation() == Qt::Vertical) return splitter->sizes().value(1);
    }
    return -1;
  };
  openAt({1600, 900}, QStringLiteral("pipeline"));
  for (const char* page : {"pipeline", "trace"}) {
    const int small = lower(QLatin1String(page), {1600, 900}),
              large = lower(QLatin1String(page), {3840, 2160});
    EXPECT_GT(large, small + 150) << page;
  }
  EXPECT_GE(lower(QStringLiteral("trace"), {1024, 700}), 150) << "three rows of the table";
}

TEST_F(LayoutTest, ColumnsOfFiguresLieSideBySide) {
  pages::DataTable table(*palette);
  table.resize(900, 200);
  table.show();
  sections::SectionTable figures{"figures", "Figures", "", {}, {{}}};
  for (const char* key : {"a", "b", "c", "d"}) {
    figures.columns.push_back({key, key, sections::Format::count, ""});
    figures.rows[0].emplace_back(std::int64_t{12});
  }
  table.setTable(figures);
  QCoreApplication::processEvents();
  const QHeaderView* header = table.view()->horizontalHeader();
  for (int column = 1; column < 4; ++column)
    EXPECT_NEAR(header->sectionSize(column), header->sectionSize(0), 8) << column;
}

TEST_F(LayoutTest, TablesDoNotScrollSidewaysInASmallWindow) {
  openAt({1024, 700}, QStringLiteral("stages"));
  for (const char* page : {"stages", "engines", "pipeline", "trace", "what-if"}) {
    showPage(QLatin1String(page));
    QCoreApplication::processEvents();
    for (const QTableView* view : window->currentPage()->findChildren<QTableView*>()) {
      if (!view->isVisible() || view->model()->rowCount() == 0) continue;
      EXPECT_LE(view->horizontalHeader()->length(), view->viewport()->width() + 1)
          << page << ": " << view->accessibleName().toStdString();
    }
  }
}

TEST_F(LayoutTest, TheProportionsOfATraceGiveWayBeforeTheTableScrollsSideways) {
  openAt({1024, 700}, QStringLiteral("trace"));
  auto* table = child<pages::RangeTable>();
  constexpr int kStillReadable = 90, kStep = 5;
  for (int width = table->width(); table->columnWidth(pages::RangeModel::proportions) > kStillReadable;
       width -= kStep) {
    ASSERT_GT(width, 300);
    table->resize(width, table->height());
    ASSERT_LE(table->horizontalHeader()->length(), table->viewport()->width() + 1) << width;
  }
}

/// A table with a column of names and some of large numbers.
sections::SectionTable wideTable(const std::vector<std::string>& columns) {
  sections::SectionTable table{"wide", "Wide", "", {{"name", "Name", sections::Format::plain, ""}}, {{}}};
  table.rows[0].emplace_back(std::string("encoder/layer11/feed_forward/out"));
  for (const std::string& key : columns) {
    table.columns.push_back({key, key, sections::Format::count, ""});
    table.rows[0].emplace_back(std::int64_t{123'456'789'012});
  }
  return table;
}

TEST_F(LayoutTest, ColumnsGiveWayBeforeATableScrollsSideways) {
  pages::DataTable table(*palette);
  table.setYielding({"d", "b"});
  table.resize(900, 200);
  table.show();
  table.setTable(wideTable({"a", "b", "c", "d"}));
  auto* view = table.view();
  const auto hidden = [&] {
    QCoreApplication::processEvents();
    std::string keys;
    for (int c = 0; c < 5; ++c) keys += view->isColumnHidden(c) ? std::string(1, "nabcd"[c]) : "";
    return keys;
  };
  const auto fits = [&] { return view->horizontalHeader()->length() <= view->viewport()->width() + 1; };
  const auto* menu = table.findChild<QToolButton*>();
  EXPECT_EQ(hidden(), "");
  EXPECT_EQ(menu->text(), QStringLiteral("⋯"));
  int width = 900;
  while (width > 300 && hidden().empty()) table.resize(width -= 10, 200);
  EXPECT_EQ(hidden(), "d");
  EXPECT_TRUE(fits());
  EXPECT_EQ(menu->text().toStdString(), "+1 ⋯");
  EXPECT_TRUE(menu->toolTip().contains(QStringLiteral("the columns d."))) << menu->toolTip().toStdString();
  EXPECT_EQ(table.csv().section(QLatin1Char('\n'), 0, 0).toStdString(), "Name,a,b,c,d");
  table.resize(900, 200);
  EXPECT_EQ(hidden(), "");
  table.resize(width, 200);
  ASSERT_EQ(hidden(), "d");
  view->setColumnHidden(4, false);  // as its menu does
  table.resize(width - 1, 200);
  EXPECT_EQ(hidden(), "b") << "what the user has shown stays";
  table.setHidden([](const sections::SectionTable&) { return std::set<std::string>{"a"}; });
  table.setTable(wideTable({"a", "b", "c", "d"}));
  EXPECT_EQ(hidden(), "a");
  EXPECT_EQ(table.csv().section(QLatin1Char('\n'), 0, 0), QStringLiteral("Name,b,c,d"));
}

TEST_F(LayoutTest, ATreeGetsSmallerBeforeItScrollsSideways) {
  pages::TreeTable tree(*palette);
  tree.resize(1000, 200);
  tree.show();
  const auto fits = [&] {
    QCoreApplication::processEvents();
    return tree.view()->header()->length() <= tree.view()->viewport()->width() + 1;
  };
  const auto size = [&] { return tree.view()->font().pointSizeF(); };
  tree.setRows({wideTable({"a", "a rather long heading", "c"}), {-1}, {0}});
  EXPECT_TRUE(fits());
  const double usual = size();
  const int needed = tree.view()->header()->length() - tree.view()->columnWidth(0) + 300;
  tree.resize(needed - 20, 200);
  EXPECT_TRUE(fits());
  EXPECT_LT(size(), usual);
  EXPECT_GE(tree.view()->columnWidth(0), 240);
  for (int c = 1; c < 4; ++c)
    EXPECT_GT(tree.view()->columnWidth(c),
              tree.view()->header()->fontMetrics().horizontalAdvance(
                  tree.model()->headerData(c, Qt::Horizontal, Qt::DisplayRole).toString()));
  tree.resize(needed + 20, 200);
  EXPECT_TRUE(fits());
  EXPECT_EQ(size(), usual);
  // In a wide window, the figures come nearer to the names.
  const int narrow = tree.view()->columnWidth(1);
  tree.resize(3600, 200);
  EXPECT_TRUE(fits());
  EXPECT_GT(tree.view()->columnWidth(1), narrow + 50);
  tree.resize(needed + 20, 200);
  EXPECT_TRUE(fits());
  EXPECT_EQ(tree.view()->columnWidth(1), narrow);
}

TEST_F(LayoutTest, AxesOfCallsHaveWholeNumbers) {
  for (const std::int64_t samples : {2, 3, 5, 9}) {
    pages::CurveChart chart(*palette);
    auto series = std::make_shared<analysis::CounterSeries>();
    series->samples = samples;
    series->largest = 2;
    chart.setSeries(series, QStringLiteral("call"));
    const QwtScaleDiv& axis = chart.axisScaleDiv(QwtPlot::xBottom);
    EXPECT_EQ(axis.upperBound(), static_cast<double>(samples - 1));
    EXPECT_GE(axis.ticks(QwtScaleDiv::MajorTick).size(), 2);
    for (const double tick : axis.ticks(QwtScaleDiv::MajorTick)) EXPECT_EQ(tick, std::floor(tick));
  }
}

/// A table with one row: a name, and a sentence that has the given number of words.
sections::SectionTable sentences(int words) {
  sections::SectionTable table{
      "sentences",
      "Sentences",
      "",
      {{"name", "Name", sections::Format::plain, ""}, {"meaning", "Meaning", sections::Format::plain, ""}},
      {}};
  std::string sentence = "word";
  for (int i = 1; i < words; ++i) sentence += " word";
  for (const char* name : {"first", "second"}) table.rows.push_back({std::string(name), sentence});
  return table;
}

TEST_F(LayoutTest, SentencesOfAShortTableContinueInTheNextLine) {
  pages::DataTable table(*palette);
  table.setRowsShown(5);
  table.resize(400, 300);
  table.show();
  const auto* view = table.view();
  const auto height = [&](int words) {
    table.setTable(sentences(words));
    QCoreApplication::processEvents();
    EXPECT_LE(view->horizontalHeader()->length(), view->viewport()->width() + 1);
    EXPECT_GE(view->viewport()->height(), view->rowHeight(0) + view->rowHeight(1)) << "both rows are seen";
    return view->rowHeight(0);
  };
  const int line = view->fontMetrics().lineSpacing(), one = height(2);
  const int two = height(12), most = height(80);
  EXPECT_GE(two, one + line);
  EXPECT_LT(two, one + 2 * line);
  EXPECT_GE(most, one + 3 * line);
  EXPECT_LT(most, one + 4 * line) << "not more than four lines";
  table.resize(4'000, 300);
  QCoreApplication::processEvents();
  EXPECT_EQ(view->rowHeight(0), one);
  table.resize(400, 300);
  table.filter()->setText(QStringLiteral("second"));
  QCoreApplication::processEvents();
  EXPECT_EQ(view->rowHeight(0), most);
}

TEST_F(LayoutTest, ToolsForTheSameStandInTheSameOrder) {
  openAt({1600, 900}, QStringLiteral("pipeline"), {.runs = 2});
  int seen = 0;
  for (const QString& page : window->pageIds()) {
    showPage(page);
    QCoreApplication::processEvents();
    const auto at = [&](const char* name) {
      for (const QToolButton* button : window->currentPage()->findChildren<QToolButton*>()) {
        if (button->isVisible() && button->accessibleName().startsWith(QLatin1String(name)))
          return button->mapTo(window.get(), QPoint()).x();
      }
      return -1;
    };
    const int out = at("Zoom out"), in = at("Zoom in"), all = at("Show everything");
    if (out < 0 && in < 0) continue;
    ++seen;
    EXPECT_TRUE(out >= 0 && out < in) << page.toStdString();
    EXPECT_TRUE(all < 0 || in < all) << page.toStdString();
  }
  EXPECT_GE(seen, 3);
}

TEST_F(LayoutTest, FiguresOfTheSelectionStandBesideTheTabsOfAWideWindow) {
  openAt({1024, 700}, QStringLiteral("graph"));
  for (const char* page : {"graph", "programs"}) {
    showPage(QLatin1String(page));
    auto* tabs = window->currentPage()->findChild<QTabWidget*>();
    auto* facts = window->currentPage()->findChild<pages::FactGrid*>();
    for (const bool wide : {false, true, false}) {
      window->resize(wide ? QSize(3840, 2160) : QSize(1024, 700));
      QCoreApplication::processEvents();
      EXPECT_TRUE(facts->isVisible()) << page << wide;
      EXPECT_EQ(tabs->indexOf(facts), wide ? -1 : 0) << page;
      EXPECT_EQ(tabs->isAncestorOf(facts), !wide) << page;
      if (wide) {
        const auto* table = tabs->currentWidget()->findChild<QTableView*>();
        ASSERT_NE(table, nullptr) << page;
        EXPECT_GT(table->model()->rowCount(), 0) << page;
      }
    }
  }
}

TEST_F(LayoutTest, AnEnlargedGraphUsesTheRoomOfALargeScreen) {
  openAt({3840, 2160}, QStringLiteral("graph"));
  const auto* canvas = child<timeline::GraphCanvas>();
  ASSERT_NE(canvas, nullptr);
  QRect all;
  for (int box = 0; !canvas->boxRect(box).isEmpty(); ++box) all |= canvas->boxRect(box);
  EXPECT_TRUE(canvas->rect().contains(all));
  EXPECT_GT(canvas->boxRect(0).width(), geometry::GraphScene::kBoxWidth * 3 / 2);
}

TEST_F(LayoutTest, ChartsTakeTheRoomOfALargeScreen) {
  const auto chartsOf = [&](const QString& page, const QSize& size) {
    window->resize(size);
    showPage(page);
    QCoreApplication::processEvents();
    QTest::qWait(0);
    int sum = 0;
    for (const QWidget* widget : window->currentPage()->findChildren<QWidget*>()) {
      const auto* chart = dynamic_cast<const shell::Growing*>(widget);
      if (chart != nullptr && widget->isVisible() && chart->heights().most > chart->heights().least)
        sum += widget->height();
    }
    return sum;
  };
  openAt({1024, 700}, QStringLiteral("engines"));
  for (const char* page : {"engines", "stages", "waits", "system", "training", "what-if"}) {
    const int least = chartsOf(QLatin1String(page), {1024, 700}),
              large = chartsOf(QLatin1String(page), {3840, 2160});
    ASSERT_GT(least, 0) << page;
    EXPECT_GE(large, least * 3 / 2) << page;
    const auto* area = child<pages::ColumnsArea>();
    EXPECT_EQ(area->verticalScrollBar()->maximum(), 0) << page << ": charts grow only into free room";
    EXPECT_EQ(chartsOf(QLatin1String(page), {1024, 700}), least) << page << ": and give it back";
  }
}

TEST_F(LayoutTest, FourStagesFillTheHeightOfALargeScreen) {
  openAt({3840, 2160}, QStringLiteral("pipeline"));
  const auto* canvas = child<timeline::PipelineCanvas>();
  ASSERT_NE(canvas, nullptr);
  const geometry::PipelineScene& scene = canvas->scene();
  const int room = canvas->viewport()->height() - scene.metrics().top() - scene.metrics().foot;
  EXPECT_GT(scene.height(), room * 9 / 10);
  EXPECT_LE(scene.height(), room);
}

TEST_F(LayoutTest, ALimitIsSeenOverTheBars) {
  pages::Chart chart(*palette);
  chart.resize(600, 300);
  chart.setStack({{geometry::ColourRole::series, std::vector<std::int64_t>(100, 1'000)}}, {});
  chart.setLimit(500, QStringLiteral("500 B"));
  chart.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&chart));
  const QImage picture = chart.grab().toImage();
  const QPoint line = chart.canvas()->mapTo(&chart, QPoint(40, qRound(chart.transform(QwtPlot::yLeft, 500))));
  const auto colourAt = [&](int below) { return picture.pixelColor(line + QPoint(0, below)); };
  const QColor surface = palette->ui(shell::Ui::surface);
  EXPECT_EQ(colourAt(-1), surface);
  EXPECT_EQ(colourAt(1), surface);
  EXPECT_EQ(colourAt(8), palette->colour(geometry::ColourRole::series)) << "the bar lies around it";
}

TEST_F(LayoutTest, ATallWindowIsFilledWhereAChartMayStillGrow) {
  openAt({1600, 1500}, QStringLiteral("training"));
  const auto* area = child<pages::ColumnsArea>();
  const pages::CurveChart* lowest = nullptr;
  int bottom = 0;
  for (const auto* chart : window->currentPage()->findChildren<pages::CurveChart*>()) {
    const int end = chart->mapTo(area->widget(), QPoint(0, chart->height())).y();
    if (chart->isVisible() && end > bottom) bottom = end, lowest = chart;
  }
  ASSERT_NE(lowest, nullptr);
  EXPECT_EQ(area->verticalScrollBar()->maximum(), 0);
  EXPECT_TRUE(lowest->heights().now == lowest->heights().most || bottom > area->viewport()->height() - 60)
      << bottom;
}

TEST_F(LayoutTest, InAWideWindowFindingsStandSideBySide) {
  openAt({1600, 900}, QStringLiteral("insights"), {.slowHost = true});
  const auto places = [&] {
    QCoreApplication::processEvents();
    std::set<int> left;
    for (const auto* card : window->currentPage()->findChildren<pages::InsightCard*>())
      left.insert(card->x());
    return left.size();
  };
  const auto textSize = [&] { return child<pages::InsightCard>()->seenIn()->font().pointSizeF(); };
  const double usual = textSize();
  ASSERT_GT(window->currentPage()->findChildren<pages::InsightCard*>().size(), 1);
  EXPECT_EQ(places(), 1U);
  window->resize(3840, 2160);
  EXPECT_EQ(places(), 2U);
  EXPECT_GT(textSize(), usual * 1.3) << "there is room for larger texts";
  EXPECT_EQ(child<pages::ColumnsArea>()->verticalScrollBar()->maximum(), 0);
  window->resize(1024, 700);
  EXPECT_EQ(places(), 1U);
  EXPECT_EQ(textSize(), usual);
}

TEST_F(LayoutTest, RowsOfTablesTakeWhatChartsLeave) {
  openAt({1600, 900}, QStringLiteral("engines"));
  const auto rowHeight = [&] {
    QCoreApplication::processEvents();
    return child<pages::DataTable>()->view()->rowHeight(0);
  };
  const int usual = rowHeight();
  window->resize(3840, 2160);
  EXPECT_GE(rowHeight(), usual * 3 / 2);
  EXPECT_EQ(child<pages::ColumnsArea>()->verticalScrollBar()->maximum(), 0);
  const auto* table = child<pages::DataTable>();
  EXPECT_FALSE(table->view()->verticalScrollBar()->isVisible());
  window->resize(1600, 900);
  EXPECT_EQ(rowHeight(), usual);
}

TEST_F(LayoutTest, FewStagesFillALargeScreen) {
  openAt({3840, 2160}, QStringLiteral("stages"));
  const auto* area = child<pages::ColumnsArea>();
  int bottom = 0;
  for (const auto* panel : area->widget()->findChildren<pages::Panel*>()) {
    if (panel->isVisible())
      bottom = std::max(bottom, panel->mapTo(area->widget(), QPoint(0, panel->height())).y());
  }
  EXPECT_GT(bottom, area->viewport()->height() * 3 / 4);
  EXPECT_EQ(area->verticalScrollBar()->maximum(), 0);
}

TEST_F(LayoutTest, TheShorterColumnTakesTheHeightOfTheLongerOne) {
  openAt({1600, 700}, QStringLiteral("stages"));
  const auto* area = child<pages::ColumnsArea>();
  ASSERT_GT(area->verticalScrollBar()->maximum(), 0);
  const auto endOf = [&](const char* name) {
    const QWidget* panel = child<timeline::BarChart>(QLatin1String(name))->parentWidget();
    return panel->mapTo(area->widget(), QPoint(0, panel->height())).y();
  };
  int right = 0;
  for (const auto* table : window->currentPage()->findChildren<pages::DataTable*>()) {
    if (table->isVisible() && table->mapTo(area->widget(), QPoint()).x() > area->width() / 2)
      right = std::max(right, table->mapTo(area->widget(), QPoint(0, table->height())).y());
  }
  const auto* memory = child<timeline::BarChart>(QStringLiteral("Memory per stage"));
  const auto [least, most, now] = memory->heights();
  EXPECT_GT(now, least);
  EXPECT_TRUE(now == most || endOf("Memory per stage") > right - 60) << now << " of " << most;
}

TEST_F(LayoutTest, ChartsWithABarForEachDeviceStandBesideEachOther) {
  openAt({1600, 900}, QStringLiteral("engines"));
  const auto* whole = child<timeline::BarChart>(QStringLiteral("What each device does"));
  const auto* communication = child<timeline::BarChart>(QStringLiteral("Communication"));
  ASSERT_TRUE(whole->isVisible() && communication->isVisible());
  const auto* area = child<pages::ColumnsArea>();
  const auto leftOf = [&](const QWidget* chart) { return chart->mapTo(area->widget(), QPoint()).x(); };
  EXPECT_LT(leftOf(whole) + whole->width(), leftOf(communication));
  EXPECT_EQ(whole->height(), communication->height());
}

TEST_F(LayoutTest, ACurveThatIsLeftOverIsAsWideAsThePage) {
  openAt({1600, 900}, QStringLiteral("training"));
  std::vector<const pages::CurveChart*> charts;
  for (const auto* chart : window->currentPage()->findChildren<pages::CurveChart*>()) {
    if (chart->isVisible()) charts.push_back(chart);
  }
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_GT(charts[0]->width(), child<pages::ColumnsArea>()->viewport()->width() * 9 / 10);
}

TEST_F(LayoutTest, OnlySharesHaveBars) {
  pages::DataTable table(*palette);
  table.setTable({"checks",
                  "Checks",
                  "",
                  {{"share", "Share", sections::Format::fraction, ""},
                   {"bias", "Bias", sections::Format::fraction, ""},
                   {"delta_share", "Change", sections::Format::fraction, ""}},
                  {{0.2, 0.1, 0.3}, {0.3, -0.1, 0.4}}});
  const auto bar = [&](int column) {
    return table.model()->index(0, column).data(pages::SectionTableModel::kShareRole);
  };
  EXPECT_EQ(bar(0), QVariant(0.2));
  EXPECT_FALSE(bar(1).isValid()) << "a bias may be negative";
  EXPECT_FALSE(bar(2).isValid()) << "so may a change";
}

TEST_F(LayoutTest, ATableOfFewOperationsHasNoEmptyRoom) {
  openAt({1024, 700}, QStringLiteral("operations"));
  const auto* table = child<pages::DataTable>();
  ASSERT_TRUE(table->isVisible());
  EXPECT_LE(table->height(), table->sizeHint().height() + 8);
}

TEST_F(LayoutTest, MarksLeaveRoomForTheirTexts) {
  pages::DataTable table(*palette);
  table.resize(700, 200);
  table.show();
  sections::SectionTable rows = wideTable({"a"});
  rows.rows[0][0] = std::string("numerics");
  rows.columns.insert(rows.columns.begin() + 1, {"b", "b", sections::Format::plain, ""});
  rows.rows[0].insert(rows.rows[0].begin() + 1, std::string("a much longer text that takes the free room"));
  table.setTable(rows);
  QCoreApplication::processEvents();
  const int before = table.view()->columnWidth(0);
  table.setMarks({QPixmap(14, 14)});
  QCoreApplication::processEvents();
  EXPECT_GE(table.view()->columnWidth(0), before + 14);
}

TEST_F(LayoutTest, ASingleRowIsNamedAsOne) {
  pages::DataTable table(*palette);
  table.setFilterVisible(true);
  table.setTable(wideTable({"a"}));
  QStringList words;
  for (const QLabel* label : table.findChildren<QLabel*>()) words << label->text();
  EXPECT_TRUE(words.contains(QStringLiteral("1 row"))) << words.join(QLatin1Char('|')).toStdString();
}

TEST_F(LayoutTest, AChartOfAPageThatScrollsLeavesThePlainWheelToThePage) {
  openAt({1024, 480}, QStringLiteral("training"), {.runs = 16});
  auto* chart = child<pages::CurveChart>();
  auto* area = child<pages::ColumnsArea>();
  ASSERT_NE(chart, nullptr);
  const auto wheel = [chart](Qt::KeyboardModifiers modifiers) {
    const QPoint at = chart->canvas()->rect().center();
    QWheelEvent event(at, chart->canvas()->mapToGlobal(at), {}, {0, 120}, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(chart->canvas(), &event);
  };
  ASSERT_GT(area->verticalScrollBar()->maximum(), 0);
  const auto range = chart->range();
  wheel(Qt::NoModifier);
  EXPECT_EQ(chart->range(), range) << "the wheel scrolls the page";
  wheel(Qt::ControlModifier);
  EXPECT_NE(chart->range(), range) << "Ctrl zooms the chart";
}

TEST_F(LayoutTest, WhereRoomIsShortTimesHaveThreeDigits) {
  pages::DataTable table(*palette);
  table.resize(300, 200);
  table.show();
  sections::SectionTable figures{"figures", "Figures", "", {}, {{}}};
  for (const char* key : {"a_cycles", "b_cycles", "c_cycles", "d_cycles"}) {
    figures.columns.push_back({key, "Exposed share", sections::Format::ticks, ""});
    figures.rows[0].emplace_back(std::int64_t{183'010'027});
  }
  figures.rows[0][1] = std::int64_t{9'999};
  table.setTable(figures);
  QCoreApplication::processEvents();
  const QAbstractItemModel& model = *table.view()->model();
  EXPECT_EQ(model.index(0, 0).data().toString(), QStringLiteral("183 M"));
  EXPECT_EQ(model.index(0, 0).data(Qt::ToolTipRole).toString(), QStringLiteral("183,010,027"));
  EXPECT_EQ(model.index(0, 1).data().toString(), QStringLiteral("9,999"));
  EXPECT_EQ(model.headerData(0, Qt::Horizontal).toString(), QStringLiteral("Exposed\nshare"));
  EXPECT_LE(table.view()->horizontalHeader()->length(), table.view()->viewport()->width() + 1);
  // What leaves the window is whole.
  EXPECT_TRUE(table.csv().startsWith(QStringLiteral("Exposed share (ticks),"))) << table.csv().toStdString();
  EXPECT_TRUE(table.csv().contains(QStringLiteral("183010027")));
  table.resize(900, 200);
  QCoreApplication::processEvents();
  EXPECT_EQ(model.index(0, 0).data().toString(), QStringLiteral("183,010,027"));
}

TEST_F(LayoutTest, TheKeyboardGoesBackToTheWindowWhenADialogCloses) {
  openAt({1024, 700}, QStringLiteral("trace"));
  for (const char* what : {"Keys", "Settings", "Words", "Commands", "About Pipescope"}) {
    QAction* action = nullptr;
    for (const auto& entry : window->actions().entries()) {
      if (entry.what == QLatin1String(what)) action = entry.action;
    }
    ASSERT_NE(action, nullptr) << what;
    action->trigger();
    QDialog* shown = nullptr;
    for (QDialog* dialog : window->findChildren<QDialog*>()) shown = dialog->isVisible() ? dialog : shown;
    ASSERT_NE(shown, nullptr) << what;
    QApplication::setActiveWindow(shown);
    shown->reject();
    EXPECT_TRUE(waitFor([&] { return QApplication::activeWindow() == window.get(); })) << what;
  }
}

}  // namespace
}  // namespace pipescope::testing
