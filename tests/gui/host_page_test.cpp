// Tests the page about the host by mouse and keyboard.
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QLabel>
#include <QMenu>
#include <QSortFilterProxyModel>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QTreeView>
#include <cmath>
#include <map>
#include <optional>

#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/host_canvas.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using geometry::HostHit;
using pages::DataTable;
using pages::FactGrid;
using timeline::HostCanvas;

class HostPageTest : public WindowTest {
 protected:
  void openHost(const FixtureOptions& options = {}) {
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), QStringLiteral("host"));
  }
  HostCanvas& canvas() const { return *child<HostCanvas>(); }
  const analysis::HostTimeline& line() const { return *canvas().scene().timeline(); }
  DataTable* table(const QString& title) const {
    for (DataTable* found : window->currentPage()->findChildren<DataTable*>()) {
      if (found->title() == title) return found;
    }
    return nullptr;
  }
  QString fact(const QString& name) const { return child<FactGrid>()->value(name); }
  /// The n-th span of this name on the main thread, counted from 1.
  HostHit span(const char* name, int number = 1) const {
    const analysis::HostLane& lane = line().lanes[0];
    for (std::size_t i = 0; i < lane.spans.size(); ++i) {
      if (line().names[static_cast<std::size_t>(lane.spans[i].name)].name == name && --number == 0)
        return {HostHit::Kind::span, 0, i};
    }
    ADD_FAILURE() << "no such span: " << name;
    return {};
  }
  QPoint middleOf(const HostHit& hit) const { return canvas().rectOf(hit).center(); }
  std::int64_t rowsShown() const { return table(QStringLiteral("Names"))->shown()->rowCount(); }

  std::unique_ptr<ProfileFixture> fixture;
};

TEST_F(HostPageTest, TheTraceShowsWhatTheHostDidMeanwhile) {
  fixture = std::make_unique<ProfileFixture>();
  open(fixture->profile(), QStringLiteral("trace"));
  auto* tabs = child<QTabWidget>();
  int place = -1;
  for (int i = 0; i < tabs->count(); ++i) {
    if (tabs->tabText(i) == QStringLiteral("Host")) place = i;
  }
  ASSERT_TRUE(place >= 0 && tabs->isTabVisible(place));
  EXPECT_EQ(child<HostCanvas>(), nullptr) << "nothing is read before it is shown";
  QTest::mouseClick(tabs->tabBar(), Qt::LeftButton, {}, tabs->tabBar()->tabRect(place).center());
  ASSERT_TRUE(settle());
  auto* trace = child<timeline::TimelineCanvas>();
  const auto runs = fixture->profile()->rows<model::Run>();
  // The wall time of a moment of the devices, by hand.
  const auto wall = [&](base::Ticks time) {
    for (const model::Run& run : **runs) {
      if (time < run.start || time >= run.end) continue;
      const double share =
          static_cast<double>((time - run.start).count) / static_cast<double>((run.end - run.start).count);
      return static_cast<double>(run.wallStartNs - line().zero) +
             share * static_cast<double>(run.wallEndNs - run.wallStartNs);
    }
    return -1.0;
  };
  for (const double factor : {1.0, 4.0}) {
    trace->zoomBy(factor);
    ASSERT_TRUE(settle());
    const geometry::TimeView& shown = trace->window().view;
    EXPECT_NEAR(static_cast<double>(canvas().view().start().count), wall(shown.start()), 1e5) << factor;
    EXPECT_NEAR(static_cast<double>(canvas().view().end().count), wall(shown.end() - base::Ticks(1)), 1e5)
        << factor;
  }
  picture("trace_host");
}

/// The menu of the right button on something of the host's timeline.
QMenu* menuAt(HostCanvas& canvas, const QPoint& place) {
  QContextMenuEvent event(QContextMenuEvent::Mouse, place, canvas.viewport()->mapToGlobal(place));
  QApplication::sendEvent(canvas.viewport(), &event);
  const auto menus = canvas.findChildren<QMenu*>(QString(), Qt::FindDirectChildrenOnly);
  return menus.isEmpty() ? nullptr : menus.back();
}

TEST_F(HostPageTest, TheRightButtonCopiesANameAndShowsACallOnTheTrace) {
  openHost();
  const auto actionOf = [](const QMenu* menu, const QString& name) -> QAction* {
    for (QAction* action : menu == nullptr ? QList<QAction*>() : menu->actions())
      if (action->text() == name) return action;
    return nullptr;
  };
  const HostHit call{HostHit::Kind::call, 0, 1};
  QMenu* menu = menuAt(canvas(), middleOf(call));
  ASSERT_NE(actionOf(menu, QStringLiteral("Copy name")), nullptr);
  actionOf(menu, QStringLiteral("Copy name"))->trigger();
  const QString name = QString::fromStdString(line().calls[1].name);
  EXPECT_EQ(QApplication::clipboard()->text(), name);
  EXPECT_EQ(canvas().selected(), call);
  EXPECT_EQ(actionOf(menu, QStringLiteral("Dim all other names")), nullptr);
  const auto showsTrace = [&](const QMenu* of) -> QAction* {
    const QAction* pages = actionOf(of, QStringLiteral("Show in"));
    return pages == nullptr ? nullptr : actionOf(pages->menu(), QStringLiteral("Trace"));
  };
  ASSERT_NE(showsTrace(menu), nullptr);
  showsTrace(menu)->trigger();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Trace"));
}

/// A span lies at the same share of its call in wall time and on the devices.
TEST_F(HostPageTest, ADoubleClickShowsOnTheTraceWhatTheDevicesDidDuringASpan) {
  openHost();
  const analysis::HostCall& call = line().calls[1];
  std::optional<HostHit> within;
  for (std::size_t lane = 0; lane < line().lanes.size() && !within; ++lane) {
    const auto& spans = line().lanes[lane].spans;
    for (std::size_t i = 0; i < spans.size() && !within; ++i)
      if (spans[i].start > call.start && spans[i].end < call.end)
        within = HostHit{HostHit::Kind::span, lane, i};
  }
  ASSERT_TRUE(within) << "the fixture has spans within its calls";
  canvas().select(*within);
  const base::Ticks start = canvas().scene().timesOf(*within).first;
  const model::Run* run = nullptr;
  const auto catalog = window->session().snapshot()->catalog;
  for (const model::Run& each : catalog->runs)
    if (each.name == call.name) run = &each;
  ASSERT_NE(run, nullptr);
  const double share =
      static_cast<double>((start - call.start).count) / static_cast<double>((call.end - call.start).count);
  const base::Ticks wanted =
      run->start + base::Ticks(std::llround(share * static_cast<double>((run->end - run->start).count)));
  QTest::mouseDClick(canvas().viewport(), Qt::LeftButton, {}, middleOf(*within));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Trace"));
  EXPECT_LE(window->timeRange().start(), wanted);
  EXPECT_GT(window->timeRange().end(), wanted);
  window->goBack();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Host"));
}

TEST_F(HostPageTest, ATraceWithoutSpansOfTheHostHasNoSuchTab) {
  open(ProfileFixture({.imported = true}).profile(), QStringLiteral("trace"));
  for (int i = 0; i < child<QTabWidget>()->count(); ++i)
    EXPECT_FALSE(child<QTabWidget>()->tabText(i) == QStringLiteral("Host") &&
                 child<QTabWidget>()->isTabVisible(i));
}

TEST_F(HostPageTest, TheTableCountsTheSpansOfEachName) {
  openHost();
  std::map<std::string, std::int64_t> counts;
  const auto names = fixture->profile()->rows<model::HostName>();
  for (const model::HostSpan& row : **fixture->profile()->rows<model::HostSpan>())
    counts[(**names)[static_cast<std::size_t>(row.name.value)].name] += row.end > row.start ? 1 : 0;
  std::erase_if(counts, [](const auto& each) { return each.second == 0; });
  DataTable* shown = table(QStringLiteral("Names"));
  ASSERT_NE(shown, nullptr);
  ASSERT_EQ(shown->shown()->rowCount(), static_cast<int>(counts.size()));
  for (const auto& cells : shown->model()->table().rows)
    EXPECT_EQ(std::get<std::int64_t>(cells[2]), counts[std::get<std::string>(cells[1])]);
  picture("host");
}

TEST_F(HostPageTest, AClickSelectsASpanAndSaysWhatItIs) {
  openHost();
  const HostHit call = span("compute a call", 2);
  QTest::mouseClick(canvas().viewport(), Qt::LeftButton, {}, middleOf(call));
  ASSERT_TRUE(canvas().selected().has_value());
  EXPECT_EQ(*canvas().selected(), call);
  EXPECT_EQ(fact(QStringLiteral("Name")), QStringLiteral("compute a call"));
  EXPECT_EQ(fact(QStringLiteral("Thread")), QStringLiteral("main"));
  EXPECT_EQ(fact(QStringLiteral("Length")), QStringLiteral("850 ms"));
  EXPECT_EQ(fact(QStringLiteral("Within")), QStringLiteral("training → compute a call"));
  EXPECT_EQ(fact(QStringLiteral("Call")), QStringLiteral("training call 2"));
  EXPECT_EQ(child<QTabWidget>()->tabText(child<QTabWidget>()->currentIndex()), QStringLiteral("Details"));
  QTest::keyClick(&canvas(), Qt::Key_Up);
  EXPECT_EQ(fact(QStringLiteral("Name")), QStringLiteral("training"));
  QTest::keyClick(&canvas(), Qt::Key_Escape);
  EXPECT_FALSE(canvas().selected().has_value());
}

TEST_F(HostPageTest, TheTablesFollowTheVisibleTime) {
  openHost();
  const std::int64_t all = rowsShown();
  const auto [start, end] = canvas().scene().timesOf(span("update weights"));
  canvas().zoomTo(start, end);
  ASSERT_TRUE(waitFor([&] { return rowsShown() < all; }));
  EXPECT_LT(canvas().view().span(), static_cast<double>(line().end.count) / 10);
  QTest::keyClick(&canvas(), Qt::Key_0);
  ASSERT_TRUE(waitFor([&] { return rowsShown() == all; }));
}

TEST_F(HostPageTest, WheelDragAndOverviewMoveTheView) {
  openHost();
  const geometry::TimeView all = canvas().view();
  canvas().select(span("compute a call", 3));
  QTest::keyClick(&canvas(), Qt::Key_F);
  const geometry::TimeView zoomed = canvas().view();
  EXPECT_LT(zoomed.span(), all.span() / 2);
  QTest::mousePress(canvas().viewport(), Qt::LeftButton, {}, {500, HostCanvas::kHead + 40});
  dragTo(canvas().viewport(), {600, HostCanvas::kHead + 40});
  QTest::mouseRelease(canvas().viewport(), Qt::LeftButton, {}, {600, HostCanvas::kHead + 40});
  EXPECT_LT(canvas().view().start(), zoomed.start());
  QTest::mouseClick(canvas().viewport(), Qt::LeftButton, {}, {HostCanvas::kGutter + 2, 15});
  EXPECT_EQ(canvas().view().start().count, 0);
  EXPECT_NEAR(canvas().view().span(), zoomed.span(), 2);
}

TEST_F(HostPageTest, ANameIsChosenInTheTableOrTheList) {
  openHost();
  auto* names = child<QComboBox>();
  ASSERT_NE(names, nullptr);
  EXPECT_EQ(canvas().only(), -1);
  Q_EMIT table(QStringLiteral("Names"))->rowActivated(0);
  EXPECT_GE(canvas().only(), 0);
  EXPECT_EQ(names->currentIndex(), canvas().only() + 1);
  // The classes of lengths add up to the spans of the name.
  double sum = 0;
  for (const geometry::Bar& bar : child<timeline::BarChart>()->bars()) sum += bar.total();
  EXPECT_EQ(sum, static_cast<double>(
                     std::get<std::int64_t>(table(QStringLiteral("Names"))->model()->table().rows[0][2])));
  choose(names, 0);
  EXPECT_EQ(canvas().only(), -1);
}

TEST_F(HostPageTest, TheCallTreeHasTheThreadsAsRoots) {
  openHost();
  auto* tree = child<pages::TreeTable>();
  ASSERT_NE(tree, nullptr);
  const QAbstractItemModel* rows = tree->shown();
  ASSERT_EQ(rows->rowCount(), 3);
  QStringList roots;
  for (int i = 0; i < 3; ++i) roots << rows->index(i, 0).data().toString();
  roots.sort();
  EXPECT_EQ(roots,
            QStringList({QStringLiteral("data reader"), QStringLiteral("main"), QStringLiteral("worker 1")}));
}

TEST_F(HostPageTest, FindGoesFromSpanToSpan) {
  openHost();
  shell::Page* page = window->currentPage();
  EXPECT_EQ(page->find(QStringLiteral("UPDATE"), 0), QStringLiteral("1 of 16"));
  const auto first = canvas().selected();
  EXPECT_EQ(page->find(QStringLiteral("UPDATE"), 1), QStringLiteral("2 of 16"));
  EXPECT_NE(canvas().selected(), first);
  EXPECT_EQ(page->find(QStringLiteral("UPDATE"), -1), QStringLiteral("1 of 16"));
  EXPECT_EQ(canvas().selected(), first);
  EXPECT_EQ(page->find(QStringLiteral("no such name"), 0), QStringLiteral("nothing found"));
}

TEST_F(HostPageTest, ThePointerSaysWhatIsThere) {
  openHost();
  hover(canvas().viewport(), middleOf(span("wait for a batch")));
  const QImage with = canvas().grab().toImage();
  hover(canvas().viewport(), QPoint(20, HostCanvas::kHead + 20));
  EXPECT_NE(with, canvas().grab().toImage());
}

TEST_F(HostPageTest, AGrowingProfileKeepsTheView) {
  openHost({.finish = false});
  const auto [start, end] = canvas().scene().timesOf(span("update weights"));
  canvas().zoomTo(start, end);
  const geometry::TimeView before = canvas().view();
  const std::size_t calls = line().calls.size();
  fixture->addTrainingRun();
  ASSERT_TRUE(waitFor([&] { return line().calls.size() > calls; }));
  EXPECT_EQ(canvas().view(), before);
}

TEST_F(HostPageTest, WithoutRecordedSpansASentenceSaysWhy) {
  openHost({.imported = true});
  EXPECT_TRUE(window->currentPage()->notice().contains(QStringLiteral("trace of another tool")))
      << window->currentPage()->notice().toStdString();
}

TEST_F(HostPageTest, OtherKindsOfProfilesAreShown) {
  for (const FixtureOptions& options : {FixtureOptions{.fixed = true}, FixtureOptions{.overflow = true},
                                        FixtureOptions{.inference = false}}) {
    openHost(options);
    EXPECT_TRUE(window->currentPage()->notice().isEmpty()) << window->currentPage()->notice().toStdString();
    EXPECT_GT(line().spanCount(), 0u);
  }
}

}  // namespace
}  // namespace pipescope::testing
