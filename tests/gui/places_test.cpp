// Tests links and places, notes saved in the file, the demo, missing and incomplete files, marks, and the use
// of every page by keyboard. Also runs Qt's model tester on every model.
#include <signal.h>

#include <QAbstractButton>
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QInputDialog>
#include <QLabel>
#include <QMenu>
#include <QScrollBar>
#include <QSpinBox>
#include <QTabWidget>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>
#include <map>
#include <set>

#include "app/gui/samples.h"
#include "profiler/store/profile_reader.h"
#include "profiler/store/profile_writer.h"
#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/range_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/shell/sample_list.h"
#include "views/timeline/pipeline_canvas.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::DataTable;
using timeline::TimelineCanvas;

class PlacesTest : public WindowTest {
 protected:
  void openPage(const QString& page, const FixtureOptions& options = {}) {
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), page);
  }

  /// Writes the fixture to a file, either finished or as a run still writes it.
  static void writeFile(const QString& path, bool finish = true) {
    const ProfileFixture fixture;
    auto writer = store::ProfileWriter::create(path.toStdString());
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    const model::RowSet rows = *fixture.profile()->everything();
    ASSERT_TRUE((*writer)->commit(rows).ok());
    if (finish) {
      ASSERT_TRUE((*writer)->finish(model::ProfileState::complete, "").ok());
    }
  }

  QAction* action(const QString& what) const {
    for (const auto& entry : window->actions().entries()) {
      if (entry.what == what) return entry.action;
    }
    return nullptr;
  }
  /// Presses a key while the page has the focus.
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(child<TimelineCanvas>(), key, modifiers);
  }

  std::unique_ptr<ProfileFixture> fixture;
};

TEST_F(PlacesTest, ALinkLeadsBack) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("linked.pop"));
  writeFile(path);
  ASSERT_TRUE(window->showPage(QStringLiteral("trace")));
  window->open(path);
  ASSERT_TRUE(settle());
  auto* canvas = child<TimelineCanvas>();
  canvas->select(canvas->scene().passItem({2, 0, 5}));
  const base::Ticks start = canvas->selected().start;
  QAction* copy = action(QStringLiteral("Copy link to this place"));
  ASSERT_NE(copy, nullptr);
  copy->trigger();
  const QString link = QApplication::clipboard()->text();
  EXPECT_EQ(link, QStringLiteral("pipescope-gui '%1' --page trace --executable training --at %2 --lane IPU2")
                      .arg(path)
                      .arg(start.count));
}

TEST_F(PlacesTest, ALaneIsScrolledTo) {
  openPage(QStringLiteral("trace"));
  window->resize(1600, 420);
  ASSERT_TRUE(settle());
  auto* canvas = child<TimelineCanvas>();
  window->go({QStringLiteral("trace"), {}, -1, QStringLiteral("ipu3")});
  ASSERT_TRUE(settle());
  EXPECT_GT(canvas->verticalScrollBar()->value(), 0);
  window->go({QStringLiteral("trace"), {}, -1, QStringLiteral("IPU77")});
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->notice(), QStringLiteral("There is no device IPU77 on this trace."));
}

TEST_F(PlacesTest, NotesAreKeptInTheFile) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("notes.pop"));
  writeFile(path);
  ASSERT_TRUE(window->showPage(QStringLiteral("trace")));
  window->open(path);
  ASSERT_TRUE(settle());
  auto* canvas = child<TimelineCanvas>();
  canvas->select(canvas->scene().passItem({1, 0, 4}));
  const base::Ticks at = canvas->selected().start;
  action(QStringLiteral("Note at the selection or in the middle"))->trigger();
  auto* dialog = window->findChild<QInputDialog*>();
  ASSERT_NE(dialog, nullptr);
  dialog->setTextValue(QStringLiteral("here it waits"));
  dialog->accept();
  ASSERT_TRUE(settle());
  const auto notes = [&] {
    const auto reader = store::ProfileReader::open(path.toStdString());
    return std::vector<model::Note>(**(*reader)->rows<model::Note>());
  };
  ASSERT_TRUE(waitFor([&] { return notes().size() == 1; }));
  EXPECT_EQ(notes().front().text, "here it waits");
  EXPECT_EQ(notes().front().start, at);
  EXPECT_EQ(notes().front().device, model::DeviceId(1));
}

TEST_F(PlacesTest, NotesSayWhenTheyCannotBeKept) {
  openPage(QStringLiteral("trace"));
  action(QStringLiteral("Note at the selection or in the middle"))->trigger();
  EXPECT_TRUE(window->currentPage()->notice().startsWith(QStringLiteral("Notes cannot be kept")))
      << window->currentPage()->notice().toStdString();
}

TEST_F(PlacesTest, MarkedTimesAreMeasured) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  hover(canvas->viewport(), {TimelineCanvas::kGutter + 300, TimelineCanvas::kTop + 10});
  press(Qt::Key_K);
  hover(canvas->viewport(), {TimelineCanvas::kGutter + 600, TimelineCanvas::kTop + 10});
  press(Qt::Key_K);
  ASSERT_EQ(canvas->markers().size(), 2U);
  EXPECT_LT(canvas->markers()[0], canvas->markers()[1]);
  picture("marks");
  press(Qt::Key_K);
  EXPECT_EQ(canvas->markers().size(), 1U) << "once more takes it away";
  press(Qt::Key_Escape);
  EXPECT_TRUE(canvas->markers().empty());
}

TEST_F(PlacesTest, RowsAreChosenAndResized) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  const auto has = [&](geometry::RowKind kind) {
    const auto& rows = canvas->scene().layout().rows;
    return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.kind == kind; });
  };
  EXPECT_TRUE(has(geometry::RowKind::transfer));
  EXPECT_FALSE(has(geometry::RowKind::tiles));
  action(QStringLiteral("Transfers"))->setChecked(false);
  action(QStringLiteral("Tiles (BSP)"))->setChecked(true);
  EXPECT_FALSE(has(geometry::RowKind::transfer));
  EXPECT_TRUE(has(geometry::RowKind::tiles));
  picture("tiles_missing");
  const int before = canvas->options().tilesHeight;
  action(QStringLiteral("Higher tiles"))->trigger();
  EXPECT_GT(canvas->options().tilesHeight, before);
  action(QStringLiteral("Lower tiles"))->trigger();
  EXPECT_EQ(canvas->options().tilesHeight, before);
  action(QStringLiteral("Transfers"))->setChecked(true);
  action(QStringLiteral("Tiles (BSP)"))->setChecked(false);
  EXPECT_TRUE(has(geometry::RowKind::transfer));
}

TEST_F(PlacesTest, TilesAreDrawnAndListed) {
  FixtureOptions options;
  options.tiles = true;
  openPage(QStringLiteral("trace"), options);
  auto* canvas = child<TimelineCanvas>();
  action(QStringLiteral("Tiles (BSP)"))->setChecked(true);
  ASSERT_TRUE(settle());
  const auto& rows = canvas->scene().layout().rows;
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [](const auto& one) { return one.kind == geometry::RowKind::tiles; });
  ASSERT_NE(row, rows.end());
  picture("tiles");
  // Zooms to one pass, so that its steps are wide enough to show tiles.
  const geometry::TimelineItem pass = canvas->scene().passItem({0, 0, 20});
  canvas->zoomTo(pass.start, pass.end, 0.1);
  ASSERT_TRUE(settle());
  picture("tiles_near");
  // The picture must show both working tiles and tiles that idle for the rest of the step.
  const QImage image = canvas->viewport()->grab().toImage();
  const QColor work = palette->colour(geometry::ColourRole::compute),
               rest = palette->colour(geometry::ColourRole::idle);
  int working = 0, resting = 0;
  for (int y = row->y - canvas->window().top; y < row->y - canvas->window().top + row->height; y += 2) {
    for (int x = canvas->viewport()->width() / 4; x < canvas->viewport()->width(); x += 3) {
      const QColor seen = image.pixelColor(x, y + TimelineCanvas::kTop);
      working += seen == work ? 1 : 0;
      resting += seen == rest ? 1 : 0;
    }
  }
  EXPECT_GT(working, 100);
  EXPECT_GT(resting, 100);
  const auto& placed = canvas->window();
  geometry::TimelineItem step;
  for (int x = 0; x < placed.view.width() && step.unit < 0; x += 5) {
    const auto found = canvas->scene().itemAt(placed, x, row->y + 4 - placed.top);
    if (found.kind == geometry::TimelineItem::Kind::step && !canvas->scene().unitsOf(found).empty())
      step = found;
  }
  ASSERT_GE(step.unit, 0);
  canvas->select(step);
  auto* tabs = child<QTabWidget>();
  tabs->setCurrentIndex(2);
  DataTable* listed = nullptr;
  for (DataTable* table : window->currentPage()->findChildren<DataTable*>()) {
    if (table->title().startsWith(QStringLiteral("Single tiles"))) listed = table;
  }
  ASSERT_NE(listed, nullptr);
  EXPECT_GT(listed->model()->rowCount(), 10);
  picture("tiles_listed");
  action(QStringLiteral("Tiles (BSP)"))->setChecked(false);
}

TEST_F(PlacesTest, ADeviceSelectedInMemoryIsLitOnEveryPage) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  canvas->select(canvas->scene().passItem({1, 0, 4}));
  showPage(QStringLiteral("memory"));
  EXPECT_EQ(child<pages::Chart>()->litBand(), 1) << "of the pass";
  shell::Selected selected;
  selected.kind = shell::Selected::Kind::device;
  selected.device = model::DeviceId(2);
  window->selection().set(selected);
  EXPECT_EQ(child<pages::Chart>()->litBand(), 2);
  EXPECT_FALSE(static_cast<bool>(canvas->selected())) << "the trace lights the device instead";
  EXPECT_EQ(window->selection().current().device, model::DeviceId(2)) << "and does not answer";
  showPage(QStringLiteral("liveness"));
  EXPECT_EQ(child<QComboBox>(QStringLiteral("Device"))->currentText(), QStringLiteral("IPU2"));
  choose(child<QComboBox>(QStringLiteral("Device")), 0);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->selection().current().device, model::DeviceId(0));
  showPage(QStringLiteral("memory"));
  EXPECT_EQ(child<pages::Chart>()->litBand(), 0);
  window->selection().clear();
  EXPECT_EQ(child<pages::Chart>()->litBand(), -1);
}

TEST_F(PlacesTest, LivenessShowsTheFullestTile) {
  openPage(QStringLiteral("liveness"));
  auto* chart = child<pages::Chart>();
  ASSERT_EQ(chart->layers().size(), 2U);
  const std::int64_t sum = chart->total(chart->mark());
  choose(child<QComboBox>(QStringLiteral("Bytes of")), 1);
  ASSERT_EQ(chart->layers().size(), 1U);
  EXPECT_LT(chart->total(chart->mark()), sum);
  picture("liveness_fullest");
}

/// Computes the bytes on a tile during a step directly from the profile's rows.
std::pair<std::int64_t, std::int64_t> bytesOnTile(const model::ProfileSource& source, std::int64_t tile,
                                                  std::int32_t step) {
  std::map<std::int64_t, std::int64_t> on;
  for (const model::VariableUnits& row : **source.rows<model::VariableUnits>()) {
    if (row.firstUnit <= tile && tile < row.firstUnit + row.unitCount)
      on[row.variable.value] += row.bytes.count;
  }
  std::int64_t always = 0, now = 0;
  std::set<std::int64_t> here;
  for (const model::Variable& row : **source.rows<model::Variable>()) {
    if (row.executable != model::ExecutableId(0) || row.space != model::MemorySpaceId(0)) continue;
    here.insert(row.id.value);
    always += row.alwaysLive ? on[row.id.value] : 0;
  }
  for (const model::LifeInterval& row : **source.rows<model::LifeInterval>()) {
    if (here.count(row.variable.value) > 0 && row.firstStep <= step && step < row.endStep)
      now += on[row.variable.value];
  }
  return {always, now};
}

TEST_F(PlacesTest, LivenessOfAChosenTile) {
  openPage(QStringLiteral("liveness"));
  auto* chart = child<pages::Chart>();
  choose(child<QComboBox>(QStringLiteral("Device")), 0);
  ASSERT_TRUE(settle());
  auto* tile = child<QSpinBox>(QStringLiteral("Tile"));
  EXPECT_FALSE(tile->isVisible());
  choose(child<QComboBox>(QStringLiteral("Bytes of")), 2);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(tile->isVisible());
  for (const int chosen : {5, 600, 1400}) {
    tile->setValue(chosen);
    ASSERT_TRUE(settle());
    ASSERT_EQ(chart->layers().size(), 2U);
    for (const int step : {0, 40, 100}) {
      const auto [always, now] = bytesOnTile(*fixture->profile(), chosen, step);
      EXPECT_EQ(chart->layers()[0].values[static_cast<std::size_t>(step)], always) << chosen;
      EXPECT_EQ(chart->layers()[1].values[static_cast<std::size_t>(step)], now) << chosen << " " << step;
    }
  }
  tile->setValue(5);
  ASSERT_TRUE(settle());
  std::int64_t listed = 0;
  for (pages::TreeTable* tree : window->currentPage()->findChildren<pages::TreeTable*>()) {
    const pages::TreeRows& rows = tree->ownRows();
    EXPECT_NE(rows.table.basis.find(" in all on tile 5"), std::string::npos) << rows.table.basis;
    for (std::size_t i = 0; i < rows.sources.size(); ++i)
      listed += rows.sources[i] >= 0 ? std::get<std::int64_t>(rows.table.rows[i][1]) : 0;
  }
  EXPECT_EQ(listed, chart->total(chart->mark())) << "what the table lists is what the chart shows";
  picture("liveness_tile");
}

TEST_F(PlacesTest, ATileSelectedInMemoryIsShownInLiveness) {
  openPage(QStringLiteral("memory"));
  shell::Selected selected;
  selected.kind = shell::Selected::Kind::memory;
  selected.device = model::DeviceId(2);
  selected.unit = 77;
  window->selection().set(selected);
  showPage(QStringLiteral("liveness"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(child<QComboBox>(QStringLiteral("Device"))->currentText(), QStringLiteral("IPU2"));
  EXPECT_EQ(child<QSpinBox>(QStringLiteral("Tile"))->value(), 77);
}

TEST_F(PlacesTest, LivenessSaysWhereTilesWereNotRecorded) {
  FixtureOptions options;
  options.unitMaps = false;
  openPage(QStringLiteral("liveness"), options);
  choose(child<QComboBox>(QStringLiteral("Bytes of")), 2);
  ASSERT_TRUE(settle());
  EXPECT_EQ(
      window->currentPage()->notice(),
      QStringLiteral("This profile does not say which tile holds what. Run again with --record steps or "
                     "--record tiles."));
}

TEST_F(PlacesTest, AFileThatIsReplacedIsOpenedAgain) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("again.pop")),
                other = folder.filePath(QStringLiteral("other.pop"));
  writeFile(path);
  ASSERT_TRUE(window->showPage(QStringLiteral("trace")));
  window->open(path);
  ASSERT_TRUE(settle());
  const auto before = window->session().snapshot()->source;
  QFile foreign(other);
  ASSERT_TRUE(foreign.open(QIODevice::WriteOnly));
  foreign.write("hello");
  foreign.close();
  ASSERT_TRUE(QFile::remove(path) && QFile::rename(other, path));
  ASSERT_TRUE(waitFor([&] { return !window->notice().isEmpty(); })) << "a foreign file has taken its place";
  EXPECT_EQ(window->session().snapshot()->source, before) << "the last good picture stays";
  writeFile(other);
  ASSERT_TRUE(QFile::remove(path) && QFile::rename(other, path));
  ASSERT_TRUE(waitFor([&] { return window->session().snapshot()->source != before; }))
      << "as after another run";
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->notice().isEmpty()) << window->notice().toStdString();
}

TEST_F(PlacesTest, ADeletedFileLeavesWhatWasShown) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("gone.pop"));
  writeFile(path);
  ASSERT_TRUE(window->showPage(QStringLiteral("trace")));
  window->open(path);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(QFile::remove(path));
  for (const QString& page : window->pageIds()) {
    showPage(page);
    EXPECT_NE(window->session().snapshot(), nullptr) << page.toStdString();
  }
  window->session().reload();
  ASSERT_TRUE(waitFor([&] { return !window->session().isOpening(); }));
  EXPECT_TRUE(window->notice().contains(QStringLiteral("gone.pop"))) << window->notice().toStdString();
  showPage(QStringLiteral("trace"));
  EXPECT_NE(child<TimelineCanvas>()->scene().model(), nullptr) << "the last good picture stays";
}

TEST_F(PlacesTest, AHalfWrittenFileIsShownAsSuch) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("half.pop"));
  writeFile(path, false);
  ASSERT_TRUE(window->showPage(QStringLiteral("trace")));
  window->open(path);
  ASSERT_TRUE(settle());
  EXPECT_NE(child<TimelineCanvas>()->scene().model(), nullptr);
  bool said = false;
  for (const QLabel* label : window->findChildren<QLabel*>())
    said = said || label->text().contains(QStringLiteral("running, call"));
  EXPECT_TRUE(said);
  for (const QString& page : window->pageIds()) showPage(page);
}

TEST_F(PlacesTest, EveryPageIsReachedAndLeftByKeys) {
  openPage(QStringLiteral("summary"));
  for (int i = 0; i < window->pageIds().size(); ++i) {
    if (i < 10) {
      QTest::keyClick(window.get(), static_cast<Qt::Key>(Qt::Key_0 + (i + 1) % 10), Qt::ControlModifier);
    } else {  // there are more pages than digits
      ASSERT_TRUE(window->showPage(window->pageIds()[i]));
    }
    ASSERT_TRUE(settle());
    EXPECT_EQ(window->currentPage()->accessibleName().toLower().replace(QLatin1Char(' '), QLatin1Char('-')),
              window->pageIds()[i]);
    // Tab must reach the page's controls and return to the start without getting stuck.
    std::set<QWidget*> reached;
    for (int step = 0; step < 60; ++step) {
      QTest::keyClick(QApplication::focusWidget() != nullptr ? QApplication::focusWidget() : window.get(),
                      Qt::Key_Tab);
      if (QApplication::focusWidget() != nullptr) reached.insert(QApplication::focusWidget());
    }
    // An emulated run has no stragglers and is no recorded one, nothing is compared, no table of a sweep is
    // open, and this profile says too little for a replay: these pages say why they are empty and offer
    // little.
    const QStringList poor = {QStringLiteral("stragglers"), QStringLiteral("recorded"),
                              QStringLiteral("compare"), QStringLiteral("what-if"), QStringLiteral("sweep")};
    const bool empty = poor.contains(window->pageIds()[i]);
    EXPECT_GT(reached.size(), empty ? 1U : 3U) << window->pageIds()[i].toStdString();
    for (QWidget* widget : reached) {
      const auto* button = qobject_cast<QAbstractButton*>(widget);
      const bool named = !widget->accessibleName().isEmpty() ||
                         (button != nullptr && !button->text().isEmpty()) || widget->inherits("QTabBar") ||
                         widget->inherits("QScrollArea");
      EXPECT_TRUE(named) << widget->metaObject()->className() << " on " << window->pageIds()[i].toStdString();
    }
  }
}

/// Every control must have a name for screen readers, even if Tab does not reach it.
TEST_F(PlacesTest, WhatCanBeUsedHasAName) {
  openPage(QStringLiteral("summary"));
  const auto isPartOfAnother = [](const QWidget* widget) {
    const QWidget* of = widget->parentWidget();
    return widget->inherits("QHeaderView") || widget->inherits("QTableCornerButton") ||
           of->inherits("QComboBox") || of->inherits("QComboBoxPrivateContainer") ||
           of->inherits("QAbstractSpinBox") || of->inherits("QLineEdit") || of->inherits("QTabBar") ||
           of->inherits("QMenuBar");
  };
  int seen = 0;
  for (const QString& page : window->pageIds()) {
    showPage(page);
    for (const QWidget* widget : window->findChildren<QWidget*>()) {
      const auto* button = qobject_cast<const QAbstractButton*>(widget);
      const bool used = button != nullptr || widget->inherits("QComboBox") || widget->inherits("QLineEdit") ||
                        widget->inherits("QAbstractItemView") || widget->inherits("QAbstractSpinBox");
      if (!used || !widget->isVisible() || isPartOfAnother(widget)) continue;
      ++seen;
      EXPECT_TRUE(!widget->accessibleName().isEmpty() || (button != nullptr && !button->text().isEmpty()))
          << widget->metaObject()->className() << " \"" << widget->objectName().toStdString() << "\" in "
          << widget->parentWidget()->metaObject()->className() << " on " << page.toStdString();
    }
  }
  EXPECT_GT(seen, 60);
}

TEST_F(PlacesTest, EveryModelIsSound) {
  openPage(QStringLiteral("summary"));
  int models = 0;
  for (const QString& page : window->pageIds()) {
    showPage(page);
    for (QTableView* view : window->currentPage()->findChildren<QTableView*>()) {
      if (view->model() == nullptr) continue;
      QAbstractItemModelTester tester(view->model(), QAbstractItemModelTester::FailureReportingMode::Fatal);
      ++models;
      view->model()->sort(0, Qt::DescendingOrder);
    }
    for (const DataTable* table : window->currentPage()->findChildren<DataTable*>())
      QAbstractItemModelTester tester(table->model(), QAbstractItemModelTester::FailureReportingMode::Fatal);
  }
  EXPECT_GT(models, 15);
}

/// Writes an executable script that takes the place of pipescope.
QString fakeProgram(const QTemporaryDir& folder, const QByteArray& script) {
  const QString path = folder.filePath(QStringLiteral("pipescope"));
  QFile file(path);
  EXPECT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("#!/bin/sh\n" + script);
  file.close();
  EXPECT_TRUE(file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
  return path;
}

class DemoTest : public WindowTest {
 protected:
  base::Result<QString> make(gui::SamplePlaces places) {
    if (places.samples.isEmpty())
      places.samples << QStringLiteral("/nowhere") << QStringLiteral(PIPESCOPE_SOURCE_DIR "/samples");
    if (places.folder.isEmpty()) places.folder = folder.filePath(QStringLiteral("cache/deep"));
    std::optional<base::Result<QString>> made;
    gui::runSample(window.get(), places, QStringLiteral("mnist/pipelined.toml"),
                   [&](const base::Result<QString>& result) { made = result; });
    EXPECT_FALSE(made.has_value()) << "nothing is looked for before the caller goes on";
    EXPECT_TRUE(waitFor([&] { return made.has_value(); }));
    return made ? *made : base::Result<QString>(base::internalError("The demo was not answered."));
  }
  QTemporaryDir folder;
};

TEST_F(DemoTest, RunsTheSample) {
  const QString program = fakeProgram(folder, "printf '%s ' \"$@\" > \"$4\"\n");
  const auto made = make({program, {}, {}});
  ASSERT_TRUE(made.ok()) << made.error().message;
  QFile file(*made);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QByteArray said = file.readAll();
  EXPECT_TRUE(said.startsWith("run ")) << said.toStdString();
  EXPECT_TRUE(said.contains("samples/mnist/pipelined.toml -o ")) << said.toStdString();
  EXPECT_TRUE(said.contains("--no-numerics")) << said.toStdString();
}

TEST_F(DemoTest, TakesAProfileThatIsNewerThanProgramAndSample) {
  const QString program = fakeProgram(folder, "echo run >> \"$4\"\n");
  const auto age = [](const QString& path, int seconds) {
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::ReadWrite));
    ASSERT_TRUE(
        file.setFileTime(QDateTime::currentDateTime().addSecs(seconds), QFileDevice::FileModificationTime));
  };
  age(program, -60);
  const auto runs = [&] {
    const auto made = make({program, {}, {}});
    QFile file(made.ok() ? *made : QString());
    return file.open(QIODevice::ReadOnly) ? file.readAll().count("run") : -1;
  };
  EXPECT_EQ(runs(), 1);
  EXPECT_EQ(runs(), 1) << "the profile is newer than the program";
  age(program, 60);
  EXPECT_EQ(runs(), 2) << "another program may make another profile";
}

TEST_F(DemoTest, AWindowThatGoesAwayEndsTheRunsOfItsSamples) {
  // The script takes the place of pipescope: it writes a file when it begins, and runs until a signal ends
  // it.
  const QString program = fakeProgram(folder, "echo $$ > \"$4.began\"\nexec sleep 600\n");
  const gui::SamplePlaces places{
      program, {QStringLiteral(PIPESCOPE_SOURCE_DIR "/samples")}, folder.filePath(QStringLiteral("cache"))};
  bool answered = false;
  gui::runSample(window.get(), places, QStringLiteral("fixed/imbalanced.toml"),
                 [&](const base::Result<QString>&) { answered = true; });
  gui::offerSamples(
      *window, places,
      [](const std::string&) -> base::Result<shell::OpenedSource> { return base::ioError("No profile."); },
      true);
  const auto began = [&] {
    std::vector<qint64> processes;
    for (const QFileInfo& file : QDir(places.folder).entryInfoList({QStringLiteral("*.began")})) {
      QFile text(file.filePath());
      if (text.open(QIODevice::ReadOnly) && text.size() > 0)
        processes.push_back(text.readAll().trimmed().toLongLong());
    }
    return processes;
  };
  ASSERT_TRUE(waitFor([&] { return began().size() == 2; }));
  window.reset();
  EXPECT_FALSE(answered);
  for (const qint64 process : began()) EXPECT_EQ(kill(static_cast<pid_t>(process), 0), -1) << process;
}

TEST_F(WindowTest, AClickOnASampleRunsItAndItsMenuEditsIt) {
  auto* home = window->home();
  home->setSamples(
      {{QStringLiteral("a/one.toml"), QStringLiteral("A sentence."), QStringLiteral("/samples/a/one.toml")},
       {QStringLiteral("b/two.toml"), QStringLiteral("Another."), QStringLiteral("/samples/b/two.toml")}});
  auto* list = home->findChild<shell::SampleList*>();
  ASSERT_EQ(list->count(), 2);
  QString asked;
  window->setSampleRunner([&](const QString& sample, const shell::MainWindow::SampleMade& done) {
    asked = sample;
    done(base::ioError("The disk is full."));
  });
  Q_EMIT list->itemClicked(list->item(1));
  EXPECT_EQ(asked, QStringLiteral("b/two.toml"));
  EXPECT_EQ(home->notice(), QStringLiteral("The disk is full."));
  QSignalSpy edited(window.get(), &shell::MainWindow::configurationGiven);
  const std::unique_ptr<QMenu> menu(list->makeMenu(*list->item(0)));
  menu->actions().back()->trigger();
  ASSERT_EQ(edited.size(), 1);
  EXPECT_EQ(edited[0][0].toString(), QStringLiteral("/samples/a/one.toml"));
}

TEST_F(DemoTest, SaysWhyThereIsNone) {
  const auto missing = make({folder.filePath(QStringLiteral("no-such-program")), {}, {}});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("cannot be started"), std::string::npos) << missing.error().message;
  const auto failing = make({fakeProgram(folder, "echo 'the disk is full'\nexit 2\n"), {}, {}});
  ASSERT_FALSE(failing.ok());
  EXPECT_NE(failing.error().message.find("the disk is full"), std::string::npos) << failing.error().message;
  const auto silent = make({fakeProgram(folder, "kill -9 $$\n"), {}, {}});
  ASSERT_FALSE(silent.ok());
  EXPECT_NE(silent.error().message.find("ended early"), std::string::npos) << silent.error().message;
  const auto noSample = make({fakeProgram(folder, ""), {QStringLiteral("/nowhere")}, {}});
  ASSERT_FALSE(noSample.ok());
  EXPECT_NE(noSample.error().message.find("Install Pipescope again"), std::string::npos)
      << noSample.error().message;
  const auto noFolder = make({fakeProgram(folder, ""), {}, QStringLiteral("/proc/nowhere")});
  ASSERT_FALSE(noFolder.ok());
  EXPECT_NE(noFolder.error().message.find("cannot be written to"), std::string::npos)
      << noFolder.error().message;
}

}  // namespace
}  // namespace pipescope::testing
