// Tests the pipeline, system and training pages, commands, search, settings, links, saved pictures and tables
// saved as CSV.
#include <qwt_scale_div.h>
#include <qwt_scale_draw.h>
#include <qwt_text.h>
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QBuffer>
#include <QCheckBox>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFile>
#include <QFileDialog>
#include <QImageReader>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollBar>
#include <QSpinBox>

#include <QTabWidget>
#include <QTableView>
#include <QTemporaryDir>
#include <QTimer>
#include <QToolButton>
#include <cmath>
#include <map>
#include <optional>

#include "profiler/sections/frame/section.h"
#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/charts/curve_chart.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/shell/dialogs/command_palette.h"
#include "views/shell/dialogs/find_bar.h"
#include "views/shell/dialogs/saved_notice.h"
#include "views/shell/dialogs/settings_dialog.h"
#include "views/shell/look/glossary.h"
#include "views/shell/look/picture.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/legend.h"
#include "views/timeline/pipeline_canvas.h"
#include "views/timeline/tile_map.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::DataTable;
using timeline::PipelineCanvas;
using timeline::TimelineCanvas;

class FeatureTest : public WindowTest {
 protected:
  void openPage(const QString& page, const FixtureOptions& options = {}) {
    shell::WindowSettings().setValue(QStringLiteral("pipeline/as_grid"), 0);
    shell::WindowSettings().setValue(QStringLiteral("pipeline/colours"), 0);
    shell::WindowSettings().setValue(QStringLiteral("pipeline/critical"), false);
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), page);
  }
  DataTable* table(const QString& title) const {
    for (DataTable* found : window->currentPage()->findChildren<DataTable*>()) {
      if (found->title().startsWith(title)) return found;
    }
    return nullptr;
  }
  QString fact(const QString& label) const { return child<pages::FactGrid>()->value(label); }
  /// The picture as a file of this name would hold it.
  QByteArray drawnAs(const shell::Picture& shown, bool whole, const QString& caption,
                     const char* name) const {
    const auto format = shell::pictureFormatOf(QLatin1String(name), true);
    if (!format.ok()) return {};
    const auto bytes = shell::pictureOf(shown, whole, caption, *format, *palette);
    return bytes.ok() ? *bytes : QByteArray();
  }
  QAction* action(const QString& what) const {
    for (const auto& entry : window->actions().entries()) {
      if (entry.what == what) return entry.action;
    }
    return nullptr;
  }

  std::unique_ptr<ProfileFixture> fixture;
};

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

TEST_F(FeatureTest, PipelineLightsWhatIsClicked) {
  openPage(QStringLiteral("pipeline"));
  auto* canvas = child<PipelineCanvas>();
  ASSERT_EQ(canvas->scene().grid()->cells.size(), 80U) << "four stages, ten micro-batches, two ways";
  EXPECT_EQ(fact(QStringLiteral("Micro-batches")), QStringLiteral("10"));
  EXPECT_EQ(fact(QStringLiteral("All stages work")), QStringLiteral("from pipeline cycle 6"));
  QTest::mouseClick(canvas->viewport(), Qt::LeftButton, {}, canvas->cellRect(0).center());
  EXPECT_EQ(canvas->selected(), 0);
  EXPECT_EQ(canvas->options().path, 0);
  EXPECT_EQ(child<QSpinBox>(QStringLiteral("Highlighted micro-batch"))->value(), 0);
  EXPECT_EQ(table(QStringLiteral("Path of micro-batch 0"))->model()->rowCount(), 8);
  EXPECT_EQ(window->selection().current().microBatch, 0);
  QTest::keyClick(canvas, Qt::Key_Down);
  const auto& cells = canvas->scene().grid()->cells;
  EXPECT_EQ(cells[static_cast<std::size_t>(canvas->selected())].stage, 1) << "along the micro-batch";
  QTest::keyClick(canvas, Qt::Key_Escape);
  EXPECT_EQ(canvas->options().path, -1);
  picture("pipeline");
}

TEST_F(FeatureTest, PipelineIsATableOfEqualCells) {
  openPage(QStringLiteral("pipeline"));
  auto* canvas = child<PipelineCanvas>();
  choose(child<QComboBox>(QStringLiteral("View")), 1);
  ASSERT_TRUE(canvas->options().grid);
  for (const int cell : {0, 7, 30})
    EXPECT_NEAR(canvas->cellRect(cell).width(), canvas->cellRect(0).width(), 1);
  picture("pipeline_grid");
}

TEST_F(FeatureTest, PipelineGoesFromStepToStep) {
  openPage(QStringLiteral("pipeline"));
  auto* canvas = child<PipelineCanvas>();
  const auto says = [&](const QString& text) {
    const auto labels = window->currentPage()->findChildren<QLabel*>();
    return std::any_of(labels.begin(), labels.end(),
                       [&](const QLabel* label) { return label->text() == text; });
  };
  EXPECT_TRUE(says(QStringLiteral("Iteration 0 of 0–3")));
  auto *next = child<QToolButton>(QStringLiteral("Next iteration (])")),
       *previous = child<QToolButton>(QStringLiteral("Previous iteration ([)"));
  EXPECT_FALSE(previous->isEnabled());
  const base::Ticks first = canvas->scene().grid()->start;
  for (int i = 0; i < 3; ++i) {
    next->click();
    ASSERT_TRUE(settle());
  }
  EXPECT_TRUE(says(QStringLiteral("Iteration 3 of 0–3")));
  EXPECT_GT(canvas->scene().grid()->start, first);
  EXPECT_FALSE(next->isEnabled());
  // Keys may come faster than steps are read. They must not go past the last step.
  previous->click();
  ASSERT_TRUE(settle());
  for (int i = 0; i < 3; ++i) QTest::keyClick(window.get(), Qt::Key_BracketRight);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(says(QStringLiteral("Iteration 3 of 0–3")));
  EXPECT_FALSE(canvas->scene().grid()->cells.empty());
  EXPECT_TRUE(window->currentPage()->notice().isEmpty());
  previous->click();
  ASSERT_TRUE(settle());
  EXPECT_TRUE(says(QStringLiteral("Iteration 2 of 0–3")));
  auto* calls = child<QComboBox>(QStringLiteral("Call"));
  EXPECT_EQ(calls->count(), 3) << "one call at a time";
  choose(calls, 0);
  ASSERT_TRUE(settle());
  EXPECT_EQ(canvas->scene().grid()->run, model::RunId(0));
}

TEST_F(FeatureTest, PipelineSaysWhyThereIsNothing) {
  FixtureOptions options;
  options.runs = 0;
  openPage(QStringLiteral("pipeline"), options);
  EXPECT_TRUE(
      window->currentPage()->notice().startsWith(QStringLiteral("Nothing of this executable has run")));
}

TEST_F(FeatureTest, SelectingOnOnePageLightsItOnOthers) {
  openPage(QStringLiteral("pipeline"));
  auto* canvas = child<PipelineCanvas>();
  canvas->select(12);
  const auto cell = canvas->scene().grid()->cells[12];
  showPage(QStringLiteral("trace"));
  auto* trace = child<TimelineCanvas>();
  ASSERT_TRUE(static_cast<bool>(trace->selected()));
  EXPECT_EQ(trace->selected().start, cell.start);
  showPage(QStringLiteral("system"));
  EXPECT_EQ(table(QStringLiteral("Devices"))->view()->selectionModel()->selectedRows().size(), 1);
}

TEST_F(FeatureTest, SystemShowsLinksAndSpaces) {
  openPage(QStringLiteral("system"));
  const DataTable* links = table(QStringLiteral("Links"));
  ASSERT_EQ(links->model()->rowCount(), 8)
      << "six between devices, two to and from the host for stream copies";
  EXPECT_EQ(links->model()->index(0, 0).data().toString(), QStringLiteral("IPU0"));
  EXPECT_EQ(child<timeline::BarChart>(QStringLiteral("Most used links"))->bars().size(), 8U);
  EXPECT_EQ(table(QStringLiteral("Memory spaces"))->model()->rowCount(), 4);
  QAbstractItemModelTester tester(links->model());
}

TEST_F(FeatureTest, TrainingShowsTheLastLossOfARunThatWasStopped) {
  openPage(QStringLiteral("training"), {.outcomes = false});
  const double last = child<pages::CurveChart>(QStringLiteral("Loss"))->series()->points.back().last;
  const QAbstractItemModel* outcomes = table(QStringLiteral("Outcomes"))->model();
  EXPECT_EQ(outcomes->index(0, 0).data().toString(), QStringLiteral("Final loss"));
  EXPECT_EQ(outcomes->index(0, 1).data().toString(), QString::number(last, 'g', 6));
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
}

TEST_F(FeatureTest, CommandsAreFoundByTyping) {
  openPage(QStringLiteral("summary"));
  action(QStringLiteral("Commands"))->trigger();
  auto* commands = window->findChild<shell::CommandPalette*>();
  ASSERT_NE(commands, nullptr);
  QTest::keyClicks(commands->box(), QStringLiteral("live"));
  ASSERT_GT(commands->list()->count(), 0);
  while (!commands->list()->currentItem()->text().startsWith(QStringLiteral("Liveness")))
    QTest::keyClick(commands->box(), Qt::Key_Down);
  QTest::keyClick(commands->box(), Qt::Key_Return);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Liveness"));
}

/// The name of a page leads to the page, although a command with a dialog begins with it, too.
TEST_F(FeatureTest, ExactNamesComeFirstAmongTheCommands) {
  openPage(QStringLiteral("summary"));
  action(QStringLiteral("Commands"))->trigger();
  auto* commands = window->findChild<shell::CommandPalette*>();
  ASSERT_NE(commands, nullptr);
  QTest::keyClicks(commands->box(), QStringLiteral("compare"));
  ASSERT_GT(commands->list()->count(), 1);
  EXPECT_TRUE(commands->list()->item(0)->text().startsWith(QStringLiteral("Compare   —   Go to")))
      << commands->list()->item(0)->text().toStdString();
  QTest::keyClick(commands->box(), Qt::Key_Return);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Compare"));
}

TEST_F(FeatureTest, PicturesShowTheVisiblePartOrTheWholeChart) {
  openPage(QStringLiteral("trace"));
  window->resize(1200, 520);
  ASSERT_TRUE(settle());
  auto* canvas = child<TimelineCanvas>();
  ASSERT_GT(canvas->verticalScrollBar()->maximum(), 50) << "not all rows are visible";
  const geometry::TimeView view = window->timeRange().view();
  const QSize size = canvas->size();
  const shell::Picture shown = window->currentPage()->picture();
  const auto drawing = [&](bool whole) { return drawnAs(shown, whole, QStringLiteral("caption"), "x.svg"); };
  const QByteArray visible = drawing(false), all = drawing(true);
  EXPECT_TRUE(visible.contains("IPU0"));
  EXPECT_FALSE(visible.contains("IPU3"));
  for (const char* device : {"IPU0", "IPU1", "IPU2", "IPU3"}) EXPECT_TRUE(all.contains(device)) << device;
  EXPECT_TRUE(all.contains("iteration 3")) << "the whole time";
  const auto titleOf = [](const QByteArray& svg) {
    const auto from = svg.indexOf("<title>") + 7;
    return QString::fromUtf8(svg.mid(from, svg.indexOf("</title>") - from));
  };
  EXPECT_EQ(titleOf(visible), QStringLiteral("Trace, Call 3 (last), Iteration 0 of 0–3"));
  EXPECT_EQ(titleOf(all), QStringLiteral("Trace, Call 3 (last)"));
  for (const QByteArray& one : {visible, all}) EXPECT_TRUE(one.contains("slower stage")) << "the legend";
  EXPECT_EQ(window->timeRange().view(), view) << "the window is as before";
  EXPECT_EQ(canvas->size(), size);
  EXPECT_EQ(canvas->verticalScrollBarPolicy(), Qt::ScrollBarAsNeeded);
  showPage(QStringLiteral("pipeline"));
  const QImage pipeline = QImage::fromData(
      drawnAs(window->currentPage()->picture(), true, QStringLiteral("caption"), "x.png"), "PNG");
  EXPECT_FALSE(pipeline.isNull());
  EXPECT_EQ(pipeline.text(QStringLiteral("Title")),
            QStringLiteral("Pipeline, Call 3 (last), Iteration 0 of 0–3"));
  showPage(QStringLiteral("memory"));
  auto* chart = child<pages::Chart>();
  chart->setRange(10, 100);
  drawnAs(window->currentPage()->picture(), true, QStringLiteral("caption"), "x.png");
  EXPECT_EQ(chart->range(), std::pair(10.0, 100.0));
}

/// With times in seconds, cycles stand only in brackets behind a time, on cards.
TEST_F(FeatureTest, SecondsHoldOnAllPages) {
  openPage(QStringLiteral("summary"));
  window->setTimeUnit(true);
  ASSERT_TRUE(settle());
  const QRegularExpression inBrackets(QStringLiteral("\\([0-9,]+ cycles?\\)"));
  for (const QString& page : window->pageIds()) {
    showPage(page);
    QStringList texts;
    for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) texts << label->text();
    for (const pages::FigureCard* card : window->currentPage()->findChildren<pages::FigureCard*>())
      texts << card->value() << card->detailShown(10'000);
    for (const pages::DataTable* table : window->currentPage()->findChildren<pages::DataTable*>()) {
      texts << table->title();
      for (int c = 0; c < table->model()->columnCount(); ++c)
        texts << table->model()->headerData(c, Qt::Horizontal, Qt::DisplayRole).toString();
    }
    picture(("seconds_" + page.toStdString()).c_str());
    for (QString text : texts) {
      text.replace(QChar::Nbsp, QLatin1Char(' ')).remove(inBrackets);
      EXPECT_FALSE(text.contains(QStringLiteral("cycles"), Qt::CaseInsensitive))
          << page.toStdString() << ": " << text.toStdString();
    }
  }
  window->setTimeUnit(false);
}

/// The ticks that a text of a table shows; nothing if it has no unit of time and `unit`, the head's, is
/// empty.
std::optional<double> ticksIn(const QString& shown, const QString& head, double ticksPerSecond) {
  static const QRegularExpression kFigure(
      QStringLiteral("^([<−-]?\\s*)([0-9.,]+)\\s?([kMGT]?)\\s?(ns|µs|ms|s|cycles)?$"));
  static const QRegularExpression kUnit(QStringLiteral("(?:^|[ (])(ns|µs|ms|s|cycles)(?:$|[ ,;):])"));
  const auto found = kFigure.match(shown);
  if (!found.hasMatch()) return std::nullopt;
  QString unit = found.captured(4);
  if (unit.isEmpty()) unit = kUnit.match(head).captured(1);
  const std::map<QString, double> seconds = {{QStringLiteral("ns"), 1e-9},
                                             {QStringLiteral("µs"), 1e-6},
                                             {QStringLiteral("ms"), 1e-3},
                                             {QStringLiteral("s"), 1},
                                             {QStringLiteral("cycles"), 1 / ticksPerSecond}};
  const std::map<QString, double> factors = {
      {QString(), 1}, {QStringLiteral("k"), 1e3}, {QStringLiteral("M"), 1e6}, {QStringLiteral("G"), 1e9}};
  if (!seconds.contains(unit)) return std::nullopt;
  const double value = found.captured(2).remove(QLatin1Char(',')).toDouble();
  return value * factors.at(found.captured(3)) * seconds.at(unit) * ticksPerSecond;
}

/// Each time in a table of each page is what the profile holds, in the unit that it or its head says.
TEST_F(FeatureTest, TimesInTablesHaveTheUnitThatTheirHeadSays) {
  constexpr double kTicksPerSecond = 1.33e9;
  openPage(QStringLiteral("summary"));
  for (const bool inSeconds : {false, true}) {
    window->setTimeUnit(inSeconds);
    ASSERT_TRUE(settle());
    int checked = 0;
    for (const QString& page : window->pageIds()) {
      showPage(page);
      for (const pages::DataTable* table : window->currentPage()->findChildren<pages::DataTable*>()) {
        const auto& shown = table->model()->table();
        const QString head = QString::fromStdString(shown.basis);
        for (std::size_t c = 0; c < shown.columns.size(); ++c) {
          for (std::size_t r = 0; r < shown.rows.size() && r < 6; ++r) {
            if (shown.columns[c].format != sections::Format::ticks) continue;
            const auto* whole = std::get_if<std::int64_t>(&shown.rows[r][c]);
            const auto* mean = std::get_if<double>(&shown.rows[r][c]);
            const double ticks = whole != nullptr ? static_cast<double>(*whole) : mean != nullptr ? *mean : 0;
            if (ticks == 0) continue;
            const QString cell =
                table->model()->index(static_cast<int>(r), static_cast<int>(c)).data().toString();
            const QString unit = inSeconds ? head : head + QStringLiteral(" cycles");
            const auto read = ticksIn(cell, unit, kTicksPerSecond);
            const std::string where = page.toStdString() + ", " + shown.title + ", " +
                                      shown.columns[c].heading + ": " + cell.toStdString() + " of " +
                                      std::to_string(ticks) + "; " + shown.basis;
            EXPECT_TRUE(read) << where;
            if (read) {
              EXPECT_NEAR(*read, std::fabs(ticks), std::max(0.6, 0.01 * std::fabs(ticks))) << where;
            }
            ++checked;
          }
        }
      }
    }
    EXPECT_GT(checked, 100);
  }
  window->setTimeUnit(false);
}

TEST_F(FeatureTest, BackAndForwardReturnToPlaces) {
  openPage(QStringLiteral("trace"));
  const auto page = [&] { return window->currentPage()->accessibleName(); };
  auto* canvas = child<TimelineCanvas>();
  canvas->select(canvas->scene().passItem({1, 0, 12}));
  const geometry::TimeView view = window->timeRange().view();
  const shell::Selected selected = window->selection().current();
  EXPECT_FALSE(action(QStringLiteral("Back"))->isEnabled()) << "the profile has just been opened";
  showPage(QStringLiteral("stages"));
  window->go({QStringLiteral("waits")});
  ASSERT_TRUE(settle());
  window->selection().clear();
  EXPECT_FALSE(action(QStringLiteral("Forward"))->isEnabled());
  action(QStringLiteral("Back"))->trigger();
  EXPECT_EQ(page(), QStringLiteral("Stages"));
  action(QStringLiteral("Back"))->trigger();
  ASSERT_TRUE(settle());
  EXPECT_EQ(page(), QStringLiteral("Trace"));
  EXPECT_EQ(window->timeRange().view(), view);
  EXPECT_EQ(window->selection().current(), selected);
  EXPECT_FALSE(action(QStringLiteral("Back"))->isEnabled());
  action(QStringLiteral("Forward"))->trigger();
  EXPECT_EQ(page(), QStringLiteral("Stages"));
  action(QStringLiteral("Forward"))->trigger();
  EXPECT_EQ(page(), QStringLiteral("Waits"));
  // A new way forgets what lay ahead.
  action(QStringLiteral("Back"))->trigger();
  showPage(QStringLiteral("memory"));
  EXPECT_FALSE(action(QStringLiteral("Forward"))->isEnabled());
}

/// The time of the trace belongs to no place that was left before the trace was shown.
TEST_F(FeatureTest, BackToAPageFromBeforeTheTraceLeavesTheTimeOfTheTrace) {
  openPage(QStringLiteral("summary"));
  showPage(QStringLiteral("trace"));
  ASSERT_TRUE(settle());
  const geometry::TimeView view = window->timeRange().view();
  ASSERT_GT(view.span(), 100);
  window->goBack();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Summary"));
  EXPECT_EQ(window->timeRange().view(), view);
  showPage(QStringLiteral("trace"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->timeRange().view(), view);
}

/// The right button on a row copies its name and shows it on another page, from where Back returns.
TEST_F(FeatureTest, RowsAreShownOnOtherPages) {
  openPage(QStringLiteral("stages"));
  pages::DataTable* stages = nullptr;
  for (pages::DataTable* table : window->currentPage()->findChildren<pages::DataTable*>())
    if (table->model()->table().key == "stages") stages = table;
  ASSERT_NE(stages, nullptr);
  const auto run = [](QMenu& menu, const QString& text) {
    for (QAction* action : menu.actions()) {
      if (action->text() != text) continue;
      action->trigger();
      return true;
    }
    return false;
  };
  const auto showIn = [](QMenu& menu) -> QMenu* {
    for (QAction* action : menu.actions())
      if (action->text() == QStringLiteral("Show in")) return action->menu();
    return nullptr;
  };
  const std::unique_ptr<QMenu> ofStage(stages->makeRowMenu(2));
  ASSERT_NE(showIn(*ofStage), nullptr);
  EXPECT_TRUE(run(*showIn(*ofStage), QStringLiteral("Waits")));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Waits"));
  window->goBack();
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Stages"));
  // The search helps where the page has nothing of that name. A device has a name, too.
  sections::SectionTable rows{"rows", "Rows", "", {{"device", "Device"}, {"variable", "Variable"}}, {}};
  rows.rows = {{std::string("IPU1"), std::string("nowhere")}, {std::string("IPU1"), sections::Cell()}};
  stages->setTable(rows);
  const std::unique_ptr<QMenu> named(stages->makeRowMenu(0)), device(stages->makeRowMenu(1));
  EXPECT_TRUE(run(*named, QStringLiteral("Copy name")));
  EXPECT_EQ(QApplication::clipboard()->text(), QStringLiteral("nowhere"));
  EXPECT_TRUE(run(*device, QStringLiteral("Copy name")));
  EXPECT_EQ(QApplication::clipboard()->text(), QStringLiteral("IPU1"));
  EXPECT_TRUE(run(*showIn(*named), QStringLiteral("Operations")));
  ASSERT_TRUE(waitFor([&] { return window->findBar()->isVisible(); }));
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Operations"));
  EXPECT_FALSE(window->findBar()->answer().isEmpty());
  const std::unique_ptr<QMenu> none(stages->makeRowMenu(-1));
  EXPECT_EQ(showIn(*none), nullptr);
}

TEST_F(FeatureTest, SettingsHoldAtOnce) {
  openPage(QStringLiteral("memory"));
  action(QStringLiteral("Settings"))->trigger();
  auto* dialog = window->findChild<shell::SettingsDialog*>();
  ASSERT_NE(dialog, nullptr);
  for (QComboBox* box : dialog->findChildren<QComboBox*>()) {
    if (box->accessibleName() == QStringLiteral("Memory")) choose(box, 2);
  }
  ASSERT_TRUE(settle());
  EXPECT_EQ(sections::formatCell(sections::Cell(std::int64_t{2048}), sections::Format::bytes), "2,048 B");
  for (QComboBox* box : dialog->findChildren<QComboBox*>()) {
    if (box->accessibleName() == QStringLiteral("Memory")) choose(box, 0);
  }
  EXPECT_EQ(sections::formatCell(sections::Cell(std::int64_t{2048}), sections::Format::bytes), "2.00 KiB");
  const QColor before = palette->colour(geometry::ColourRole::backward);
  for (QCheckBox* box : dialog->findChildren<QCheckBox*>()) {
    if (box->text().startsWith(QStringLiteral("Colours and patterns"))) {
      box->setChecked(true);
      EXPECT_NE(palette->colour(geometry::ColourRole::backward), before);
      box->setChecked(false);
    }
  }
  EXPECT_EQ(palette->colour(geometry::ColourRole::backward), before);
}

TEST_F(FeatureTest, SettingsGoBackToTheirDefaults) {
  openPage(QStringLiteral("memory"));
  action(QStringLiteral("Settings"))->trigger();
  auto* dialog = window->findChild<shell::SettingsDialog*>();
  ASSERT_NE(dialog, nullptr);
  for (QComboBox* box : dialog->findChildren<QComboBox*>()) choose(box, box->count() - 1);
  for (QCheckBox* box : dialog->findChildren<QCheckBox*>()) box->setChecked(true);
  ASSERT_TRUE(settle());
  EXPECT_EQ(sections::formatCell(sections::Cell(std::int64_t{2048}), sections::Format::bytes), "2,048 B");
  QPushButton* defaults = nullptr;
  for (QPushButton* button : dialog->findChildren<QPushButton*>())
    if (button->text().remove(QLatin1Char('&')).contains(QStringLiteral("Defaults"))) defaults = button;
  ASSERT_NE(defaults, nullptr);
  defaults->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(sections::formatCell(sections::Cell(std::int64_t{2048}), sections::Format::bytes), "2.00 KiB");
  for (const QComboBox* box : dialog->findChildren<QComboBox*>()) EXPECT_EQ(box->currentIndex(), 0);
  for (const QCheckBox* box : dialog->findChildren<QCheckBox*>()) EXPECT_FALSE(box->isChecked());
  EXPECT_FALSE(shell::WindowSettings().value(QStringLiteral("safe_colours")).toBool());
}

TEST_F(FeatureTest, TablesBecomeCsv) {
  openPage(QStringLiteral("system"));
  DataTable* links = table(QStringLiteral("Links"));
  const QString csv = links->csv();
  EXPECT_TRUE(csv.startsWith(QStringLiteral("From,To,Link,"))) << csv.toStdString();
  EXPECT_EQ(csv.count(QLatin1Char('\n')), 9);
  std::unique_ptr<QMenu> menu(links->makeMenu());
  for (QAction* entry : menu->actions()) {
    if (entry->text() == QStringLiteral("From")) entry->setChecked(false);
  }
  EXPECT_TRUE(links->csv().startsWith(QStringLiteral("To,Link,")));
  EXPECT_TRUE(csv.contains(QStringLiteral(" (B)"))) << csv.toStdString();
  links->filter()->setText(QStringLiteral("IPU3"));
  EXPECT_EQ(links->csv().count(QLatin1Char('\n')), 4);
  // Numbers have the digits that reports give them.
  DataTable own(*palette, nullptr);
  own.setTable(
      {"t",
       "T",
       "",
       {{"cycles", "Cycles", sections::Format::ticks}, {"share", "Share", sections::Format::fraction}},
       {{12337.00000000002, 1.0 / 3}, {std::int64_t{9'007'199'254'740'993}, 0.5}}});
  EXPECT_EQ(own.csv().toStdString(),
            "Cycles (ticks),Share (0 … 1)\n12337,0.333333333333\n9007199254740993,0.5\n");
}

TEST_F(FeatureTest, PicturesSayWhatTheyAreOf) {
  openPage(QStringLiteral("trace"));
  const QString caption = shell::provenance(window->session());
  EXPECT_TRUE(caption.startsWith(QStringLiteral("Emulated · device model"))) << caption.toStdString();
  const shell::Picture shown = window->currentPage()->picture();
  const QByteArray svg = drawnAs(shown, false, caption, "x.svg");
  EXPECT_TRUE(svg.contains("<svg"));
  EXPECT_TRUE(svg.contains(caption.toUtf8()));
  EXPECT_FALSE(svg.contains("<image")) << "drawn as vectors";
  EXPECT_TRUE(svg.contains("Trace, Call 3 (last), Iteration 0 of 0")) << "the title";
  const QByteArray png = drawnAs(shown, false, caption, "x.png");
  const QImage image = QImage::fromData(png, "PNG");
  EXPECT_EQ(image.width(), 2 * shown.widget->width());
  EXPECT_EQ(image.text(QStringLiteral("Description")), caption);
  EXPECT_FALSE(shell::writeFile(QStringLiteral("/nowhere/picture.png"), png, base::FileKind::png).ok());
}

TEST_F(FeatureTest, APictureHasTheFormatThatItsNameAsksFor) {
  openPage(QStringLiteral("trace"));
  const shell::Picture shown = window->currentPage()->picture();
  for (const auto& [name, format] : {std::pair("a.png", "png"), std::pair("a.jpg", "jpeg"),
                                     std::pair("a b.JPEG", "jpeg"), std::pair("a.png.bmp", "bmp")}) {
    QByteArray bytes = drawnAs(shown, false, QStringLiteral("caption"), name);
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::ReadOnly);
    EXPECT_EQ(QImageReader::imageFormat(&buffer), QByteArray(format)) << name;
    EXPECT_EQ(QImage::fromData(bytes).width(), 2 * shown.widget->width()) << name;
  }
  EXPECT_TRUE(drawnAs(shown, false, QStringLiteral("caption"), "a.Svg").contains("<svg"));
  for (const char* name : {"a.gif", "png", "a.png.", ".svg/a"}) {
    const auto refused = shell::pictureFormatOf(QLatin1String(name), true);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().message, std::string(name) +
                                           " does not end like a picture that can be written: choose a name "
                                           "that ends in .png, .jpg, .jpeg, .bmp or .svg.");
  }
}

TEST_F(FeatureTest, PicturesAndTablesReplaceOnlyFilesOfTheirKind) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("saved"));
  const auto content = [&] {
    QFile file(path);
    file.open(QIODevice::ReadOnly);
    return file.readAll();
  };
  const QByteArray table = "Stage,Share\n0,0.5\n", drawing = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
  ASSERT_TRUE(shell::writeFile(path, table, base::FileKind::csv).ok());
  const base::Status refused = shell::writeFile(path, drawing, base::FileKind::svg);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, path.toStdString() +
                                         " exists and is not an SVG drawing; it is left "
                                         "untouched. Choose another name.");
  EXPECT_EQ(content(), table);
  EXPECT_TRUE(shell::writeFile(path, "A,B\n1,2\n", base::FileKind::csv).ok());
  EXPECT_EQ(content(), "A,B\n1,2\n");
}

/// Clicks in real dialogs. A refusal is a message, which this closes and keeps.
TEST_F(FeatureTest, DialogsSaveTablesAndPicturesAndLeaveOtherFilesAlone) {
  openPage(QStringLiteral("system"));
  const QTemporaryDir folder;
  QStringList refusals;
  QTimer closer;
  QObject::connect(&closer, &QTimer::timeout, [&] {
    auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
    if (box == nullptr) return;
    refusals << box->text();
    box->accept();
  });
  closer.start(10);
  const auto saveAs = [&](const QString& name) {
    auto* dialog = window->findChild<QFileDialog*>();
    ASSERT_NE(dialog, nullptr);
    dialog->setOption(QFileDialog::DontConfirmOverwrite);
    dialog->setDirectory(folder.path());
    dialog->selectFile(name);
    ASSERT_TRUE(QMetaObject::invokeMethod(dialog, "accept"));
    const auto closed = [&] { return window->findChild<QFileDialog*>() == nullptr; };
    ASSERT_TRUE(waitFor(closed)) << name.toStdString();
  };
  const auto saveTable = [&](const QString& name) {
    std::unique_ptr<QMenu> menu(table(QStringLiteral("Links"))->makeMenu());
    for (QAction* entry : menu->actions()) {
      if (entry->text() == QStringLiteral("Save as CSV…")) entry->trigger();
    }
    saveAs(name);
  };
  const auto content = [&](const QString& name) {
    QFile file(folder.filePath(name));
    file.open(QIODevice::ReadOnly);
    return file.readAll();
  };
  const auto saved = [&](const QString& name) {
    return waitFor([&] { return window->savedNotice()->text().contains(name); });
  };
  saveTable(QStringLiteral("links.csv"));
  EXPECT_TRUE(saved(QStringLiteral("links.csv")));
  EXPECT_EQ(content(QStringLiteral("links.csv")), table(QStringLiteral("Links"))->csv().toUtf8());

  ASSERT_TRUE(
      shell::writeFile(folder.filePath(QStringLiteral("notes.txt")), "<svg/>", base::FileKind::svg).ok());
  saveTable(QStringLiteral("notes.txt"));
  ASSERT_TRUE(waitFor([&] { return refusals.size() == 1; }));
  EXPECT_TRUE(
      refusals[0].contains(QStringLiteral("is not a table of comma-separated values; it is left untouched")));
  EXPECT_EQ(content(QStringLiteral("notes.txt")), "<svg/>");

  window->saveCurrentPicture(false);
  saveAs(QStringLiteral("system.png"));
  EXPECT_TRUE(saved(QStringLiteral("system.png")));
  EXPECT_TRUE(content(QStringLiteral("system.png")).startsWith("\x89PNG"));
  window->saveCurrentPicture(false);
  saveAs(QStringLiteral("links.csv"));
  ASSERT_TRUE(waitFor([&] { return refusals.size() == 2; }));
  EXPECT_TRUE(refusals[1].contains(QStringLiteral("links.csv does not end like a picture")));
  EXPECT_TRUE(content(QStringLiteral("links.csv")).startsWith("From,To"));

  saveTable(QStringLiteral("links.jpg"));
  EXPECT_TRUE(saved(QStringLiteral("links.jpg")));
  window->saveCurrentPicture(false);
  saveAs(QStringLiteral("links.jpg"));
  ASSERT_TRUE(waitFor([&] { return refusals.size() == 3; }));
  EXPECT_TRUE(refusals[2].contains(QStringLiteral("links.jpg exists and is not a JPEG picture")));
  EXPECT_TRUE(content(QStringLiteral("links.jpg")).startsWith("From,To"));
}

TEST_F(FeatureTest, TheGlossaryKnowsTheWords) {
  EXPECT_FALSE(shell::glossary().empty());
  EXPECT_FALSE(shell::glossaryOf(QStringLiteral("Tiles")).isEmpty());
  EXPECT_FALSE(shell::glossaryOf(QStringLiteral("waits: fill")).isEmpty());
  EXPECT_TRUE(shell::glossaryOf(QStringLiteral("zebra")).isEmpty());
}

TEST_F(FeatureTest, MeasuringPinningAndHidingOnTheTrace) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  const QPoint from(TimelineCanvas::kGutter + 200, TimelineCanvas::kTop + 10);
  QTest::mousePress(canvas->viewport(), Qt::LeftButton, Qt::ShiftModifier, from);
  dragTo(canvas->viewport(), from + QPoint(300, 0), Qt::ShiftModifier);
  QTest::mouseRelease(canvas->viewport(), Qt::LeftButton, Qt::ShiftModifier, from + QPoint(300, 0));
  ASSERT_EQ(canvas->spans().size(), 1U);
  EXPECT_LT(canvas->spans()[0].from, canvas->spans()[0].to);
  const std::size_t groups = canvas->scene().layout().groups.size();
  canvas->changeGroup(timeline::GroupChange::pin, 3);
  EXPECT_EQ(canvas->scene().layout().groups.front().device, 3);
  EXPECT_GT(canvas->scene().layout().pinned, 0);
  canvas->changeGroup(timeline::GroupChange::hide, 1);
  EXPECT_EQ(canvas->scene().layout().groups.size(), groups - 1);
  canvas->changeGroup(timeline::GroupChange::showAll, -1);
  EXPECT_EQ(canvas->scene().layout().groups.size(), groups);
  EXPECT_EQ(canvas->scene().layout().pinned, 0);
}

TEST_F(FeatureTest, TilesAreSelectedOnTheMapAndByNumber) {
  openPage(QStringLiteral("memory"));
  choose(child<QComboBox>(QStringLiteral("View")), 1);
  auto* map = child<timeline::TileMap>();
  ASSERT_TRUE(map->isVisible());
  QTest::mouseClick(map, Qt::LeftButton, {}, map->unitRect(7).center());
  auto* units = child<QLineEdit>(QStringLiteral("Selected tiles"));
  EXPECT_EQ(units->text(), QStringLiteral("7"));
  QTest::mouseClick(map, Qt::LeftButton, Qt::ShiftModifier, map->unitRect(8).center());
  EXPECT_EQ(units->text(), QStringLiteral("7-8"));
  ASSERT_TRUE(settle());
  EXPECT_GT(table(QStringLiteral("Details"))->model()->rowCount(), 0);
  picture("tile_map");
}

TEST_F(FeatureTest, ATileMapsColoursReachFromTheLowestToTheHighestValue) {
  timeline::TileMap map(*palette);
  map.setScale(0, 100);
  const QColor lowest = map.colourOf(0), middle = map.colourOf(50), highest = map.colourOf(100);
  EXPECT_NE(lowest, middle);
  EXPECT_NE(middle, highest);
  map.setScale(100, 200);
  EXPECT_EQ(map.colourOf(100), lowest);
  EXPECT_EQ(map.colourOf(150), middle);
  EXPECT_EQ(map.colourOf(200), highest);
  EXPECT_EQ(map.colourOf(50), lowest) << "below the scale";
  EXPECT_EQ(map.colourOf(201), palette->ui(shell::Ui::error)) << "above it";
}

TEST_F(FeatureTest, AProgramStepWithoutTimeSaysSo) {
  openPage(QStringLiteral("liveness"));
  ASSERT_TRUE(settle());
  auto* jump = child<QPushButton>();
  for (QPushButton* button : window->currentPage()->findChildren<QPushButton*>()) {
    if (button->text() == QStringLiteral("Show on the trace")) jump = button;
  }
  ASSERT_EQ(jump->text(), QStringLiteral("Show on the trace"));
  // No step of the trace runs the programs that the fixture's liveness steps name.
  EXPECT_FALSE(jump->isEnabled());
  EXPECT_EQ(table(QStringLiteral("Cycles of the step"))->model()->rowCount(), 0);
}

}  // namespace
}  // namespace pipescope::testing
