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
#include <QScrollBar>
#include <QSplitter>
#include <QTabWidget>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/charts/curve_chart.h"
#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/insight_card.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
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

TEST_F(LayoutTest, WhatCardsMeanIsNotCutInASmallWindow) {
  openAt({1024, 700}, QStringLiteral("summary"));
  for (const char* page : {"summary", "stages", "what-if"}) {
    showPage(QString::fromLatin1(page));
    QCoreApplication::processEvents();
    const QList<pages::FigureCard*> cards = window->currentPage()->findChildren<pages::FigureCard*>();
    EXPECT_FALSE(cards.empty());
    constexpr int kFrame = 30;
    for (const pages::FigureCard* card : cards) {
      const QString shown = card->detailShown(card->width() - kFrame);
      EXPECT_FALSE(shown.endsWith(QStringLiteral("…"))) << page << ": " << shown.toStdString();
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
      EXPECT_LE(
          shell::Sidebar::kTextLeft + QFontMetrics(button->font()).horizontalAdvance(button->text()) + 2,
          button->width())
          << button->text().toStdString() << " is cut";
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

TEST_F(LayoutTest, NamesOfEqualCurvesStandBesideEachOtherOnTheCanvas) {
  const auto seriesFrom = [](double first) {
    auto series = std::make_shared<analysis::CounterSeries>();
    for (const double value : {first, 0.5}) {
      analysis::CounterPoint point;
      point.index = static_cast<std::int64_t>(series->points.size());
      point.count = 1;
      point.smallest = point.largest = point.last = value;
      series->points.push_back(point);
    }
    series->samples = 2;
    series->largest = std::max(first, 0.5);
    return series;
  };
  pages::CurveChart source(*palette), target(*palette);
  for (const double first : {2.0, 0.1, 1.95}) {
    source.setSeries(seriesFrom(first), QStringLiteral("call"));
    target.setSeries(seriesFrom(2.0), QStringLiteral("call"));
    target.showBeside(&source, {1, false});
    target.resize(600, 220);
    target.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&target));
    const std::vector<QRectF> names = target.nameBoxes();
    ASSERT_EQ(names.size(), 2U);
    EXPECT_FALSE(names[0].intersects(names[1])) << first;
    for (const QRectF& name : names)
      EXPECT_TRUE(QRectF(target.canvas()->contentsRect()).contains(name)) << first;
  }
  target.showBeside(nullptr, {1, false});
  EXPECT_TRUE(target.nameBoxes().empty());
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
  for (const char* page : {"engines", "stages", "waits", "system", "training"}) {
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

TEST_F(LayoutTest, AColumnInWhichNothingIsShownTakesNoWidth) {
  pages::ColumnsArea area;
  auto *left = new QLabel(QStringLiteral("left")), *right = new QLabel(QStringLiteral("right"));
  area.left()->addWidget(left);
  area.right()->addWidget(right);
  area.resize(1600, 600);
  area.show();
  const auto width = [&] {
    QCoreApplication::processEvents();
    return left->width();
  };
  EXPECT_LT(width(), 800);
  right->hide();
  EXPECT_GT(width(), 1500);
  right->show();
  EXPECT_LT(width(), 800);
}

TEST_F(LayoutTest, ColumnsBelowEachOtherAreAsTallAsWhatTheyHold) {
  pages::ColumnsArea area;
  area.setStretch(11, 9);
  auto *low = new QWidget, *tall = new QWidget;
  low->setMinimumHeight(100);
  tall->setMinimumHeight(200);
  area.left()->addWidget(low, 1);
  area.right()->addWidget(tall, 1);
  tall->setLayout(new QVBoxLayout);
  tall->layout()->addWidget(new QLabel(QString(40, QLatin1Char('\n'))));  // prefers more than it needs
  area.show();
  for (const int width : {1600, 1000}) {
    area.resize(width, 500);
    QCoreApplication::processEvents();
    EXPECT_EQ(low->y() == tall->y(), width == 1600) << width;
  }
  EXPECT_LE(low->height(), 100) << "the upper column takes nothing of the lower one's height";
}

TEST_F(LayoutTest, GrownTablesHaveTheirHeightAsSoonAsTheOtherColumnShrinks) {
  pages::ColumnsArea area;
  pages::DataTable* table = pages::addTablePanel(*palette, *area.left(), 18, &area);
  sections::SectionTable rows{"rows", "Rows", "", {{"name", "Name", sections::Format::plain, ""}}, {}};
  for (int i = 0; i < 18; ++i) rows.rows.push_back({std::to_string(i)});
  table->setTable(rows);
  auto *tall = new QWidget, *taller = new QWidget, *below = new QWidget;
  for (QWidget* one : {tall, taller}) area.right()->addWidget(one);
  tall->setFixedHeight(600);
  taller->setFixedHeight(150);
  below->setFixedHeight(3000);  // the page is longer than the window
  area.bottom()->addWidget(below);
  area.resize(3840, 2160);
  area.show();
  const auto settleAll = [] {
    for (int i = 0; i < 20; ++i) QCoreApplication::processEvents();
  };
  settleAll();
  const int row = table->view()->rowHeight(0);
  // The left column grows to the height of the right one, and must not keep it.
  taller->hide();
  QCoreApplication::sendPostedEvents(area.widget(), QEvent::LayoutRequest);
  const int shrunk = table->view()->rowHeight(0), height = table->height();
  EXPECT_LT(shrunk, row);
  EXPECT_LT(height - (table->view()->y() + table->view()->height()), 18) << "no room above or below the rows";
  settleAll();
  EXPECT_EQ(table->view()->rowHeight(0), shrunk);
  EXPECT_EQ(table->height(), height);
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
