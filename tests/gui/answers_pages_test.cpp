// Tests the pages that answer questions: what-if, and the table of a sweep.
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QToolButton>
#include <algorithm>
#include <fstream>

#include "app/gui/open_profile.h"
#include "app/run/orders/replay_schedules.h"
#include "profiler/figures/figure.h"
#include "profiler/sections/replays.h"
#include "profiler/store/profile_writer.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/shell/comparison.h"
#include "views/shell/dialogs/report_saver.h"
#include "views/shell/sidebar.h"
#include "views/timeline/item_chart.h"
#include "views/timeline/legend.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::DataTable;
using pages::FigureCard;
using timeline::ItemChart;

class AnswersPagesTest : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    sections::setSchedules(app::replaySchedules());
    window = std::make_unique<shell::MainWindow>(*registry, *palette, [](const std::string& path) {
      return gui::openOrImport(
          path, [](const QString&) {}, [] { return false; });
    });
    window->resize(1600, 900);
    window->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get()));
  }

  void TearDown() override {
    WindowTest::TearDown();
    sections::setSchedules({});
  }

  QString file(const char* name) const { return folder.filePath(QLatin1String(name)); }

  void writeProfile(const char* name, const FixtureOptions& options) const {
    const ProfileFixture made(options);
    auto writer = store::ProfileWriter::create(file(name).toStdString());
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->commit(*made.profile()->everything()).ok());
    ASSERT_TRUE((*writer)->finish(model::ProfileState::complete, "").ok());
  }

  /// Four combinations. b is faster than a and needs more memory, c is worse than b, and d does not fit.
  void writeTable() {
    writeProfile("a.pop", {.microBatches = 6});
    writeProfile("b.pop", {.microBatches = 10});
    std::ofstream(file("table.csv").toStdString()) << "training.gradient_accumulation,execution.schedule,"
                                                      "fits,samples_per_second,memory_bytes,note,error,"
                                                      "profile,configuration_hash\n"
                                                      "6,popart,true,100,1000,,,a.pop,00\n"
                                                      "10,popart,true,150,2000,,,b.pop,01\n"
                                                      "10,gpipe,true,120,2500,,,,02\n"
                                                      "20,gpipe,false,200,9000,Too much.,,,03\n";
  }

  /// Types a change into the page of what-ifs.
  void change(const char* key, const char* subject, const char* value) {
    auto* kind = child<QComboBox>(QStringLiteral("What to change"));
    ASSERT_GE(kind->findText(QLatin1String(key)), 0) << key;
    choose(kind, kind->findText(QLatin1String(key)));
    auto* of = child<QComboBox>(QStringLiteral("Of which"));
    if (*subject != '\0') choose(of, of->findText(QLatin1String(subject)));
    auto* field = child<QComboBox>(QStringLiteral("New value"))->lineEdit();
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, QString::fromUtf8(value));
    QTest::keyClick(field, Qt::Key_Return);
    ASSERT_TRUE(settle());
  }
  QStringList chips() const {
    QStringList texts;
    for (const QToolButton* button : window->currentPage()->findChildren<QToolButton*>())
      if (button->isVisible() && button->accessibleName().startsWith(QStringLiteral("Take back")))
        texts << button->text();
    return texts;
  }
  FigureCard* card(const char* caption) const {
    for (FigureCard* found : window->currentPage()->findChildren<FigureCard*>())
      if (found->caption() == QLatin1String(caption)) return found;
    return nullptr;
  }
  QString notice() const { return window->currentPage()->notice(); }
  /// The rates of the table in the order in which they are shown.
  std::vector<int> rates() const {
    std::vector<int> shown;
    const sections::SectionTable& table = child<DataTable>()->model()->table();
    const auto rate = static_cast<std::size_t>(
        std::ranges::find(table.columns, "samples_per_second", &sections::SectionColumn::key) -
        table.columns.begin());
    for (const auto& row : table.rows) shown.push_back(static_cast<int>(*figures::numberIn(row[rate])));
    return shown;
  }
  /// The rows of the file that are on the front, by their rates.
  std::vector<int> front() const {
    const std::vector<int> ofFile = {100, 150, 120, 200}, shown = rates();
    std::vector<int> rows;
    const sections::SectionTable& table = child<DataTable>()->model()->table();
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      if (std::get<bool>(table.rows[r][0]))
        rows.push_back(static_cast<int>(std::ranges::find(ofFile, shown[r]) - ofFile.begin()));
    std::ranges::sort(rows);
    return rows;
  }
  void clickRow(int row) {
    auto* chart = child<ItemChart>();
    QTest::mouseClick(chart, Qt::LeftButton, {}, chart->itemRect(row).center());
    ASSERT_TRUE(settle());
  }

  QTemporaryDir folder;
};

TEST_F(AnswersPagesTest, TheControlsOfAWhatIfSayWhatTheyAreFor) {
  const ProfileFixture fixture;
  window->resize(1024, 700);
  open(fixture.profile(), QStringLiteral("what-if"));
  int boxes = 0;
  for (const QComboBox* box : window->currentPage()->findChildren<QComboBox*>()) {
    if (!box->isVisible()) continue;
    ++boxes;
    const bool named =
        std::ranges::any_of(box->parentWidget()->findChildren<QLabel*>(), [box](const QLabel* label) {
          return label->isVisible() && !label->text().isEmpty() && label->x() < box->x() &&
                 box->x() - label->geometry().right() < 12;
        });
    EXPECT_TRUE(named) << box->accessibleName().toStdString();
  }
  EXPECT_EQ(boxes, 3);
}

TEST_F(AnswersPagesTest, TheWaterfallTakesTheRoomOfALargeScreen) {
  const ProfileFixture fixture;
  window->resize(1024, 700);
  open(fixture.profile(), QStringLiteral("what-if"));
  EXPECT_FALSE(child<ItemChart>(QStringLiteral("Waterfall"))->isVisible()) << "two equal bars say nothing";
  change("forward pass", "1", "*3");
  const int least = child<ItemChart>(QStringLiteral("Waterfall"))->height();
  window->resize(3840, 2160);
  ASSERT_TRUE(settle());
  EXPECT_GE(child<ItemChart>(QStringLiteral("Waterfall"))->height(), least * 3 / 2);
}

/// A trace names stages, but says nothing about their memory.
TEST_F(AnswersPagesTest, AnImportedTraceHasNoTableOfStashes) {
  const auto isShown = [this](const FixtureOptions& options) {
    open(ProfileFixture(options).profile(), QStringLiteral("what-if"));
    EXPECT_TRUE(settle());
    for (const pages::DataTable* table : window->currentPage()->findChildren<pages::DataTable*>())
      if (table->model()->table().title == "Stash") return table->isVisible();
    return false;
  };
  EXPECT_TRUE(isShown({}));
  EXPECT_FALSE(isShown({.imported = true}));
}

TEST_F(AnswersPagesTest, AChangeIsReplayedAndTakenBack) {
  const ProfileFixture fixture;
  open(fixture.profile(), QStringLiteral("what-if"));
  ASSERT_TRUE(notice().isEmpty()) << notice().toStdString();
  EXPECT_TRUE(chips().isEmpty());
  EXPECT_TRUE(card("Step time")->detailShown(400).startsWith(QStringLiteral("as recorded")));
  change("forward pass", "1", "*3");
  EXPECT_EQ(chips(), QStringList{QStringLiteral("forward pass of stage 1: × 3")});
  EXPECT_TRUE(card("Step time")->value().startsWith(QLatin1Char('+')))
      << card("Step time")->value().toStdString();
  picture("what_if");
  // A second value of the same key replaces the first one; another key comes beside it.
  change("forward pass", "1", "× 0.5");
  change("backward pass", "0", "*0.5");
  EXPECT_EQ(chips().size(), 2);
  EXPECT_TRUE(card("Step time")->value().startsWith(QStringLiteral("−")))
      << card("Step time")->value().toStdString();
  for (QToolButton* button : window->currentPage()->findChildren<QToolButton*>()) {
    if (!button->text().startsWith(QStringLiteral("forward pass of stage 1"))) continue;
    QTest::mouseClick(button, Qt::LeftButton);
    break;
  }
  ASSERT_TRUE(settle());
  EXPECT_EQ(chips(), QStringList{QStringLiteral("backward pass of stage 0: × 0.5")});
  palette->setTheme(shell::Theme::dark);
  window->resize(1024, 700);
  ASSERT_TRUE(settle());
  picture("what_if_small");
}

/// The two ends of an interval in a card's text, without their unit.
std::pair<double, double> endsIn(const QString& detail) {
  static const QRegularExpression kEnds(QStringLiteral("80 %: ([0-9.,]+)[^…]*… ([0-9.,]+)"));
  QString plain = detail;
  const QRegularExpressionMatch found = kEnds.match(plain.replace(QChar::Nbsp, QLatin1Char(' ')));
  const auto number = [&](int i) { return found.captured(i).remove(QLatin1Char(',')).toDouble(); };
  return {number(1), number(2)};
}

TEST_F(AnswersPagesTest, CardsWithModelledTimesAndMemoryShowTheirIntervals) {
  const ProfileFixture fixture;
  open(fixture.profile(), QStringLiteral("summary"));
  const auto [least, most] = endsIn(card("Emulated samples/s")->toolTip());
  EXPECT_GT(least, 0) << card("Emulated samples/s")->toolTip().toStdString();
  EXPECT_GT(most, least);
  EXPECT_GT(endsIn(card("Memory")->toolTip()).second, 0) << card("Memory")->toolTip().toStdString();
  open(fixture.profile(), QStringLiteral("what-if"));
  EXPECT_EQ(endsIn(card("Step time")->toolTip()), std::pair(least, most))
      << card("Step time")->toolTip().toStdString();
  change("forward pass", "1", "*3");
  const auto [replayedLeast, replayedMost] = endsIn(card("Step time")->toolTip());
  EXPECT_GT(replayedLeast, least) << card("Step time")->toolTip().toStdString();
  // A replay is as far off as the recorded step is.
  EXPECT_NEAR(replayedMost / replayedLeast, most / least, 0.01);
  // Costs that are given are not modelled.
  const ProfileFixture fixed({.fixed = true});
  open(fixed.profile(), QStringLiteral("what-if"));
  EXPECT_EQ(card("Step time")->toolTip(), QStringLiteral("as recorded"));
}

TEST_F(AnswersPagesTest, TimesOfAModelThatDoesNotFitAreHypothetical) {
  const ProfileFixture fits, overflows({.overflow = true});
  open(overflows.profile(), QStringLiteral("what-if"));
  EXPECT_NE(card("Hypothetical step time"), nullptr);
  EXPECT_NE(card("Hypothetical samples/s"), nullptr);
  QString said;
  for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) said += label->text();
  EXPECT_EQ(
      said.count(QStringLiteral("Stage 1 does not fit into the memory of its device, so times and rates "
                                "are hypothetical")),
      1)
      << said.toStdString();
  open(fits.profile(), QStringLiteral("what-if"));
  EXPECT_NE(card("Step time"), nullptr);
  EXPECT_EQ(card("Hypothetical step time"), nullptr);
}

TEST_F(AnswersPagesTest, ARefusedChangeSaysWhy) {
  const ProfileFixture fixture;
  open(fixture.profile(), QStringLiteral("what-if"));
  change("micro-batches of an update", "", "-3");
  EXPECT_TRUE(notice().contains(QStringLiteral("must not be negative"))) << notice().toStdString();
  change("micro-batches of an update", "", "*1");
  EXPECT_TRUE(notice().isEmpty()) << notice().toStdString();
}

TEST_F(AnswersPagesTest, ChangesOfALinkThatAreRefusedCanBeTakenBack) {
  const ProfileFixture fixture;
  open(fixture.profile(), QStringLiteral("summary"));
  shell::Place place;
  place.page = QStringLiteral("what-if");
  place.changes = QStringList{QStringLiteral("training.gradient_accumulation=-3")};
  window->go(place);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(notice().contains(QStringLiteral("must not be negative"))) << notice().toStdString();
  ASSERT_EQ(chips(), QStringList{QStringLiteral("micro-batches of an update: -3")});
  EXPECT_TRUE(card("Step time")->detailShown(400).startsWith(QStringLiteral("as recorded")));
  for (QToolButton* button : window->currentPage()->findChildren<QToolButton*>()) {
    if (!button->text().startsWith(QStringLiteral("micro-batches"))) continue;
    QTest::mouseClick(button, Qt::LeftButton);
    break;
  }
  ASSERT_TRUE(settle());
  EXPECT_TRUE(notice().isEmpty()) << notice().toStdString();
  place.changes = QStringList{QStringLiteral("stages.1.forward=*2"), QStringLiteral("stages.0.forward=*2")};
  window->go(place);
  ASSERT_TRUE(settle());
  EXPECT_EQ(chips(), (QStringList{QStringLiteral("forward pass of stage 1: × 2"),
                                  QStringLiteral("forward pass of stage 0: × 2")}));
}

TEST_F(AnswersPagesTest, AReplayedCallOpensAsAProfile) {
  const ProfileFixture fixture;
  open(fixture.profile(), QStringLiteral("what-if"));
  auto* button = [&]() -> QPushButton* {
    for (QPushButton* found : window->currentPage()->findChildren<QPushButton*>())
      if (found->text() == QStringLiteral("Open as profile")) return found;
    return nullptr;
  }();
  ASSERT_NE(button, nullptr);
  QTest::mouseClick(button, Qt::LeftButton);
  EXPECT_TRUE(notice().contains(QStringLiteral("Choose a change first"))) << notice().toStdString();
  change("forward pass", "1", "*3");
  std::optional<shell::MadeProfile> made;
  QObject::connect(window.get(), &shell::MainWindow::profileMade, window.get(),
                   [&](const shell::MadeProfile& one) { made = one; });
  QTest::mouseClick(button, Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return made.has_value(); }));
  EXPECT_EQ(window->session().title(), QStringLiteral("fixture.pop")) << "the window keeps its profile";
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("What if"));
  // The program opens it in another window; the test has one only.
  window->openMade(*made);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->session().title(), QStringLiteral("What-if of fixture.pop"));
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Compare"));
  EXPECT_NE(window->comparison().snapshot(), nullptr);
  bool listed = false;
  for (pages::DataTable* table : window->currentPage()->findChildren<pages::DataTable*>())
    for (int row = 0; row < table->model()->rowCount(); ++row)
      listed =
          listed || table->model()->index(row, 0).data() == QStringLiteral("what-if forward pass of stage 1");
  EXPECT_TRUE(listed) << "the change stands among the options, in words";
}

TEST_F(AnswersPagesTest, ATableOpensOnThePageOfSweeps) {
  writeTable();
  window->open(file("table.csv"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Sweep"));
  ASSERT_TRUE(notice().isEmpty()) << notice().toStdString();
  EXPECT_EQ(front(), (std::vector<int>{0, 1}));
  // Only pages that show no single profile have content.
  const auto* sidebar = window->findChild<shell::Sidebar*>();
  for (const QString& page : window->pageIds()) {
    const QString lack = sidebar->lack(window->pageIds().indexOf(page));
    EXPECT_EQ(lack.isEmpty(), page == QStringLiteral("sweep") || page == QStringLiteral("compare"))
        << page.toStdString() << ": " << lack.toStdString();
  }
  picture("sweep");
  auto* view = child<QComboBox>(QStringLiteral("Chart"));
  choose(view, 1);
  ASSERT_TRUE(settle());
  EXPECT_EQ(front(), (std::vector<int>{0, 1}));
  picture("sweep_parallel");
  palette->setTheme(shell::Theme::dark);
  window->resize(1024, 700);
  ASSERT_TRUE(settle());
  picture("sweep_parallel_small");
  choose(view, 0);
  ASSERT_TRUE(settle());
  picture("sweep_small");
}

TEST_F(AnswersPagesTest, TheLegendOfASweepHasTheColoursThatAreDrawn) {
  const auto legend = [&] {
    QStringList names;
    for (const timeline::LegendEntry& entry : child<timeline::Legend>()->entries()) names << entry.text;
    return names.join(QLatin1Char('|')).toStdString();
  };
  writeTable();
  window->open(file("table.csv"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(legend(), "Pareto front|fits|does not fit");
  std::ofstream(file("fits.csv").toStdString()) << "training.gradient_accumulation,fits,samples_per_second,"
                                                   "memory_bytes,note,error,configuration_hash\n"
                                                   "6,true,100,1000,,,00\n"
                                                   "10,true,150,2000,,,01\n";
  window->open(file("fits.csv"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(legend(), "Pareto front");
}

TEST_F(AnswersPagesTest, TheBestCombinationThatFitsComesFirst) {
  writeTable();
  window->open(file("table.csv"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(rates(), (std::vector<int>{150, 120, 100, 200})) << "what does not fit comes last";
  auto* up = child<QComboBox>(QStringLiteral("Up"));
  choose(up, up->findText(QStringLiteral("Memory")));
  EXPECT_EQ(rates(), (std::vector<int>{100, 150, 120, 200})) << "less memory is better";
}

TEST_F(AnswersPagesTest, CombinationsAreColouredByAKey) {
  writeTable();
  window->open(file("table.csv"));
  ASSERT_TRUE(settle());
  auto* colours = child<QComboBox>(QStringLiteral("Colours"));
  ASSERT_EQ(colours->count(), 3) << "the front and two keys";
  choose(colours, 1);
  QStringList names;
  for (const timeline::LegendEntry& entry : child<timeline::Legend>()->entries()) names << entry.text;
  EXPECT_EQ(names, (QStringList{QStringLiteral("Gradient accumulation: 6"), QStringLiteral("10"),
                                QStringLiteral("20")}));
  picture("sweep_by_key");
  choose(colours, 2);
  names.clear();
  for (const timeline::LegendEntry& entry : child<timeline::Legend>()->entries()) names << entry.text;
  EXPECT_EQ(names, (QStringList{QStringLiteral("Schedule: popart"), QStringLiteral("gpipe")}));
}

TEST_F(AnswersPagesTest, ARectangleKeepsCombinations) {
  writeTable();
  window->open(file("table.csv"));
  ASSERT_TRUE(settle());
  auto* chart = child<ItemChart>();
  const auto drag = [&](const QRect& part) {
    QTest::mousePress(chart, Qt::LeftButton, {}, part.topLeft());
    dragTo(chart, part.center());
    dragTo(chart, part.bottomRight());
    QTest::mouseRelease(chart, Qt::LeftButton, {}, part.bottomRight());
  };
  const QString path = window->session().path();
  drag(chart->itemRect(1).united(chart->itemRect(2)).adjusted(-6, -6, 6, 6));
  EXPECT_EQ(rates(), (std::vector<int>{150, 120}));
  EXPECT_EQ(window->session().path(), path) << "no profile was opened";
  picture("sweep_kept");
  QTest::keyClick(chart, Qt::Key_Escape);
  EXPECT_EQ(rates().size(), 4U) << "Esc keeps all again";
  drag(chart->itemRect(1).united(chart->itemRect(2)).adjusted(-6, -6, 6, 6));
  EXPECT_EQ(rates().size(), 2U);
  const QPoint empty = chart->itemRect(1).topLeft() - QPoint(20, 20);
  QTest::mouseDClick(chart, Qt::LeftButton, {}, empty);
  EXPECT_EQ(rates().size(), 4U);
  // An axis of parallel coordinates keeps the lines that cross it there.
  choose(child<QComboBox>(QStringLiteral("Chart")), 1);
  drag(chart->itemRect(0).adjusted(-6, -6, 6, 6));
  EXPECT_EQ(rates(), (std::vector<int>{100})) << "the only one with 6 micro-batches";
}

TEST_F(AnswersPagesTest, ADoubleClickOpensTheProfileAndKeepsTheTable) {
  writeTable();
  window->open(file("table.csv"));
  ASSERT_TRUE(settle());
  const auto openRow = [&](int row) {
    auto* chart = child<ItemChart>();
    QTest::mouseDClick(chart, Qt::LeftButton, {}, chart->itemRect(row).center());
    ASSERT_TRUE(settle());
  };
  clickRow(1);
  EXPECT_EQ(window->session().path(), file("table.csv")) << "a click marks";
  EXPECT_EQ(child<ItemChart>()->marked(), 1);
  openRow(1);
  EXPECT_EQ(window->session().path(), file("b.pop"));
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Summary"));
  showPage(QStringLiteral("sweep"));
  EXPECT_EQ(child<ItemChart>()->marked(), 1) << "the page keeps the table";
  openRow(2);  // it has no profile
  EXPECT_EQ(window->session().path(), file("b.pop"));
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Sweep"));
  clickRow(2);
  EXPECT_EQ(child<ItemChart>()->marked(), 2);
  // The arrow keys mark, and Return opens.
  auto* chart = child<ItemChart>();
  chart->setFocus();
  QTest::keyClick(chart, Qt::Key_Left);
  QTest::keyClick(chart, Qt::Key_Left);
  EXPECT_EQ(chart->marked(), 0);
  EXPECT_EQ(window->session().path(), file("b.pop"));
  QTest::keyClick(chart, Qt::Key_Return);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->session().path(), file("a.pop"));
  // A profile that is opened in another way is shown.
  showPage(QStringLiteral("sweep"));
  window->open(file("b.pop"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Summary"));
}

TEST_F(AnswersPagesTest, WhatIsSavedBeginsBesideTheProfileUnderItsName) {
  writeTable();
  shell::WindowSettings().remove(QStringLiteral("picture_folder"));
  window->open(file("b.pop"));
  ASSERT_TRUE(settle());
  const auto begunAt = [&] {
    auto* dialog = window->findChild<QFileDialog*>();
    if (dialog == nullptr) return QStringLiteral("no dialog");
    const QString chosen = dialog->selectedFiles().value(0);
    dialog->reject();
    EXPECT_TRUE(waitFor([&] { return window->findChild<QFileDialog*>() == nullptr; }));
    return chosen;
  };
  window->saveCurrentPicture(false);
  EXPECT_EQ(begunAt(), file("b_summary.png"));
  shell::saveReport(*window);
  EXPECT_EQ(begunAt(), file("b.html"));
}

TEST_F(AnswersPagesTest, OtherAxesGiveAnotherFront) {
  writeTable();
  window->open(file("table.csv"));
  ASSERT_TRUE(settle());
  auto* across = child<QComboBox>(QStringLiteral("Across"));
  choose(across, across->findText(QStringLiteral("Samples/s")));
  ASSERT_TRUE(settle());
  EXPECT_EQ(front(), (std::vector<int>{1})) << "only the fastest that fits is on a front of one figure";
}

TEST_F(AnswersPagesTest, OtherPagesOfATableSayThatNothingRan) {
  writeTable();
  window->open(file("table.csv"));
  ASSERT_TRUE(settle());
  for (const QString& page : window->pageIds()) {
    ASSERT_TRUE(window->showPage(page));
    ASSERT_TRUE(settle()) << page.toStdString();
  }
}

TEST_F(AnswersPagesTest, APageWithoutATableSaysHowToGetOne) {
  const ProfileFixture fixture;
  open(fixture.profile(), QStringLiteral("sweep"));
  EXPECT_TRUE(notice().contains(QStringLiteral("pipescope sweep"))) << notice().toStdString();
}

/// As with `pipescope-gui PROFILE --page sweep`.
TEST_F(AnswersPagesTest, AProfileStaysOnThePageOfSweepsThatShowsNoTable) {
  writeTable();
  ASSERT_TRUE(window->showPage(QStringLiteral("sweep")));
  window->open(file("b.pop"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Sweep"));
  EXPECT_TRUE(notice().contains(QStringLiteral("pipescope sweep"))) << notice().toStdString();
}

TEST_F(AnswersPagesTest, ADamagedTableIsASentence) {
  std::ofstream(file("table.csv").toStdString()) << "a,fits,configuration_hash\n1,true\n";
  window->open(file("table.csv"));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(notice().contains(QStringLiteral("the row has 2 cells"))) << notice().toStdString();
}

}  // namespace
}  // namespace pipescope::testing
