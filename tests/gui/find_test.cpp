// Tests the search: on the trace by whole name paths, over all calls, and in the tables of every page.
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QSortFilterProxyModel>
#include <QTabWidget>
#include <QTableView>
#include <map>

#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/shell/dialogs/find_bar.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::DataTable;
using timeline::TimelineCanvas;
using Kind = geometry::TimelineItem::Kind;

/// Sums over the steps of a name path.
struct Expected {
  std::int64_t count = 0, sum = 0, min = INT64_MAX, max = 0;
};

class FindTest : public WindowTest {
 protected:
  void openPage(const QString& page, const FixtureOptions& options = {}) {
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), page);
    QApplication::setActiveWindow(window.get());
  }
  void beginFind() {
    QTest::keyClick(window->focusWidget(), Qt::Key_F, Qt::ControlModifier);
    ASSERT_TRUE(window->findBar()->isVisible());
  }
  void find(const QString& text) {
    window->findBar()->box()->setText(text);
    ASSERT_TRUE(settle());
  }
  QString answer() const { return window->findBar()->answer(); }

  /// Counts the steps of each name path that contains the text over all training calls, from the profile's
  /// rows.
  std::map<std::string, Expected> expected(const std::string& text) const {
    const model::ProfileSource& source = *fixture->profile();
    const analysis::Catalog& catalog = *window->session().snapshot()->catalog;
    std::map<std::int64_t, std::int64_t> placements;
    for (const model::Placement& row : **source.rows<model::Placement>()) ++placements[row.segment.value];
    std::map<std::string, Expected> found;
    for (const model::Step& row : **source.rows<model::Step>()) {
      if (catalog.segments[row.segment].executable != model::ExecutableId(0)) continue;
      const std::string path = catalog.programPath(row.program);
      if (!QString::fromStdString(path).contains(QString::fromStdString(text), Qt::CaseInsensitive)) continue;
      Expected& sum = found[path];
      sum.count += placements[row.segment.value];
      sum.sum += placements[row.segment.value] * row.ticks.count;
      sum.min = std::min(sum.min, row.ticks.count);
      sum.max = std::max(sum.max, row.ticks.count);
    }
    return found;
  }

  const DataTable* found() const {
    for (const DataTable* table : window->currentPage()->findChildren<DataTable*>()) {
      if (table->model()->table().key == "found") return table;
    }
    return nullptr;
  }

  std::unique_ptr<ProfileFixture> fixture;
};

TEST_F(FindTest, MatchesTheWholePathAndCountsAllCalls) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  beginFind();
  find(QStringLiteral("LAYER2/conv/Con"));
  ASSERT_EQ(canvas->selected().kind, Kind::step);
  EXPECT_EQ(canvas->scene().pathOf(canvas->selected()), "layer2/conv/Convolve");
  const auto all = expected("layer2/conv/con");
  std::int64_t steps = 0;
  for (const auto& [path, sums] : all) steps += sums.count;
  EXPECT_EQ(answer(), QStringLiteral("%1 steps of %2 names · layer2/conv/Convolve")
                          .arg(QString::fromStdString(geometry::groupedNumber(steps)))
                          .arg(all.size()));
  const sections::SectionTable& list = found()->model()->table();
  ASSERT_EQ(list.rows.size(), all.size());
  for (const auto& row : list.rows) {
    const Expected& of = all.at(std::get<std::string>(row[0]));
    const auto number = [&](std::size_t column) { return std::get<std::int64_t>(row[column]); };
    EXPECT_EQ(number(2), of.count);
    EXPECT_EQ(number(3), of.sum);
    EXPECT_EQ(number(4), of.min);
    EXPECT_EQ(number(6), of.max);
  }
  picture("find_trace");
}

TEST_F(FindTest, ListsEveryNameOfTheRun) {
  openPage(QStringLiteral("trace"));
  beginFind();
  find(QStringLiteral("conv"));
  const auto all = expected("conv");
  ASSERT_GT(all.size(), 2U);
  const sections::SectionTable& list = found()->model()->table();
  ASSERT_EQ(list.rows.size(), all.size());
  std::int64_t steps = 0;
  for (const auto& row : list.rows) {
    const auto& path = std::get<std::string>(row[0]);
    ASSERT_TRUE(all.contains(path)) << path;
    EXPECT_EQ(std::get<std::int64_t>(row[2]), all.at(path).count) << path;
    EXPECT_EQ(std::get<std::int64_t>(row[3]), all.at(path).sum) << path;
    steps += all.at(path).count;
  }
  EXPECT_TRUE(answer().startsWith(QStringLiteral("%1 steps of %2 names")
                                      .arg(QString::fromStdString(geometry::groupedNumber(steps)))
                                      .arg(all.size())))
      << answer().toStdString();
  auto* canvas = child<TimelineCanvas>();
  found()->view()->selectRow(static_cast<int>(all.size()) - 1);
  QTest::keyClick(found()->view(), Qt::Key_Return);
  const QString chosen = found()->shown()->index(static_cast<int>(all.size()) - 1, 0).data().toString();
  EXPECT_EQ(QString::fromStdString(canvas->scene().pathOf(canvas->selected())), chosen);
  find(QStringLiteral("no such step"));
  EXPECT_EQ(answer(), QStringLiteral("nothing found in any call"));
}

TEST_F(FindTest, DimsTheRestAndEscGoesBack) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  canvas->zoomTo(canvas->window().view.time(200), canvas->window().view.time(500), 0);
  ASSERT_TRUE(settle());
  const geometry::TimeView before = window->timeRange().view();
  const auto* tabs = child<QTabWidget>();
  ASSERT_EQ(tabs->currentIndex(), 0);
  const auto drawn = [&](geometry::ColourRole role) {
    return !canvas->scene().draw(canvas->window(), {}).fills[static_cast<std::size_t>(role)].empty();
  };
  ASSERT_TRUE(drawn(geometry::ColourRole::forward));
  EXPECT_FALSE(drawn(geometry::ColourRole::dimmed));
  beginFind();
  find(QStringLiteral("layer2/conv/Convolve"));
  EXPECT_TRUE(drawn(geometry::ColourRole::dimmed));
  EXPECT_TRUE(drawn(geometry::ColourRole::compute)) << "what was found";
  for (const auto role : {geometry::ColourRole::forward, geometry::ColourRole::backward,
                          geometry::ColourRole::activation, geometry::ColourRole::sync})
    EXPECT_FALSE(drawn(role)) << geometry::roleKey(role);
  for (int i = 0; i < 5; ++i) QTest::keyClick(window->findBar()->box(), Qt::Key_Return);
  canvas->zoomToAll();
  QTest::keyClick(canvas, Qt::Key_Escape);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->findBar()->isVisible());
  EXPECT_EQ(window->timeRange().view(), before);
  EXPECT_EQ(tabs->currentIndex(), 0) << "the table of the visible time, as before";
  EXPECT_FALSE(static_cast<bool>(canvas->selected()));
  EXPECT_TRUE(drawn(geometry::ColourRole::forward));
  EXPECT_FALSE(drawn(geometry::ColourRole::dimmed));
}

TEST_F(FindTest, NextGoesOnInTheNextCallAndEscComesBack) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  choose(child<QComboBox>(QStringLiteral("Call")), 0);
  ASSERT_TRUE(settle());
  const auto call = [&] { return canvas->scene().model()->trace->runs[0].id; };
  ASSERT_EQ(call(), model::RunId(0));
  const geometry::TimeView before = window->timeRange().view();
  canvas->zoomToAll();
  beginFind();
  find(QStringLiteral("layer2/conv/Convolve"));
  std::set<std::int64_t> starts;
  for (int i = 0; i < 200 && call() == model::RunId(0); ++i) {
    EXPECT_TRUE(starts.insert(canvas->selected().start.count).second) << "each step once";
    QTest::keyClick(window->findBar()->box(), Qt::Key_Return);
    ASSERT_TRUE(settle());
  }
  EXPECT_EQ(call(), model::RunId(1));
  EXPECT_EQ(canvas->scene().pathOf(canvas->selected()), "layer2/conv/Convolve");
  std::int64_t count = 0;
  for (const auto& [path, sums] : expected("layer2/conv/Convolve")) count += sums.count;
  EXPECT_EQ(static_cast<std::int64_t>(starts.size()), count / 3) << "the steps of one of three calls";
  QTest::keyClick(window->findBar()->box(), Qt::Key_Escape);
  ASSERT_TRUE(settle());
  EXPECT_EQ(call(), model::RunId(0));
  EXPECT_NE(window->timeRange().view(), before) << "the whole call was shown";
  EXPECT_EQ(window->timeRange().start(), canvas->scene().model()->trace->start);
}

TEST_F(FindTest, EscapeShowsTheFormerRows) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  window->resize(1024, 700);
  ASSERT_TRUE(settle());
  ASSERT_EQ(canvas->verticalScrollBar()->value(), 0);
  beginFind();
  find(QStringLiteral("layer4/linear"));
  EXPECT_GT(canvas->verticalScrollBar()->value(), 0) << "the match lies on the last device";
  QTest::keyClick(window->findBar()->box(), Qt::Key_Escape);
  ASSERT_TRUE(settle());
  EXPECT_EQ(canvas->verticalScrollBar()->value(), 0);
}

TEST_F(FindTest, AStepTellsTheLengthsOfAllStepsOfItsName) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  beginFind();
  find(QStringLiteral("layer2/conv/Convolve"));
  QTest::keyClick(window->findBar()->box(), Qt::Key_Escape);
  beginFind();
  find(QStringLiteral("layer2/conv/Convolve"));
  ASSERT_EQ(canvas->selected().kind, Kind::step);
  const std::string path = canvas->scene().pathOf(canvas->selected());
  const Expected of = expected(path).at(path);
  const auto* facts = child<pages::FactGrid>();
  const auto cycles = [](std::int64_t ticks) {
    return QString::fromStdString(geometry::groupedNumber(ticks)) + QStringLiteral(" cycles");
  };
  EXPECT_EQ(facts->value(QStringLiteral("Steps of this name")),
            QString::fromStdString(geometry::groupedNumber(of.count)));
  EXPECT_EQ(facts->value(QStringLiteral("Their sum")), cycles(of.sum));
  EXPECT_EQ(facts->value(QStringLiteral("Shortest · mean · longest")),
            QStringLiteral("%1 · %2 · %3")
                .arg(cycles(of.min), cycles((of.sum + of.count / 2) / of.count), cycles(of.max)));
}

TEST_F(FindTest, FiltersTheTablesOfEveryPage) {
  openPage(QStringLiteral("summary"), {.slowHost = true});
  for (const QString& page : window->pageIds()) {
    // An emulated run has no stragglers and is no recorded one, and nothing is compared, so these pages show
    // a sentence. The graph, the program tree, and the pages for answers have tests of their own.
    const QStringList others = {QStringLiteral("trace"),    QStringLiteral("stragglers"),
                                QStringLiteral("recorded"), QStringLiteral("compare"),
                                QStringLiteral("graph"),    QStringLiteral("programs"),
                                QStringLiteral("what-if"),  QStringLiteral("sweep")};
    if (others.contains(page)) continue;
    showPage(page);
    std::map<DataTable*, int> rows;
    for (DataTable* table : window->currentPage()->findChildren<DataTable*>()) {
      if (table->isVisible()) rows[table] = table->shown()->rowCount();
    }
    ASSERT_FALSE(rows.empty()) << page.toStdString();
    beginFind();
    find(QStringLiteral("zzz"));
    EXPECT_EQ(answer(), QStringLiteral("nothing found")) << page.toStdString();
    for (const auto& [table, count] : rows)
      EXPECT_EQ(table->shown()->rowCount(), 0) << page.toStdString() << ": " << table->title().toStdString();
    QTest::keyClick(window->findBar()->box(), Qt::Key_Escape);
    ASSERT_TRUE(settle());
    for (const auto& [table, count] : rows)
      EXPECT_EQ(table->shown()->rowCount(), count)
          << page.toStdString() << ": " << table->title().toStdString();
  }
}

}  // namespace
}  // namespace pipescope::testing
