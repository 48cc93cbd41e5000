// Presses every key that the help lists, on every page: right after opening a profile, after a dialog was
// closed, and with the focus in the sidebar. A key must change something that the user can see.
#include <QApplication>
#include <QClipboard>
#include <QDialog>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QToolButton>

#include "profiler/store/profile_writer.h"
#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/shell/dialogs/find_bar.h"
#include "views/shell/sidebar.h"
#include "views/timeline/graph_canvas.h"
#include "views/timeline/host_canvas.h"
#include "views/timeline/pipeline_canvas.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using timeline::PipelineCanvas;
using timeline::TimelineCanvas;

/// A key of the help, such as "Shift+W", and what it is said to do.
struct HelpKey {
  QString group, what, key;
};

/// The keys and modifiers of a text of the help.
std::pair<int, Qt::KeyboardModifiers> parsed(QString key) {
  key.remove(QStringLiteral(" again"));
  key.replace(QStringLiteral("←"), QStringLiteral("Left"))
      .replace(QStringLiteral("→"), QStringLiteral("Right"));
  key.replace(QStringLiteral("↑"), QStringLiteral("Up")).replace(QStringLiteral("↓"), QStringLiteral("Down"));
  const int both = QKeySequence::fromString(key)[0];
  const int modifiers = both & static_cast<int>(Qt::KeyboardModifierMask);
  return {both & ~static_cast<int>(Qt::KeyboardModifierMask), Qt::KeyboardModifiers(modifiers)};
}

bool isMouse(const QString& key) {
  return key.contains(QStringLiteral("wheel")) || key.contains(QStringLiteral("drag")) ||
         key.contains(QStringLiteral("click"));
}

class KeysTest : public WindowTest {
 protected:
  void SetUp() override {
    shell::WindowSettings settings;
    for (const char* name : {"trace/counters", "trace/transfers"})
      settings.setValue(QLatin1String(name), true);
    settings.setValue(QStringLiteral("trace/tiles"), false);
    settings.setValue(QStringLiteral("trace/counter_height"), 26);
    settings.setValue(QStringLiteral("trace/tiles_height"), 72);
    WindowTest::SetUp();
    path = folder.filePath(QStringLiteral("keys.pop"));
    const ProfileFixture fixture({.tiles = true});
    auto writer = store::ProfileWriter::create(path.toStdString());
    ASSERT_TRUE(writer.ok());
    model::RowSet rows = *fixture.profile()->everything();
    // One program step of each device runs on the trace.
    for (model::LivenessStep& row : rows.of<model::LivenessStep>()) {
      if (row.index == 7) row.program = rows.of<model::Step>().front().program;
    }
    ASSERT_TRUE((*writer)->commit(rows).ok());
    ASSERT_TRUE((*writer)->finish(model::ProfileState::complete, "").ok());
    newWindows = std::make_unique<QSignalSpy>(window.get(), &shell::MainWindow::newWindowRequested);
    newRuns = std::make_unique<QSignalSpy>(window.get(), &shell::MainWindow::newRunRequested);
    runsAgain = std::make_unique<QSignalSpy>(window.get(), &shell::MainWindow::runAgainRequested);
  }

  /// Opens the profile on a page, in a window that is too low for all rows of the trace.
  void openOn(const QString& page) {
    window->showNormal();
    window->resize(1100, 520);
    window->show();
    QApplication::setActiveWindow(window.get());
    ASSERT_TRUE(window->showPage(page));
    window->open(path);
    ASSERT_TRUE(settle());
    activate();
  }

  /// Makes the window the active one, as a window manager does. Shortcuts work in that window only.
  void activate() const {
    QCoreApplication::processEvents();  // a closed dialog hands the activity back later
    QApplication::setActiveWindow(window.get());
  }

  std::vector<HelpKey> helpKeys() const {
    static const QRegularExpression between(QStringLiteral("\\s{2,}|;\\s+|\\s*·\\s*"));
    std::vector<HelpKey> keys;
    for (const auto& entry : window->actions().entries()) {
      for (const QString& key : entry.keys.split(between, Qt::SkipEmptyParts)) {
        if (!isMouse(key)) keys.push_back({entry.group, entry.what, key});
      }
    }
    return keys;
  }

  static QString pageOf(const QString& group) {
    static const std::map<QString, QString> pages = {{QStringLiteral("Timeline"), QStringLiteral("trace")},
                                                     {QStringLiteral("Pipeline"), QStringLiteral("pipeline")},
                                                     {QStringLiteral("Memory"), QStringLiteral("memory")},
                                                     {QStringLiteral("Liveness"), QStringLiteral("liveness")},
                                                     {QStringLiteral("Programs"), QStringLiteral("programs")},
                                                     {QStringLiteral("Graph"), QStringLiteral("graph")},
                                                     {QStringLiteral("Host"), QStringLiteral("host")}};
    const auto found = pages.find(group);
    return found == pages.end() ? QString() : found->second;
  }

  /// Makes the state in which a key has something to do.
  void prepare(const HelpKey& key) {
    if (auto* canvas = child<TimelineCanvas>()) prepareTrace(*canvas, key);
    if (auto* canvas = child<PipelineCanvas>()) {
      canvas->zoomToAll();
      canvas->select(-1);
      if (key.what.startsWith(QStringLiteral("Follow"))) canvas->select(4);
      if (key.what.startsWith(QStringLiteral("Zoom"))) canvas->zoomBy(2);
      if (key.what.startsWith(QStringLiteral("Previous iteration"))) {
        QTest::keyClick(window.get(), Qt::Key_BracketRight);
        ASSERT_TRUE(settle());
      }
    }
    if (auto* canvas = child<timeline::GraphCanvas>()) prepareGraph(*canvas, key);
    if (auto* canvas = child<timeline::HostCanvas>()) prepareHost(*canvas);
    if (key.group == QStringLiteral("Programs")) Q_EMIT child<pages::TreeTable>()->rowActivated(3);
    if (key.group == QStringLiteral("Liveness")) prepareLiveness(key);
    if (key.group == QStringLiteral("Memory")) {  // one key selects a tile, the other none
      QTest::keyClick(window.get(), key.key == QStringLiteral("F") ? Qt::Key_0 : Qt::Key_F);
      settle();
    }
  }

  void prepareGraph(timeline::GraphCanvas& canvas, const HelpKey& key) {
    QTest::keyClick(&canvas, Qt::Key_Backspace);
    settle();
    canvas.zoomToAll();
    canvas.select(1);
    if (key.what.startsWith(QStringLiteral("Show everything"))) canvas.zoomBy(2);
    if (!key.what.startsWith(QStringLiteral("Show the group"))) return;
    QTest::keyClick(&canvas, Qt::Key_Return);
    settle();
  }

  /// Selects the second call's span on the main thread, which has neighbours, a parent and children, and
  /// shows the middle third of the time.
  void prepareHost(timeline::HostCanvas& canvas) {
    const analysis::HostTimeline& line = *canvas.scene().timeline();
    const base::Ticks third(line.end.count / 3);
    canvas.zoomTo(third, third + third);
    int calls = 0;
    for (std::size_t i = 0; i < line.lanes[0].spans.size(); ++i) {
      const auto name = static_cast<std::size_t>(line.lanes[0].spans[i].name);
      if (line.names[name].name == "compute a call" && ++calls == 2)
        canvas.select(geometry::HostHit{geometry::HostHit::Kind::span, 0, i});
    }
    ASSERT_GE(calls, 2);
  }

  void prepareLiveness(const HelpKey& key) {
    auto* chart = child<pages::Chart>();
    const auto goTo = [&](int step) {
      const QPoint at(static_cast<int>(chart->transform(QwtPlot::xBottom, step + 0.5)), 60);
      QTest::mouseClick(chart->canvas(), Qt::LeftButton, {}, at);
      settle();
    };
    goTo(3);
    if (!key.what.startsWith(QStringLiteral("Show"))) return;
    goTo(7);  // this program step runs, see SetUp()
  }

  void prepareTrace(TimelineCanvas& canvas, const HelpKey& key) {
    canvas.clearAnnotations();
    canvas.changeGroup(timeline::GroupChange::showAll, -1);
    canvas.select({});
    const auto starts = [&](const char* text) { return key.what.startsWith(QLatin1String(text)); };
    const analysis::IterationSpan& step = canvas.scene().model()->trace->iterations[1];
    const base::Ticks third((step.end - step.start).count / 3);
    canvas.zoomTo(step.start + third, step.end - third, 0);
    const bool ofItem = starts("Zoom to the selection") || starts("Select the next") || starts("Measure") ||
                        starts("Pin") || starts("Clear");
    if (ofItem) canvas.select(canvas.scene().passItem({1, 0, 12}));
    for (const char* rows : {"Counters", "Tiles (BSP)"}) {
      const QString word = QString::fromLatin1(rows).left(5).toLower();
      if (!key.what.contains(word)) continue;
      for (const auto& entry : window->actions().entries()) {
        if (entry.what == QLatin1String(rows)) entry.action->setChecked(true);
      }
    }
    if (key.key == QStringLiteral("Shift+H")) canvas.changeGroup(timeline::GroupChange::hide, 2);
    if (key.key == QStringLiteral("Shift+R")) canvas.changeRowHeight(1);
    if (key.key == QStringLiteral("Esc again")) canvas.measureSelection(), canvas.select({});
    if (starts("Scroll")) canvas.verticalScrollBar()->setValue(canvas.verticalScrollBar()->maximum() / 2);
    if (starts("Go to what a wait")) {
      const auto& waits = canvas.scene().model()->trace->devices[0].tracks.front().waits;
      for (std::size_t i = 0; i < waits.size(); ++i) {
        if (waits[i].cause == model::WaitCause::slowerStage)
          canvas.select(canvas.scene().waitItem(0, static_cast<int>(i)));
      }
    }
  }

  /// Everything that a key of the help may change, as a text.
  QString state() const {
    QStringList seen;
    const auto say = [&](auto value) { seen << QStringLiteral("%1").arg(value); };
    const shell::Page* page = window->currentPage();
    seen << page->accessibleName() << QApplication::clipboard()->text() << page->notice();
    say(window->isVisible());
    say(static_cast<int>(window->windowState()));
    say(window->session().isOpening());
    say(window->findBar()->isVisible());
    for (const auto* asked : {&newWindows, &newRuns, &runsAgain}) say((*asked)->count());
    say(static_cast<int>(palette->theme()));
    seen << shell::WindowSettings().value(QStringLiteral("time_unit")).toString();
    for (const QDialog* dialog : window->findChildren<QDialog*>()) {
      if (dialog->isVisible()) seen << dialog->windowTitle();
    }
    if (const auto* canvas = child<TimelineCanvas>()) {
      const geometry::TimelineItem& item = canvas->selected();
      for (const auto value : {item.start.count, item.end.count, window->timeRange().start().count,
                               window->timeRange().end().count})
        say(static_cast<qlonglong>(value));
      for (const int value :
           {static_cast<int>(item.kind), item.row, item.index, item.box, canvas->verticalScrollBar()->value(),
            canvas->scene().layout().height, canvas->scene().layout().pinned})
        say(value);
      for (const auto& group : canvas->scene().layout().groups) seen << QString::fromStdString(group.title);
      say(canvas->options().byMicroBatch);
      say(canvas->spans().size());
      say(canvas->markers().size());
      if (!canvas->scene().empty())
        say(static_cast<qlonglong>(canvas->scene().model()->trace->runs[0].id.value));
    }
    if (const auto* canvas = child<PipelineCanvas>()) {
      say(canvas->selected());
      say(static_cast<qlonglong>(canvas->view().start().count));
      say(canvas->view().span());
      say(canvas->options().grid);
      say(canvas->options().byMicroBatch);
      if (canvas->scene().grid() != nullptr) say(canvas->scene().grid()->iteration);
    }
    if (const auto* canvas = child<timeline::GraphCanvas>()) {
      for (const double place : {canvas->place().scale, canvas->place().x, canvas->place().y}) say(place);
      say(canvas->selected());
      say(canvas->boxes());
    }
    if (const auto* canvas = child<timeline::HostCanvas>()) {
      say(static_cast<qlonglong>(canvas->view().start().count));
      say(canvas->view().span());
      say(canvas->selected() ? static_cast<int>(canvas->selected()->index) : -1);
    }
    if (const auto* chart = child<pages::Chart>()) say(chart->mark()), say(chart->markedUntil());
    return seen.join(QLatin1Char('|'));
  }

  /// Presses the key where the keyboard is, as Qt does.
  void press(const HelpKey& key) {
    const auto [code, modifiers] = parsed(key.key);
    QWidget* const focus = window->focusWidget();
    QTest::keyClick(focus != nullptr && focus->isVisible() ? focus : window.get(), static_cast<Qt::Key>(code),
                    modifiers);
  }

  /// True if the key changed something, at once or after reading.
  bool works(const HelpKey& key) {
    QApplication::clipboard()->clear();
    const QString before = state();
    press(key);
    if (state() != before) return true;
    settle();
    return state() != before;
  }

  void closeDialogs() {
    for (QDialog* dialog : window->findChildren<QDialog*>()) dialog->reject();
    window->findBar()->isVisible() ? QTest::keyClick(window.get(), Qt::Key_Escape) : void();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  }

  QTemporaryDir folder;
  QString path;
  std::unique_ptr<QSignalSpy> newWindows, newRuns, runsAgain;
};

TEST_F(KeysTest, NoKeyOfAPageIsDeadAfterOpening) {
  int pressed = 0;
  for (const HelpKey& key : helpKeys()) {
    const QString page = pageOf(key.group);
    if (page.isEmpty()) continue;
    openOn(page);
    prepare(key);
    EXPECT_TRUE(works(key)) << key.group.toStdString() << ": " << key.what.toStdString() << ": "
                            << key.key.toStdString();
    closeDialogs();
    ++pressed;
  }
  EXPECT_GT(pressed, 50);
}

TEST_F(KeysTest, NoKeyOfAPageIsDeadAfterADialogOrInTheSidebar) {
  QString shown;
  for (const HelpKey& key : helpKeys()) {
    const QString page = pageOf(key.group);
    if (page.isEmpty()) continue;
    if (page != shown) openOn(shown = page);
    for (const bool sidebar : {false, true}) {
      showPage(page);
      activate();
      QTest::keyClick(window.get(), Qt::Key_F1);
      closeDialogs();
      activate();
      ASSERT_TRUE(settle());
      prepare(key);
      if (sidebar) {
        // The keys ↑ and ↓ move within the sidebar itself.
        if (key.key == QStringLiteral("↑") || key.key == QStringLiteral("↓")) continue;
        for (QToolButton* button : window->findChild<shell::Sidebar*>()->findChildren<QToolButton*>()) {
          if (button->isChecked()) button->setFocus(Qt::TabFocusReason);
        }
        ASSERT_TRUE(window->focusWidget() != nullptr && window->focusWidget()->inherits("QToolButton"));
      }
      EXPECT_TRUE(works(key)) << (sidebar ? "sidebar: " : "") << key.group.toStdString() << ": "
                              << key.what.toStdString() << ": " << key.key.toStdString();
      closeDialogs();
      ASSERT_TRUE(settle());
    }
  }
}

/// A quarter of the pages, so that each part takes a quarter of the time.
class KeysOnPagesTest : public KeysTest, public ::testing::WithParamInterface<int> {
 protected:
  static constexpr int kParts = 4;
};

INSTANTIATE_TEST_SUITE_P(Quarters, KeysOnPagesTest, ::testing::Range(0, 4));

TEST_P(KeysOnPagesTest, TheKeysOfTheWindowWorkOnEveryPage) {
  const auto pages = window->pageIds();
  ASSERT_GT(pages.size(), kParts);
  for (int i = GetParam(); i < static_cast<int>(pages.size()); i += kParts) {
    const QString& page = pages[i];
    openOn(page);
    for (const HelpKey& key : helpKeys()) {
      if (!pageOf(key.group).isEmpty() || key.group == QStringLiteral("Charts")) continue;
      if (key.what == QStringLiteral("Close window") || key.what == QStringLiteral("Quit")) continue;
      showPage(page);
      if (key.what == QStringLiteral("Back") || key.what == QStringLiteral("Forward")) {
        showPage(page == QStringLiteral("summary") ? QStringLiteral("stages") : QStringLiteral("summary"));
        if (key.what == QStringLiteral("Forward")) window->goBack();
        ASSERT_TRUE(settle());
      }
      activate();
      QAction* action = nullptr;
      for (const auto& entry : window->actions().entries()) {
        if (entry.what == key.what) action = entry.action;
      }
      ASSERT_NE(action, nullptr);
      const bool itself = key.what.toLower() == page;
      if (itself || !action->isEnabled()) {
        EXPECT_TRUE(itself || key.what.startsWith(QStringLiteral("Save picture of the whole")))
            << key.what.toStdString();
        continue;
      }
      const QWidget* focus = window->focusWidget();
      EXPECT_TRUE(works(key)) << page.toStdString() << ": " << key.what.toStdString() << ": "
                              << key.key.toStdString() << " in "
                              << (focus == nullptr ? "nothing" : focus->metaObject()->className());
      closeDialogs();
      window->showNormal();
      ASSERT_TRUE(settle());
    }
  }
}

TEST_F(KeysTest, WindowsAreClosedByKeys) {
  for (const Qt::Key key : {Qt::Key_W, Qt::Key_Q}) {
    openOn(QStringLiteral("trace"));
    QTest::keyClick(window->focusWidget(), key, Qt::ControlModifier);
    EXPECT_FALSE(window->isVisible());
  }
}

TEST_F(KeysTest, CommandsThatWouldDoNothingAreDisabled) {
  const auto enabled = [&](const char* what) {
    for (const auto& entry : window->actions().entries()) {
      if (entry.what == QLatin1String(what) && entry.action != nullptr) return entry.action->isEnabled();
    }
    ADD_FAILURE() << what;
    return false;
  };
  for (const char* what : {"Reload", "Save picture", "Copy link to this place", "Find on this page", "Trace",
                           "Next iteration", "Next iteration of the pipeline", "Open the demo profile"})
    EXPECT_FALSE(enabled(what)) << what << " without a profile";
  openOn(QStringLiteral("trace"));
  for (const char* what : {"Reload", "Save picture", "Save picture of the whole chart",
                           "Copy link to this place", "Find on this page", "Trace", "Next iteration"})
    EXPECT_TRUE(enabled(what)) << what;
  EXPECT_FALSE(enabled("Next iteration of the pipeline")) << "that page is not shown";
  showPage(QStringLiteral("pipeline"));
  EXPECT_FALSE(enabled("Next iteration"));
  EXPECT_TRUE(enabled("Next iteration of the pipeline"));
  EXPECT_FALSE(enabled("Previous iteration of the pipeline")) << "the first step is shown";
  QTest::keyClick(window.get(), Qt::Key_BracketRight);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(enabled("Previous iteration of the pipeline"));
  open(ProfileFixture({.fixed = true}).profile(), QStringLiteral("trace"));
  EXPECT_FALSE(enabled("Switch between cycles and seconds")) << "costs are neither";
  EXPECT_FALSE(enabled("Reload")) << "this profile is no file";
}

TEST_F(KeysTest, TypingIsNotTakenForKeys) {
  openOn(QStringLiteral("liveness"));
  auto* name = child<QLineEdit>(QStringLiteral("Step name"));
  const int mark = child<pages::Chart>()->mark();
  name->setFocus();
  QTest::keyClicks(name, QStringLiteral("p,.t"));
  EXPECT_EQ(name->text(), QStringLiteral("p,.t"));
  EXPECT_EQ(child<pages::Chart>()->mark(), mark);
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Liveness"));
  QTest::keyClick(name, Qt::Key_Escape);
  EXPECT_NE(window->focusWidget(), name) << "Esc gives the keyboard back to the page";
  showPage(QStringLiteral("liveness"));
  QTest::keyClick(window->focusWidget(), Qt::Key_Comma);
  EXPECT_EQ(child<pages::Chart>()->mark(), mark - 1);
}

}  // namespace
}  // namespace pipescope::testing
