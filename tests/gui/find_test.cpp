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
#include "views/pages/parts/tables/range_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/shell/dialogs/find_bar.h"
#include "views/timeline/legend.h"
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

TEST_F(FindTest, DimsTheRestAndEscKeepsWhatWasFound) {
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
  // The table of what was found begins where that of the devices does.
  const auto leftOf = [&](const QWidget* part) { return part->mapTo(tabs, QPoint(0, 0)).x(); };
  EXPECT_EQ(leftOf(tabs->currentWidget()->findChild<pages::DataTable*>()),
            leftOf(tabs->widget(0)->findChild<pages::RangeTable*>()));
  for (int i = 0; i < 5; ++i) QTest::keyClick(window->findBar()->box(), Qt::Key_Return);
  const geometry::TimelineItem last = canvas->selected();
  const geometry::TimeView there = window->timeRange().view();
  QTest::keyClick(canvas, Qt::Key_Escape);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->findBar()->isVisible());
  EXPECT_EQ(window->timeRange().view(), there);
  EXPECT_EQ(canvas->selected(), last) << "what was found stays selected";
  EXPECT_TRUE(drawn(geometry::ColourRole::forward));
  EXPECT_FALSE(drawn(geometry::ColourRole::dimmed));
  window->goBack();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->timeRange().view(), before) << "Back returns from where the search led";
  EXPECT_FALSE(static_cast<bool>(canvas->selected()));
}

TEST_F(FindTest, NextGoesOnInTheNextCall) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<TimelineCanvas>();
  choose(child<QComboBox>(QStringLiteral("Call")), 0);
  ASSERT_TRUE(settle());
  const auto call = [&] { return canvas->scene().model()->trace->runs[0].id; };
  ASSERT_EQ(call(), model::RunId(0));
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
  EXPECT_EQ(call(), model::RunId(1)) << "the step that was found stays in sight";
}

TEST_F(FindTest, TheFirstFoundRowOfATableStaysInSight) {
  openPage(QStringLiteral("operations"));
  const DataTable* table = nullptr;
  for (const DataTable* one : window->currentPage()->findChildren<DataTable*>()) {
    if (one->model()->table().key == "operations") table = one;
  }
  ASSERT_NE(table, nullptr);
  beginFind();
  find(QStringLiteral("layer3/relu"));
  ASSERT_EQ(table->shown()->rowCount(), 1);
  QTest::keyClick(window->findBar()->box(), Qt::Key_Escape);
  ASSERT_TRUE(settle());
  EXPECT_GT(table->shown()->rowCount(), 1);
  const QModelIndexList rows = table->view()->selectionModel()->selectedRows();
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows.front().data().toString(), QStringLiteral("layer3/relu"));
}

/// The longest stretch without work of each device, by brute force over ticks.
TEST_F(FindTest, FindsTheLongestGapOfADevice) {
  openPage(QStringLiteral("trace"));
  const model::ProfileSource& source = *fixture->profile();
  const analysis::Catalog& catalog = *window->session().snapshot()->catalog;
  const model::Run& run = *catalog.lastRunOf(model::ExecutableId(0));
  std::vector<std::pair<std::int64_t, std::int64_t>> waits;
  for (const model::Wait& wait : **source.rows<model::Wait>()) {
    if (wait.run == run.id && wait.device == model::DeviceId(2))
      waits.emplace_back(wait.start.count, wait.end.count);
  }
  std::sort(waits.begin(), waits.end());
  std::pair<std::int64_t, std::int64_t> longest, now;
  for (const auto& [start, end] : waits) {
    now = start <= now.second && now.second > 0 ? std::pair(now.first, std::max(now.second, end))
                                                : std::pair(start, end);
    if (now.second - now.first > longest.second - longest.first) longest = now;
  }
  ASSERT_GT(longest.second, longest.first);
  for (const char* words : {"longest gap of device 2", "gap ipu2", "Idle on IPU2"}) {
    beginFind();
    find(QString::fromLatin1(words));
    const shell::Selected& selected = window->selection().current();
    EXPECT_EQ(selected.kind, shell::Selected::Kind::wait) << words;
    EXPECT_EQ(selected.device, model::DeviceId(2));
    EXPECT_EQ(selected.start.count, longest.first);
    EXPECT_EQ(selected.end.count, longest.second);
    EXPECT_EQ(child<TimelineCanvas>()->selected().kind, Kind::wait);
    EXPECT_TRUE(answer().startsWith(QStringLiteral("gap 1 of "))) << answer().toStdString();
    QTest::keyClick(window->findBar()->box(), Qt::Key_Escape);
    EXPECT_EQ(child<TimelineCanvas>()->selected().kind, Kind::wait) << "Esc keeps it";
    window->selection().clear();
  }
  picture("find_gap");
  beginFind();
  find(QStringLiteral("gap"));
  const std::int64_t first = (window->selection().current().end - window->selection().current().start).count;
  QTest::keyClick(window->findBar()->box(), Qt::Key_Return);
  ASSERT_TRUE(settle());
  const shell::Selected& second = window->selection().current();
  EXPECT_LE((second.end - second.start).count, first) << "the longest comes first";
}

TEST_F(FindTest, WaitsListsTheLongestGaps) {
  openPage(QStringLiteral("waits"));
  const auto gaps = [&]() -> const DataTable* {
    for (const DataTable* table : window->currentPage()->findChildren<DataTable*>())
      if (table->model()->table().key == "gaps") return table;
    return nullptr;
  };
  ASSERT_NE(gaps(), nullptr);
  const auto column = [&](const char* key) {
    const auto& columns = gaps()->model()->table().columns;
    return static_cast<std::size_t>(std::ranges::find(columns, key, &sections::SectionColumn::key) -
                                    columns.begin());
  };
  const auto number = [&](const auto& row, const char* key) {
    return std::get<std::int64_t>(row[column(key)]);
  };
  const auto words = [&](const auto& row, const char* key) {
    return std::get<std::string>(row[column(key)]);
  };
  const auto& rows = gaps()->model()->table().rows;
  ASSERT_GT(rows.size(), 4U);
  for (std::size_t i = 1; i < rows.size(); ++i)
    EXPECT_GE(number(rows[i - 1], "cycles"), number(rows[i], "cycles"));
  auto* device = child<QComboBox>(QStringLiteral("Device of the gaps"));
  choose(device, 2);
  for (const auto& row : gaps()->model()->table().rows)
    EXPECT_EQ(words(row, "device_name"), device->currentText().toStdString());
  auto* cause = child<QComboBox>(QStringLiteral("Cause of the gaps"));
  choose(device, 0);
  choose(cause, 1);
  for (const auto& row : gaps()->model()->table().rows)
    EXPECT_EQ(words(row, "cause"), cause->currentText().toStdString());
  picture("waits_gaps");
  const QRect cell = gaps()->view()->visualRect(gaps()->shown()->index(0, 0));
  const std::int64_t wanted = number(gaps()->model()->table().rows[0], "start_cycles");
  QTest::mouseClick(gaps()->view()->viewport(), Qt::LeftButton, {}, cell.center());
  EXPECT_EQ(window->selection().current().kind, shell::Selected::Kind::wait);
  QTest::mouseDClick(gaps()->view()->viewport(), Qt::LeftButton, {}, cell.center());
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPageId(), QStringLiteral("trace"));
  const auto& item = child<TimelineCanvas>()->selected();
  EXPECT_EQ(item.kind, Kind::wait);
  EXPECT_GE(item.start.count, wanted);
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

/// A word in a legend, in a name of a bar or in a sentence is found as well as one in a table.
TEST_F(FindTest, MarksLegendsAndSentencesOfAPage) {
  openPage(QStringLiteral("stages"));
  QString sentence;
  for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) {
    if (label->isVisible() && label->textInteractionFlags().testFlag(Qt::TextSelectableByMouse) &&
        label->text().contains(QStringLiteral("faster")))
      sentence = label->text();
  }
  beginFind();
  find(QStringLiteral("waits:"));
  int inLegends = 0;
  for (timeline::Legend* legend : window->currentPage()->findChildren<timeline::Legend*>()) {
    if (!legend->isVisible()) continue;
    for (const auto& entry : legend->shown())
      inLegends += entry.text.contains(QStringLiteral("waits:")) ? 1 : 0;
  }
  ASSERT_GT(inLegends, 1);
  EXPECT_TRUE(answer().endsWith(QStringLiteral("%1 names and sentences").arg(inLegends)))
      << answer().toStdString();
  const auto marks = [this] {
    QStringList marked;
    for (const QLabel* label : window->currentPage()->findChildren<QLabel*>())
      if (label->hasSelectedText()) marked << label->selectedText();
    return marked;
  };
  EXPECT_TRUE(marks().isEmpty());
  if (!sentence.isEmpty()) {
    find(QStringLiteral("faster"));
    EXPECT_EQ(marks(), QStringList(QStringLiteral("faster")));
  }
  QTest::keyClick(window->findBar()->box(), Qt::Key_Escape);
  EXPECT_TRUE(marks().isEmpty());
}

/// Esc shows all rows again. The one that was found stays selected and in sight.
TEST_F(FindTest, TheFirstRowThatWasFoundStaysSelected) {
  openPage(QStringLiteral("operations"));
  DataTable* table = nullptr;
  for (DataTable* one : window->currentPage()->findChildren<DataTable*>()) {
    if (one->isVisible() && one->shown()->rowCount() > 2) {
      table = one;
      break;
    }
  }
  ASSERT_NE(table, nullptr);
  const int rows = table->shown()->rowCount();
  const QString last = table->shown()->index(rows - 1, 0).data().toString();
  beginFind();
  find(last);
  ASSERT_LT(table->shown()->rowCount(), rows);
  const QString first = table->shown()->index(0, 0).data().toString();
  QTest::keyClick(window->findBar()->box(), Qt::Key_Escape);
  ASSERT_TRUE(settle());
  EXPECT_EQ(table->shown()->rowCount(), rows);
  const QModelIndexList selected = table->view()->selectionModel()->selectedRows();
  ASSERT_EQ(selected.size(), 1);
  EXPECT_EQ(selected.front().data().toString(), first);
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
    std::map<const QAbstractItemModel*, int> rows;
    for (DataTable* table : window->currentPage()->findChildren<DataTable*>()) {
      if (table->isVisible()) rows[table->shown()] = table->shown()->rowCount();
    }
    for (pages::TreeTable* tree : window->currentPage()->findChildren<pages::TreeTable*>()) {
      if (tree->isVisible()) rows[tree->shown()] = tree->shown()->rowCount();
    }
    ASSERT_FALSE(rows.empty()) << page.toStdString();
    beginFind();
    find(QStringLiteral("zzz"));
    EXPECT_EQ(answer(), QStringLiteral("nothing found")) << page.toStdString();
    for (const auto& [table, count] : rows) EXPECT_EQ(table->rowCount(), 0) << page.toStdString();
    QTest::keyClick(window->findBar()->box(), Qt::Key_Escape);
    ASSERT_TRUE(settle());
    for (const auto& [table, count] : rows) EXPECT_EQ(table->rowCount(), count) << page.toStdString();
  }
}

}  // namespace
}  // namespace pipescope::testing
