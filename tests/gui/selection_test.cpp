// Tests that what is selected on one page is selected on all, and the menus and double clicks of rows, bars
// and boxes.
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QScrollBar>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QTreeView>
#include <algorithm>

#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/row_subject.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/shell/dialogs/command_palette.h"
#include "views/shell/dialogs/find_bar.h"
#include "views/shell/dialogs/settings_dialog.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/graph_canvas.h"
#include "views/timeline/item_chart.h"
#include "views/timeline/pipeline_canvas.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/wait_matrix.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::DataTable;
using Chosen = shell::Selected::Kind;

class SelectionTest : public WindowTest {
 protected:
  void openPage(const QString& page) {
    fixture = std::make_unique<ProfileFixture>(FixtureOptions{});
    open(fixture->profile(), page);
    QApplication::setActiveWindow(window.get());
  }
  void go(const char* page) {
    showPage(QString::fromLatin1(page));
    ASSERT_TRUE(settle());
  }
  DataTable* table(const std::string& key) const {
    for (DataTable* one : window->currentPage()->findChildren<DataTable*>()) {
      if (one->model()->table().key == key && one->isVisible()) return one;
    }
    ADD_FAILURE() << key;
    return nullptr;
  }
  /// Text in a column of the selected row; empty: no row is selected.
  static QString marked(const DataTable& of, const char* key = "name") {
    const auto& columns = of.model()->table().columns;
    const auto column = std::ranges::find(columns, key, &sections::SectionColumn::key);
    const QModelIndexList rows = of.view()->selectionModel()->selectedRows();
    if (rows.isEmpty() || column == columns.end()) return {};
    return rows.front().siblingAtColumn(static_cast<int>(column - columns.begin())).data().toString();
  }
  static void click(const DataTable& of, const QString& name) {
    for (int row = 0; row < of.shown()->rowCount(); ++row) {
      const QModelIndex cell = of.shown()->index(row, 0);
      if (cell.data().toString() != name) continue;
      of.view()->scrollTo(cell);
      QTest::mouseClick(of.view()->viewport(), Qt::LeftButton, {}, of.view()->visualRect(cell).center());
      return;
    }
    ADD_FAILURE() << name.toStdString();
  }
  static void rightClick(QWidget* widget, const QPoint& at) {
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, widget->mapToGlobal(at));
    QApplication::sendEvent(widget, &event);
  }
  /// Chooses an entry of the menu that is open, or of its menu "Show in", and closes it. False: there is
  /// none.
  static bool chooseInMenu(const QString& text) {
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    if (menu == nullptr) return false;
    QAction* found = nullptr;
    for (QAction* action : menu->actions()) {
      if (action->text() == text) found = action;
      if (action->menu() == nullptr) continue;
      for (QAction* inner : action->menu()->actions()) {
        if (inner->text() == text) found = inner;
      }
    }
    if (found != nullptr) found->trigger();
    menu->close();
    return found != nullptr;
  }
  const shell::Selected& selected() const { return window->selection().current(); }
  QString pageId() const { return window->currentPageId(); }

  std::unique_ptr<ProfileFixture> fixture;
};

TEST_F(SelectionTest, AnOperationIsSelectedOnEveryPage) {
  openPage(QStringLiteral("operations"));
  click(*table("operations"), QStringLiteral("layer2/conv"));
  EXPECT_EQ(selected().kind, Chosen::operation);
  EXPECT_EQ(selected().name, QStringLiteral("layer2/conv"));
  go("graph");
  auto* graph = child<timeline::GraphCanvas>();
  ASSERT_TRUE(waitFor([&] { return graph->selected() >= 0; }));
  EXPECT_EQ(selected().name, QStringLiteral("layer2/conv")) << "the page does not answer";
  picture("selected_graph");
  go("trace");
  auto* canvas = child<timeline::TimelineCanvas>();
  EXPECT_TRUE(QString::fromStdString(canvas->scene().pathOf(canvas->selected()))
                  .startsWith(QStringLiteral("layer2/conv")));
  go("programs");
  const auto* tree = child<pages::TreeTable>();
  ASSERT_GE(tree->markedRow(), 0);
  EXPECT_TRUE(tree->pathOf(tree->markedRow()).contains(QStringLiteral("layer2/conv")))
      << tree->pathOf(tree->markedRow()).toStdString();
  go("operations");
  EXPECT_EQ(marked(*table("operations")), QStringLiteral("layer2/conv"));
}

TEST_F(SelectionTest, AVariableIsSelectedInMemory) {
  openPage(QStringLiteral("summary"));
  shell::Selected weight;
  weight.kind = Chosen::variable;
  weight.name = QStringLiteral("layer2/weight");
  weight.device = model::DeviceId(1);
  window->select(QStringLiteral("memory"), weight);
  ASSERT_TRUE(settle());
  EXPECT_EQ(marked(*table("variables")), QStringLiteral("layer2/weight")) << "its tab has come to the front";
}

TEST_F(SelectionTest, AStepOfTheTraceIsItsOperation) {
  openPage(QStringLiteral("trace"));
  auto* canvas = child<timeline::TimelineCanvas>();
  window->findBar()->begin(QStringLiteral("layer3/linear"));
  ASSERT_TRUE(settle());
  ASSERT_EQ(canvas->selected().kind, geometry::TimelineItem::Kind::step);
  go("operations");
  EXPECT_EQ(marked(*table("operations")), QStringLiteral("layer3/linear"));
}

TEST_F(SelectionTest, AStageIsSelectedWithItsDevice) {
  openPage(QStringLiteral("stages"));
  const DataTable* stages = table("stages");
  QTest::mouseClick(stages->view()->viewport(), Qt::LeftButton, {},
                    stages->view()->visualRect(stages->shown()->index(2, 0)).center());
  EXPECT_EQ(selected().kind, Chosen::stage);
  EXPECT_EQ(selected().stage, 2);
  EXPECT_EQ(selected().device, model::DeviceId(2));
  go("pipeline");
  EXPECT_EQ(child<timeline::PipelineCanvas>()->litRow(), 2);
  go("system");
  EXPECT_EQ(table("devices")->view()->selectionModel()->selectedRows().size(), 1);
  EXPECT_EQ(table("devices")->view()->currentIndex().row(), 2);
  go("memory");
  EXPECT_EQ(child<pages::Chart>()->litBand(), 2);
}

/// The trace scrolls to a device that another page selects, once: after that the user scrolls.
TEST_F(SelectionTest, TheTraceScrollsToTheDeviceOfAStage) {
  window->resize(1024, 700);
  openPage(QStringLiteral("stages"));
  auto* bars = child<timeline::BarChart>();
  const int last = static_cast<int>(bars->bars().size()) - 1;
  QTest::mouseDClick(bars, Qt::LeftButton, {}, bars->partRect({last, 0}).center());
  ASSERT_TRUE(settle());
  ASSERT_EQ(pageId(), QStringLiteral("trace"));
  auto* canvas = child<timeline::TimelineCanvas>();
  const int device = window->session().snapshot()->catalog->device(selected().device) == nullptr
                         ? -1
                         : canvas->scene().model()->trace->deviceIndex(selected().device);
  const auto& groups = canvas->scene().layout().groups;
  const auto group = std::ranges::find(groups, device, &geometry::TimelineGroup::device);
  ASSERT_NE(group, groups.end());
  ASSERT_GT(group->y, canvas->viewport()->height()) << "else there is nothing to scroll";
  const geometry::TimelineWindow seen = canvas->window();
  EXPECT_GE(group->y, seen.top + canvas->scene().layout().pinned) << "pinned rows lie over it";
  EXPECT_LE(group->y + group->height, seen.top + seen.height) << "the whole group is seen";
  canvas->verticalScrollBar()->setValue(0);
  go("stages");
  go("trace");
  EXPECT_EQ(canvas->verticalScrollBar()->value(), 0);
}

TEST_F(SelectionTest, BarsHaveAMenuAndLeadToTheTrace) {
  openPage(QStringLiteral("stages"));
  timeline::BarChart* bars = nullptr;
  for (auto* one : window->currentPage()->findChildren<timeline::BarChart*>()) {
    if (one->bars().size() == 4 && bars == nullptr) bars = one;
  }
  ASSERT_NE(bars, nullptr);
  const QPoint at = bars->partRect({1, 0}).center();
  rightClick(bars, at);
  EXPECT_TRUE(chooseInMenu(QStringLiteral("Copy name")));
  EXPECT_EQ(QApplication::clipboard()->text(), QStringLiteral("stage 1"));
  rightClick(bars, at);
  EXPECT_TRUE(chooseInMenu(QStringLiteral("Memory")));
  ASSERT_TRUE(settle());
  EXPECT_EQ(pageId(), QStringLiteral("memory"));
  EXPECT_EQ(child<pages::Chart>()->litBand(), 1);
  window->goBack();
  EXPECT_EQ(pageId(), QStringLiteral("stages"));
  QTest::mouseDClick(bars, Qt::LeftButton, {}, at);
  ASSERT_TRUE(settle());
  EXPECT_EQ(pageId(), QStringLiteral("trace"));
  EXPECT_EQ(selected().stage, 1);
}

TEST_F(SelectionTest, ItemsOfChartsAreChosenByKeys) {
  openPage(QStringLiteral("stages"));
  timeline::BarChart* bars = nullptr;
  for (auto* one : window->currentPage()->findChildren<timeline::BarChart*>())
    if (one->bars().size() == 4 && bars == nullptr) bars = one;
  ASSERT_NE(bars, nullptr);
  bars->setFocus(Qt::TabFocusReason);
  const auto press = [](QWidget* chart, int key) { QTest::keyClick(chart, static_cast<Qt::Key>(key)); };
  for (const auto& [key, stage] : {std::pair(Qt::Key_Down, 0),
                                   {Qt::Key_Down, 1},
                                   {Qt::Key_Up, 0},
                                   {Qt::Key_Up, 0},
                                   {Qt::Key_End, 3},
                                   {Qt::Key_Right, 3},
                                   {Qt::Key_Home, 0}}) {
    press(bars, key);
    EXPECT_EQ(selected().stage, stage);
  }
  QContextMenuEvent menu(QContextMenuEvent::Keyboard, bars->rect().center(),
                         bars->mapToGlobal(bars->rect().center()));
  QApplication::sendEvent(bars, &menu);
  EXPECT_TRUE(chooseInMenu(QStringLiteral("Copy name")));
  EXPECT_EQ(QApplication::clipboard()->text(), QStringLiteral("stage 0")) << "not the bar in the middle";
  press(bars, Qt::Key_Return);
  ASSERT_TRUE(settle());
  EXPECT_EQ(pageId(), QStringLiteral("trace"));
  go("waits");
  auto* matrix = child<timeline::WaitMatrix>();
  press(matrix, Qt::Key_End);
  EXPECT_EQ(selected().device, model::DeviceId(3));
  press(matrix, Qt::Key_Up);
  EXPECT_EQ(selected().device, model::DeviceId(2));
  go("system");
  auto* chips = child<timeline::ItemChart>();
  press(chips, Qt::Key_Home);
  EXPECT_EQ(selected().device, model::DeviceId(0));
  press(chips, Qt::Key_Enter);
  ASSERT_TRUE(settle());
  EXPECT_EQ(pageId(), QStringLiteral("trace"));
  // The Tab key goes past bars that lead nowhere.
  go("summary");
  for (const auto* one : window->currentPage()->findChildren<timeline::BarChart*>())
    EXPECT_EQ(one->focusPolicy(), Qt::NoFocus);
}

TEST_F(SelectionTest, BarsOfMemoryAndLivenessLeadToTheTrace) {
  openPage(QStringLiteral("memory"));
  // A tile leads to its device.
  const auto lowOn = [](const pages::Chart* chart, int index) {
    return QPoint(static_cast<int>(chart->transform(QwtPlot::xBottom, index + 0.5)),
                  chart->canvas()->height() - 4);
  };
  auto* tiles = child<pages::Chart>();
  QTest::mouseDClick(tiles->canvas(), Qt::LeftButton, {}, lowOn(tiles, 2 * 1472 + 700));
  ASSERT_TRUE(settle());
  EXPECT_EQ(pageId(), QStringLiteral("trace"));
  EXPECT_EQ(selected().device, model::DeviceId(2));
  // A step leads to its program.
  go("liveness");
  ASSERT_TRUE(settle());
  auto* steps = child<pages::Chart>();
  ASSERT_GT(steps->size(), 3);
  QTest::mouseDClick(steps->canvas(), Qt::LeftButton, {}, lowOn(steps, 3));
  ASSERT_TRUE(settle());
  EXPECT_EQ(pageId(), QStringLiteral("trace"));
  EXPECT_TRUE(selected().program.valid());
  EXPECT_FALSE(selected().name.isEmpty());
  // Above the bars, nothing is meant.
  go("liveness");
  ASSERT_TRUE(settle());
  QTest::mouseDClick(steps->canvas(), Qt::LeftButton, {}, QPoint(lowOn(steps, 3).x(), 2));
  EXPECT_EQ(pageId(), QStringLiteral("liveness"));
}

TEST_F(SelectionTest, BoxesOfThePipelineAndTheGraphDoSo) {
  openPage(QStringLiteral("pipeline"));
  auto* pipeline = child<timeline::PipelineCanvas>();
  const QPoint cell = pipeline->cellRect(5).center();
  rightClick(pipeline->viewport(), cell);
  EXPECT_TRUE(chooseInMenu(QStringLiteral("Stages")));
  ASSERT_TRUE(settle());
  EXPECT_EQ(pageId(), QStringLiteral("stages"));
  go("pipeline");
  QTest::mouseDClick(pipeline->viewport(), Qt::LeftButton, {}, cell);
  ASSERT_TRUE(settle());
  EXPECT_EQ(pageId(), QStringLiteral("trace"));
  EXPECT_EQ(child<timeline::TimelineCanvas>()->selected().kind, geometry::TimelineItem::Kind::pass);
  go("graph");
  auto* graph = child<timeline::GraphCanvas>();
  ASSERT_TRUE(waitFor([&] { return graph->boxes() > 0; }));
  rightClick(graph, graph->boxRect(0).center());
  EXPECT_TRUE(chooseInMenu(QStringLiteral("Operations")));
  ASSERT_TRUE(settle());
  EXPECT_FALSE(marked(*table("operations")).isEmpty());
  EXPECT_FALSE(window->findBar()->isVisible()) << "the row is there";
}

TEST_F(SelectionTest, RowsOfTreesHaveAMenu) {
  openPage(QStringLiteral("programs"));
  auto* tree = child<pages::TreeTable>();
  int leaf = -1;
  for (int row = 0; row < static_cast<int>(tree->ownRows().parents.size()) && leaf < 0; ++row) {
    if (tree->pathOf(row).contains(QStringLiteral("layer1/conv"))) leaf = row;
  }
  ASSERT_GE(leaf, 0);
  const std::unique_ptr<QMenu> menu(tree->makeRowMenu(leaf));
  QMenu* pages = nullptr;
  for (QAction* action : menu->actions()) {
    if (action->text() == QStringLiteral("Show in")) pages = action->menu();
  }
  ASSERT_NE(pages, nullptr);
  for (QAction* action : pages->actions()) {
    EXPECT_NE(action->text(), QStringLiteral("Programs")) << "the page itself";
    if (action->text() == QStringLiteral("Operations")) action->trigger();
  }
  ASSERT_TRUE(settle());
  EXPECT_EQ(marked(*table("operations")), QStringLiteral("layer1/conv"));
}

/// Opens the palette, types the words, and waits for the names of the profile.
class PaletteTest : public SelectionTest {
 protected:
  shell::CommandPalette* type(const char* words) {
    for (const shell::Actions::Entry& entry : window->actions().entries()) {
      if (entry.what == QStringLiteral("Commands")) entry.action->trigger();
    }
    auto* opened = window->findChild<shell::CommandPalette*>();
    EXPECT_NE(opened, nullptr);
    opened->box()->setText(QString::fromLatin1(words));
    EXPECT_TRUE(waitFor([&] { return !opened->answer().startsWith(QStringLiteral("Looking")); }));
    return opened;
  }
  static int rowOf(const shell::CommandPalette& of, const QString& beginning) {
    for (int row = 0; row < of.list()->count(); ++row) {
      if (of.list()->item(row)->text().startsWith(beginning)) return row;
    }
    ADD_FAILURE() << beginning.toStdString();
    return -1;
  }
  void run(shell::CommandPalette& of, const QString& beginning) {
    of.list()->setCurrentRow(rowOf(of, beginning));
    QTest::keyClick(of.box(), Qt::Key_Return);
    QApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    ASSERT_TRUE(settle());
  }
};

TEST_F(PaletteTest, FindsOperationsAndVariables) {
  openPage(QStringLiteral("summary"));
  run(*type("layer2/conv"), QStringLiteral("layer2/conv   —   Operation"));
  EXPECT_EQ(pageId(), QStringLiteral("operations"));
  EXPECT_EQ(marked(*table("operations")), QStringLiteral("layer2/conv"));
  shell::CommandPalette* names = type("layer1 weight");
  const QString variable = names->list()->item(rowOf(*names, QStringLiteral("layer1/")))->text();
  run(*names, QStringLiteral("layer1/"));
  EXPECT_EQ(pageId(), variable.contains(QStringLiteral("Variable")) ? QStringLiteral("memory")
                                                                    : QStringLiteral("operations"));
}

TEST_F(PaletteTest, FindsStagesDevicesGapsSettingsAndWords) {
  openPage(QStringLiteral("summary"));
  run(*type("stage 2"), QStringLiteral("Stage 2"));
  EXPECT_EQ(pageId(), QStringLiteral("stages"));
  EXPECT_EQ(selected().stage, 2);
  run(*type("gap ipu1"), QStringLiteral("Longest gap of IPU1"));
  ASSERT_TRUE(waitFor([&] { return selected().kind == Chosen::wait; }));
  EXPECT_EQ(pageId(), QStringLiteral("trace"));
  EXPECT_EQ(selected().device, model::DeviceId(1));
  run(*type("ipu3"), QStringLiteral("Go to IPU3"));
  EXPECT_EQ(pageId(), QStringLiteral("trace"));
  run(*type("wheel"), QStringLiteral("Wheel on timelines"));
  auto* settings = window->findChild<shell::SettingsDialog*>();
  ASSERT_NE(settings, nullptr);
  EXPECT_EQ(settings->focusWidget()->accessibleName(), QStringLiteral("Wheel on timelines"));
  settings->reject();
  shell::CommandPalette* words = type("bubble");
  EXPECT_GE(rowOf(*words, QStringLiteral("bubble")), 0);
  words->reject();
}

TEST_F(PaletteTest, SaysWhenNothingMatches) {
  openPage(QStringLiteral("summary"));
  shell::CommandPalette* none = type("xyzzy");
  EXPECT_EQ(none->list()->count(), 0);
  EXPECT_EQ(none->answer(), QStringLiteral("Nothing matches “xyzzy”."));
  none->box()->setText(QStringLiteral("quit"));
  EXPECT_GT(none->list()->count(), 0);
  EXPECT_TRUE(waitFor([&] { return none->answer().isEmpty(); }));
}

/// The table of all tiles calls its column "Name".
TEST(Subjects, VariablesAreKnownByTheirTable) {
  sections::SectionTable table{
      "variables", "Variables", "", {{"name", "Name"}, {"device_name", "Device"}}, {}};
  table.rows = {{std::string("a/weight"), std::string("IPU1")},
                {std::string("b/weight"), std::string("IPU1")}};
  EXPECT_EQ(pages::subjectOf(table, 1, nullptr).kind, Chosen::variable);
  shell::Selected wanted;
  wanted.kind = Chosen::variable;
  wanted.name = QStringLiteral("b/weight");
  EXPECT_EQ(pages::rowAbout(wanted, table, nullptr), 1);
  table.key = "host";
  EXPECT_EQ(pages::subjectOf(table, 1, nullptr).kind, Chosen::none) << "names of another kind";
}

TEST(Subjects, TheNearestNameIsFound) {
  const QStringList names = {QStringLiteral("layer1"), QStringLiteral("layer1/conv"),
                             QStringLiteral("layer10"), QStringLiteral("head/out")};
  const auto nearest = [&](const char* wanted) {
    return pages::nearestName(QString::fromLatin1(wanted), names.size(), [&](int i) { return names[i]; });
  };
  EXPECT_EQ(nearest("layer1"), 0);
  EXPECT_EQ(nearest("layer1/conv"), 1);
  EXPECT_EQ(nearest("layer1/conv/Convolve"), 1) << "the nearest around it";
  EXPECT_EQ(nearest("layer1.weight"), 0);
  EXPECT_EQ(nearest("head"), 3) << "what lies within it";
  EXPECT_EQ(nearest("layer100"), -1) << "another name that begins alike";
}

}  // namespace
}  // namespace pipescope::testing
