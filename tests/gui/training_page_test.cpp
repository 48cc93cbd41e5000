// Tests the page Training and its curves.
#include <qwt_scale_div.h>
#include <qwt_scale_draw.h>
#include <qwt_text.h>
#include <QApplication>
#include <QCheckBox>
#include <QContextMenuEvent>
#include <QMenu>
#include <cmath>

#include "feature_test.h"
#include "views/pages/parts/charts/curve_chart.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/shell/look/picture.h"
#include "views/timeline/host_canvas.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::testing {
namespace {

TEST(Curves, OneSampleIsSeen) {
  shell::Palette palette;
  palette.setTheme(shell::Theme::light);
  auto series = std::make_shared<analysis::CounterSeries>();
  series->samples = 1;
  series->smallest = series->largest = 2;
  analysis::CounterPoint point;
  point.index = 0;
  point.count = 1;
  point.smallest = point.largest = point.last = 2;
  series->points = {point};
  pages::CurveChart chart(palette);
  chart.resize(400, 200);
  chart.setSeries(series, QStringLiteral("sample"));
  const QImage image = chart.grab().toImage();
  int dots = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x)
      dots += image.pixelColor(x, y) == palette.ui(shell::Ui::accent) ? 1 : 0;
  }
  EXPECT_GT(dots, 8);
}

TEST_F(FeatureTest, TrainingShowsTheLastLossOfARunThatWasStopped) {
  openPage(QStringLiteral("training"), {.outcomes = false});
  const double last = child<pages::CurveChart>(QStringLiteral("Loss"))->series()->points.back().last;
  const QAbstractItemModel* outcomes = table(QStringLiteral("Outcomes"))->model();
  EXPECT_EQ(outcomes->index(0, 0).data().toString(), QStringLiteral("Final loss"));
  EXPECT_EQ(outcomes->index(0, 1).data().toString(), QString::number(last, 'g', 6));
}

/// The loss is pinned at first.
TEST_F(FeatureTest, ASeriesIsPinnedAboveTraceAndHost) {
  const auto onHost = [&] {
    showPage(QStringLiteral("host"));
    int count = 0;
    const auto* canvas = child<timeline::HostCanvas>();
    for (const auto& band : canvas->scene().bands()) count += band.pinned ? 1 : 0;
    return count;
  };
  const auto onTrace = [&] {
    showPage(QStringLiteral("trace"));
    return child<timeline::TimelineCanvas>()->scene().layout().pinned;
  };
  const auto turn = [&] {
    showPage(QStringLiteral("training"));
    QWidget* canvas = child<pages::CurveChart>(QStringLiteral("Loss"))->canvas();
    QContextMenuEvent event(QContextMenuEvent::Mouse, QPoint(100, 60), canvas->mapToGlobal(QPoint(100, 60)));
    QApplication::sendEvent(canvas, &event);
    const auto menus = child<pages::CurveChart>(QStringLiteral("Loss"))->findChildren<QMenu*>();
    for (QMenu* menu : menus) {
      for (QAction* each : menu->actions())
        if (each->text() == QStringLiteral("Pin above Trace and Host")) each->trigger();
      menu->close();
    }
  };
  openPage(QStringLiteral("training"));
  EXPECT_EQ(onHost(), 1);
  EXPECT_GT(onTrace(), 0);
  turn();
  EXPECT_EQ(onHost(), 0);
  EXPECT_EQ(onTrace(), 0);
  turn();
  EXPECT_EQ(onHost(), 1);
  EXPECT_GT(onTrace(), 0);
}

/// A double click and the right button both lead there.
TEST_F(FeatureTest, APointOfACurveLeadsToItsCallOnTheTrace) {
  openPage(QStringLiteral("training"));
  const auto catalog = window->session().snapshot()->catalog;
  const auto runs = catalog->runsOf(window->session().executable());
  ASSERT_EQ(runs.size(), 3U);
  const auto placeOf = [&](int point) {
    const auto* chart = child<pages::CurveChart>(QStringLiteral("Loss"));
    return QPoint(static_cast<int>(std::ceil(chart->transform(QwtPlot::xBottom, point))) + 1,
                  chart->canvas()->height() / 2);
  };
  const auto expectCall = [&](std::size_t call) {
    ASSERT_TRUE(settle());
    EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Trace"));
    EXPECT_GE(window->timeRange().start(), runs[call]->start) << call;
    EXPECT_LE(window->timeRange().end(), runs[call]->end) << call;
    window->goBack();
    ASSERT_TRUE(settle());
    EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Training"));
  };
  QTest::mouseDClick(child<pages::CurveChart>(QStringLiteral("Loss"))->canvas(), Qt::LeftButton, {},
                     placeOf(0));
  expectCall(0);
  QWidget* canvas = child<pages::CurveChart>(QStringLiteral("Loss"))->canvas();
  QContextMenuEvent event(QContextMenuEvent::Mouse, placeOf(1), canvas->mapToGlobal(placeOf(1)));
  QApplication::sendEvent(canvas, &event);
  const auto menus = child<pages::CurveChart>(QStringLiteral("Loss"))->findChildren<QMenu*>();
  ASSERT_FALSE(menus.isEmpty());
  QAction* show = nullptr;
  for (const QAction* each : menus.front()->actions())
    if (each->text() == QStringLiteral("Show in")) show = each->menu()->actions().front();
  ASSERT_NE(show, nullptr);
  show->trigger();
  expectCall(1);
}

TEST_F(FeatureTest, TrainingShowsTheLoss) {
  openPage(QStringLiteral("training"));
  auto* chart = child<pages::CurveChart>(QStringLiteral("Loss"));
  ASSERT_NE(chart, nullptr);
  EXPECT_EQ(chart->series()->samples, 3);
  EXPECT_EQ(table(QStringLiteral("Outcomes"))->model()->rowCount(), 2);
  EXPECT_EQ(chart->axisTitle(QwtPlot::xBottom).text(), QStringLiteral("call"));
  // The first of the three calls is call 1.
  EXPECT_EQ(chart->axisScaleDraw(QwtPlot::xBottom)->label(0).text(), QStringLiteral("1"));
  for (const double tick : chart->axisScaleDiv(QwtPlot::xBottom).ticks(QwtScaleDiv::MajorTick))
    EXPECT_EQ(tick, std::round(tick)) << "between two calls there is nothing";
}

TEST_F(FeatureTest, AFractionHasAnAxisOfPercentages) {
  pages::CurveChart chart(*palette);
  auto series = std::make_shared<analysis::CounterSeries>();
  series->counter.unit = "fraction";
  series->samples = 2;
  series->largest = 1;
  series->points.resize(2);
  chart.setSeries(series, QStringLiteral("call"));
  EXPECT_EQ(chart.axisScaleDraw(QwtPlot::yLeft)->label(0.4).text(), QStringLiteral("40 %"));
  auto loss = std::make_shared<analysis::CounterSeries>(*series);
  loss->counter.unit.clear();
  chart.setSeries(loss, QStringLiteral("call"));
  EXPECT_EQ(chart.axisScaleDraw(QwtPlot::yLeft)->label(0.4).text(), QStringLiteral("0.4"));
}

TEST_F(FeatureTest, ValidationIsInTheChartOfTraining) {
  const ProfileFixture recorded;
  model::RowSet rows = *recorded.profile()->everything();
  // The inference's accuracy is recorded after the first and after the third call of the training.
  std::vector<model::Run> training;
  for (const model::Run& run : rows.of<model::Run>())
    if (run.executable == model::ExecutableId(0)) training.push_back(run);
  ASSERT_EQ(training.size(), 3U);
  const auto add = [&](std::int64_t executable, const std::vector<std::pair<std::size_t, double>>& values) {
    const model::CounterId id(static_cast<std::int64_t>(rows.of<model::Counter>().size()));
    rows.of<model::Counter>().push_back({id, model::ExecutableId(executable), {}, "accuracy", "fraction"});
    for (const auto& [call, value] : values)
      rows.of<model::CounterSample>().push_back({id, training[call].end, training[call].id, value});
  };
  add(0, {{0, 0.5}, {1, 0.7}, {2, 0.9}});
  add(1, {{0, 0.4}, {2, 0.8}});
  auto profile = std::make_shared<record::MemoryProfile>();
  ASSERT_TRUE(profile->commit(rows).ok());
  ASSERT_TRUE(profile->finish(model::ProfileState::complete, "").ok());
  open(profile, QStringLiteral("training"));
  const auto* chart = child<pages::CurveChart>(QStringLiteral("Accuracy"));
  ASSERT_NE(chart, nullptr);
  ASSERT_NE(chart->also(), nullptr);
  EXPECT_EQ(chart->alsoName(), QStringLiteral("inference"));
  ASSERT_EQ(chart->also()->points.size(), 2U);
  EXPECT_EQ(chart->also()->points[0].index, 0) << "beside the first call";
  EXPECT_EQ(chart->also()->points[1].index, 2) << "beside the third call";
  EXPECT_EQ(chart->also()->points[1].last, 0.8);
  EXPECT_EQ(child<pages::CurveChart>(QStringLiteral("Loss"))->also(), nullptr) << "only training has one";
  picture("training_validation");
}

TEST_F(FeatureTest, CurvesAreSmoothedAndLogarithmic) {
  openPage(QStringLiteral("training"));
  auto* chart = child<pages::CurveChart>(QStringLiteral("Loss"));
  const auto& points = chart->series()->points;
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(chart->smoothed(), (std::vector<double>{points[0].last, points[1].last, points[2].last}));
  auto* smoothing = child<QComboBox>(QStringLiteral("Smoothing"));
  choose(smoothing, 1);
  // The moving mean with weight 0.6 by hand: (0.4 b + 0.24 a) ÷ 0.64, (0.4 c + 0.24 b + 0.144 a) ÷ 0.784.
  const std::vector<double> means = chart->smoothed();
  EXPECT_NEAR(means[0], points[0].last, 1e-12);
  EXPECT_NEAR(means[1], (0.4 * points[1].last + 0.24 * points[0].last) / 0.64, 1e-12);
  EXPECT_NEAR(means[2], (0.4 * points[2].last + 0.24 * points[1].last + 0.144 * points[0].last) / 0.784,
              1e-12);
  EXPECT_FALSE(chart->isLogarithmic());
  auto* box = child<QCheckBox>();
  ASSERT_EQ(box->text(), QStringLiteral("Logarithmic axis"));
  box->click();
  EXPECT_TRUE(chart->isLogarithmic());
  // Equal ratios have equal heights.
  const auto y = [&](double value) { return chart->canvasMap(QwtPlot::yLeft).transform(value); };
  EXPECT_NEAR(y(0.5) - y(1), y(1) - y(2), 1);
  picture("training_logarithmic");
  box->click();
  EXPECT_FALSE(chart->isLogarithmic());
}

TEST_F(FeatureTest, TrainingDrawsOnlyWhatChanges) {
  const ProfileFixture recorded;
  model::RowSet rows = *recorded.profile()->everything();
  const auto add = [&](const char* name, const std::vector<double>& values) {
    const model::CounterId id(static_cast<std::int64_t>(rows.of<model::Counter>().size()));
    rows.of<model::Counter>().push_back({id, model::ExecutableId(0), {}, name, ""});
    for (std::size_t i = 0; i < values.size(); ++i) {
      const model::Run& run = rows.of<model::Run>()[i * 3 / values.size()];
      rows.of<model::CounterSample>().push_back({id, run.start, run.id, values[i]});
    }
  };
  add("learning_rate", {0.05, 0.05, 0.05});
  add("loss_scale", {2, 4, 4});
  add("iteration_loss", std::vector<double>{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  auto profile = std::make_shared<record::MemoryProfile>();
  ASSERT_TRUE(profile->commit(rows).ok());
  ASSERT_TRUE(profile->finish(model::ProfileState::complete, "").ok());
  open(profile, QStringLiteral("training"));
  EXPECT_EQ(child<pages::CurveChart>(QStringLiteral("Learning rate")), nullptr);
  const auto& outcomes = table(QStringLiteral("Outcomes"))->model()->table().rows;
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_EQ(std::get<std::string>(outcomes[2][0]), "Learning rate");
  EXPECT_EQ(std::get<std::string>(outcomes[2][1]), "0.05");
  const auto axis = [&](const char* name) {
    return child<pages::CurveChart>(QString::fromLatin1(name))->axisTitle(QwtPlot::xBottom).text();
  };
  EXPECT_EQ(axis("Loss scale"), QStringLiteral("call"));
  EXPECT_EQ(axis("Iteration loss"), QStringLiteral("iteration")) << "four of each call";
  // While a run goes on, the values of its last call may not have been written yet.
  for (const bool running : {true, false}) {
    model::RowSet begun = *recorded.profile()->everything();
    std::erase_if(begun.of<model::CounterSample>(),
                  [last = begun.of<model::Run>()[2].id](const auto& row) { return row.run == last; });
    auto unfinished = std::make_shared<record::MemoryProfile>();
    ASSERT_TRUE(unfinished->commit(begun).ok());
    if (!running) {
      ASSERT_TRUE(unfinished->finish(model::ProfileState::incomplete, "it was killed").ok());
    }
    open(unfinished, QStringLiteral("training"));
    EXPECT_EQ(axis("Loss"), running ? QStringLiteral("call") : QStringLiteral("sample"));
  }
}

}  // namespace
}  // namespace pipescope::testing
