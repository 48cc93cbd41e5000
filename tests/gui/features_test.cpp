// Tests the pipeline and system pages, commands, search, settings, links, and the trace by mouse.
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QRegularExpression>
#include <QSpinBox>
#include <QTableView>
#include <QToolButton>
#include <map>
#include <optional>

#include "feature_test.h"
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/shell/dialogs/command_palette.h"
#include "views/shell/dialogs/find_bar.h"
#include "views/shell/dialogs/settings_dialog.h"
#include "views/shell/look/glossary.h"
#include "views/shell/look/picture.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/pipeline_canvas.h"
#include "views/timeline/tile_map.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::testing {
namespace {

using pages::DataTable;
using timeline::PipelineCanvas;
using timeline::TimelineCanvas;

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
    if (button->text().remove(QLatin1Char('&')).contains(QStringLiteral("defaults"))) defaults = button;
  ASSERT_NE(defaults, nullptr);
  defaults->click();
  ASSERT_TRUE(settle());
  EXPECT_EQ(sections::formatCell(sections::Cell(std::int64_t{2048}), sections::Format::bytes), "2.00 KiB");
  for (const QComboBox* box : dialog->findChildren<QComboBox*>()) EXPECT_EQ(box->currentIndex(), 0);
  for (const QCheckBox* box : dialog->findChildren<QCheckBox*>()) EXPECT_FALSE(box->isChecked());
  EXPECT_FALSE(shell::WindowSettings().value(QStringLiteral("safe_colours")).toBool());
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
  const int loss = canvas->scene().layout().pinned;  // height of the loss, which is pinned at first
  canvas->changeGroup(timeline::GroupChange::pin, 3);
  EXPECT_EQ(canvas->scene().layout().groups[0].device, geometry::kWholeRun);
  EXPECT_EQ(canvas->scene().layout().groups[1].device, 3);
  EXPECT_GT(canvas->scene().layout().pinned, loss);
  canvas->changeGroup(timeline::GroupChange::hide, 1);
  EXPECT_EQ(canvas->scene().layout().groups.size(), groups - 1);
  canvas->changeGroup(timeline::GroupChange::showAll, -1);
  EXPECT_EQ(canvas->scene().layout().groups.size(), groups);
  EXPECT_EQ(canvas->scene().layout().pinned, loss);
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
