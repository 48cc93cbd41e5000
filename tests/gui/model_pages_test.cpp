// Tests the pages about the model: operations with their tree, treemap and roofline, programs, and the graph.
#include <QAction>
#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTabWidget>
#include <QTableView>
#include <QTemporaryDir>
#include <QTreeView>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "profiler/analysis/model/model_graph.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/program_rows.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/operation_details.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/graph_canvas.h"
#include "views/timeline/item_chart.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::DataTable;
using pages::TreeTable;
using timeline::GraphCanvas;
using timeline::ItemChart;

class ModelPagesTest : public WindowTest {
 protected:
  void openPage(const QString& page, const FixtureOptions& options = {}) {
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), page);
  }
  void chooseIn(const char* box, int index) { choose(child<QComboBox>(QString::fromUtf8(box)), index); }
  DataTable* table(const QString& title) const {
    for (DataTable* found : window->currentPage()->findChildren<DataTable*>()) {
      if (found->title() == title) return found;
    }
    return nullptr;
  }
  QAction* command(const QString& text) const {
    for (QAction* action : window->currentPage()->actions()) {
      if (action->text() == text) return action;
    }
    return nullptr;
  }
  sections::Section section(const char* name) const {
    const auto catalog = *analysis::loadCatalog(*fixture->profile());
    return *makeSection(**sections::findSection(name),
                        {*fixture->profile(), *catalog, catalog->executables.front().id});
  }

  std::unique_ptr<ProfileFixture> fixture;
};

TEST_F(ModelPagesTest, OperationsAreATreeOfTheirNames) {
  openPage(QStringLiteral("operations"));
  chooseIn("Arrangement", 1);
  ASSERT_TRUE(settle());
  auto* tree = child<TreeTable>();
  ASSERT_TRUE(tree->isVisible());
  const pages::TreeRows& rows = tree->model()->rows();
  const auto& columns = rows.table.columns;
  const auto cycles = static_cast<std::size_t>(
      std::ranges::find(columns, "cycles", &sections::SectionColumn::key) - columns.begin());
  // A row that the tree has made is the sum of the rows below it.
  for (std::size_t i = 0; i < rows.sources.size(); ++i) {
    if (rows.sources[i] >= 0) continue;
    std::int64_t below = 0;
    for (std::size_t j = 0; j < rows.sources.size(); ++j) {
      if (rows.parents[j] == static_cast<int>(i)) below += std::get<std::int64_t>(rows.table.rows[j][cycles]);
    }
    EXPECT_EQ(std::get<std::int64_t>(rows.table.rows[i][cycles]), below);
  }
  const auto made = std::ranges::find(rows.sources, -1);
  ASSERT_NE(made, rows.sources.end()) << "several layers share a beginning";
  Q_EMIT tree->rowActivated(static_cast<int>(made - rows.sources.begin()));
  EXPECT_NE(child<pages::FactGrid>()->value(QStringLiteral("Cycles")), QString());
  picture("operations_tree");
}

TEST_F(ModelPagesTest, ATileOfTheTreemapSelectsItsRow) {
  openPage(QStringLiteral("operations"));
  chooseIn("Chart", 1);
  auto* map = child<ItemChart>(QStringLiteral("Treemap"));
  ASSERT_TRUE(map->isVisible());
  DataTable* rows = table(QStringLiteral("By layer of origin"));
  ASSERT_GE(rows->model()->rowCount(), 3);
  const QRect tile = map->itemRect(2);
  ASSERT_FALSE(tile.isEmpty());
  QTest::mouseClick(map, Qt::LeftButton, {}, tile.center());
  EXPECT_EQ(map->marked(), 2);
  const QModelIndexList selected = rows->view()->selectionModel()->selectedRows();
  ASSERT_EQ(selected.size(), 1);
  EXPECT_EQ(rows->shown()->mapToSource(selected[0]).row(), 2);
  QTest::keyClick(map, Qt::Key_Left);
  EXPECT_NE(map->marked(), 2) << "arrow keys select the next item";
  picture("operations_treemap");
}

TEST_F(ModelPagesTest, ThePointsOfTheRooflineAreTheRowsWithFlop) {
  openPage(QStringLiteral("operations"));
  chooseIn("Chart", 2);
  auto* chart = child<ItemChart>(QStringLiteral("Roofline"));
  const sections::Section operations = section("operations");
  const auto found = std::ranges::find(operations.tables, "operations", &sections::SectionTable::key);
  const auto rate = static_cast<std::size_t>(
      std::ranges::find(found->columns, "flops_per_second", &sections::SectionColumn::key) -
      found->columns.begin());
  int points = 0;
  for (std::size_t i = 0; i < found->rows.size(); ++i) {
    const bool known = !std::holds_alternative<std::monostate>(found->rows[i][rate]);
    EXPECT_EQ(!chart->itemRect(static_cast<int>(i)).isEmpty(), known) << i;
    points += known ? 1 : 0;
  }
  ASSERT_GT(points, 0);
  QTest::mouseClick(chart, Qt::LeftButton, {}, chart->itemRect(0).center());
  EXPECT_GE(chart->marked(), 0);
  picture("operations_roofline");
}

TEST_F(ModelPagesTest, RowsMayBeOperatorsOrPrograms) {
  openPage(QStringLiteral("operations"));
  for (const auto& [index, title] : {std::pair{3, "By operator"}, {4, "By program"}}) {
    chooseIn("Rows", index);
    ASSERT_TRUE(settle());
    DataTable* rows = table(QLatin1String(title));
    ASSERT_NE(rows, nullptr) << title;
    EXPECT_GT(rows->model()->rowCount(), 10) << title;
  }
  // The tab of all operations has the same programs as the table of programs, which lists each of them.
  const auto linesOf = [&](const char* title) {
    const sections::SectionTable& rows = table(QLatin1String(title))->model()->table();
    std::multiset<std::pair<std::string, std::int64_t>> lines;
    const auto place = [&](const char* key) {
      return static_cast<std::size_t>(std::ranges::find(rows.columns, key, &sections::SectionColumn::key) -
                                      rows.columns.begin());
    };
    for (const auto& row : rows.rows)
      lines.emplace(std::get<std::string>(row[place("name")]), std::get<std::int64_t>(row[place("cycles")]));
    return lines;
  };
  const auto all = linesOf("By program");
  EXPECT_TRUE(linesOf("Programs").empty()) << "they are read when the tab is shown";
  window->currentPage()->findChild<pages::OperationDetails*>()->setCurrentIndex(1);
  ASSERT_TRUE(settle());
  EXPECT_EQ(linesOf("Programs"), all);
  chooseIn("Rows", 0);
  ASSERT_TRUE(settle());
  EXPECT_EQ(linesOf("Programs"), all);
  // The tab holds only those programs that are of the selected operation. Together they take its time.
  DataTable* layers = table(QStringLiteral("By layer of origin"));
  const sections::SectionTable& rows = layers->model()->table();
  const auto cycles = std::ranges::find(rows.columns, "cycles", &sections::SectionColumn::key);
  const auto wanted =
      std::get<std::int64_t>(rows.rows[0][static_cast<std::size_t>(cycles - rows.columns.begin())]);
  Q_EMIT layers->rowActivated(0);
  ASSERT_TRUE(settle());
  const auto own = linesOf("Programs");
  EXPECT_LT(own.size(), all.size());
  EXPECT_TRUE(std::ranges::includes(all, own));
  std::int64_t sum = 0;
  for (const auto& [name, ticks] : own) sum += ticks;
  EXPECT_EQ(sum, wanted);
}

TEST_F(ModelPagesTest, AProgramShowsItsOperator) {
  openPage(QStringLiteral("operations"));
  chooseIn("Rows", 4);
  ASSERT_TRUE(settle());
  DataTable* programs = table(QStringLiteral("By program"));
  ASSERT_NE(programs, nullptr);
  for (const int row : {0, programs->model()->rowCount() / 2}) {
    Q_EMIT programs->rowActivated(row);
    const DataTable* own = table(QStringLiteral("Programs"));
    ASSERT_EQ(own->model()->rowCount(), 1);
    const QString path = own->model()->index(0, 0).data().toString();
    const DataTable* operators = table(QStringLiteral("Time by operator and pass"));
    ASSERT_EQ(operators->model()->rowCount(), 1) << path.toStdString();
    const QString name = operators->model()->index(0, 0).data().toString();
    EXPECT_TRUE(path.contains(name.section(QLatin1Char('/'), 0, 1)))
        << path.toStdString() << name.toStdString();
  }
}

TEST_F(ModelPagesTest, ACallHasAllMicroBatchesAndUpdates) {
  openPage(QStringLiteral("operations"));
  const sections::Section operations = section("operations");
  const auto found = std::ranges::find(operations.tables, "operations", &sections::SectionTable::key);
  const auto at = [&](const auto& row, const char* key) {
    const auto column = std::ranges::find(found->columns, key, &sections::SectionColumn::key);
    const sections::Cell& cell = row[static_cast<std::size_t>(column - found->columns.begin())];
    const auto* ticks = std::get_if<std::int64_t>(&cell);
    return ticks != nullptr ? static_cast<double>(*ticks) : std::get<double>(cell);
  };
  const FixtureOptions options;
  double updates = 0;
  for (const auto& row : found->rows) {
    EXPECT_DOUBLE_EQ(at(row, "call_cycles"), options.iterations * at(row, "cycles"));
    // Passes of micro-batches run as often as there are micro-batches, updates once.
    EXPECT_EQ(std::fmod(at(row, "forward_cycles"), options.microBatches), 0);
    updates += at(row, "update_cycles");
  }
  double once = 0;
  for (const model::Segment& segment : **fixture->profile()->rows<model::Segment>()) {
    if (segment.executable == model::ExecutableId(0) && segment.pass == model::Pass::update)
      once += static_cast<double>(segment.ticks.count);
  }
  EXPECT_DOUBLE_EQ(updates, once);
}

TEST_F(ModelPagesTest, TotalsAreThoseOfTheRowsShown) {
  openPage(QStringLiteral("operations"));
  const auto totals = [&] {
    for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) {
      if (label->text().startsWith(QStringLiteral("Sum of the"))) return label->text();
    }
    return QString();
  };
  EXPECT_TRUE(totals().contains(QStringLiteral("100.0 %"))) << totals().toStdString();
  EXPECT_TRUE(totals().contains(QStringLiteral("Time ")) && totals().contains(QStringLiteral(" cycles")))
      << "the sum says its unit: " << totals().toStdString();
  DataTable* rows = table(QStringLiteral("By layer of origin"));
  rows->filter()->setText(rows->model()->index(0, 0).data().toString());
  EXPECT_FALSE(totals().contains(QStringLiteral("100.0 %"))) << totals().toStdString();
}

TEST_F(ModelPagesTest, ASmallTimeInATreeIsNotWrittenAsNone) {
  pages::TreeRows rows;
  rows.table.columns = {{"name", "Program", sections::Format::plain, ""},
                        {"cycles", "Time", sections::Format::ticks, ""}};
  for (const auto& [name, ticks] : {std::pair{"all", 60'689'000'000}, {"kernel", 430'000}, {"none", 0}})
    rows.table.rows.push_back({std::string(name), std::int64_t{ticks}});
  rows.parents = {-1, 0, 0};
  rows.sources = {0, 1, 2};
  pages::TreeModel model;
  model.setRows(pages::withShape(rows), 1e6);  // ticks in a microsecond
  const QModelIndex all = model.index(0, 1, {}), top = model.index(0, 0, {});
  EXPECT_EQ(all.data().toString(), QStringLiteral("60,689.0"));
  EXPECT_EQ(model.index(0, 1, top).data().toString(), QStringLiteral("0.4"));
  EXPECT_EQ(model.index(1, 1, top).data().toString(), QStringLiteral("0.0"));
}

TEST_F(ModelPagesTest, EqualLayersFold) {
  sections::SectionTable table{"layer",
                               "Layers",
                               "",
                               {{"name", "Layer", sections::Format::plain, ""},
                                {"kind", "Kind", sections::Format::plain, ""},
                                {"cycles", "Cycles", sections::Format::ticks, ""},
                                {"of_peak", "Of peak", sections::Format::fraction, ""}},
                               {}};
  const auto add = [&](const char* name, const char* kind, std::int64_t cycles) {
    table.rows.push_back({std::string(name), std::string(kind), cycles, 0.5});
  };
  add("head", "Gemm", 50);
  add("layer1/conv", "Conv", 30);
  add("layer2/conv", "Conv", 25);
  add("layer10/conv", "Conv", 20);
  add("layer3/conv", "Pool", 10);  // another kind
  const pages::TreeRows tree = pages::treeOfEqualLayers(table);
  std::vector<std::string> names;
  for (const auto& row : tree.table.rows) names.push_back(std::get<std::string>(row[0]));
  EXPECT_EQ(names, (std::vector<std::string>{"layer*/conv × 3", "layer1/conv", "layer2/conv", "layer10/conv",
                                             "head", "layer3/conv"}));
  EXPECT_EQ(tree.parents, (std::vector<int>{-1, 0, 0, 0, -1, -1}));
  EXPECT_EQ(tree.sources, (std::vector<int>{-1, 1, 2, 3, 0, 4}));
  EXPECT_EQ(std::get<std::int64_t>(tree.table.rows[0][2]), 75);
  EXPECT_EQ(std::get<double>(tree.table.rows[0][3]), 0.5) << "a ratio that all share";
  table.rows[2][3] = 0.25;
  EXPECT_TRUE(std::holds_alternative<std::monostate>(pages::treeOfEqualLayers(table).table.rows[0][3]))
      << "a ratio has no sum";
  EXPECT_EQ(pages::foldingOf(table).largest, 3);
  EXPECT_EQ(pages::foldingOf(table).equal, 1) << "they take 30, 25 and 20 cycles";
  table.rows[2][2] = table.rows[3][2] = std::int64_t{30};
  EXPECT_EQ(pages::foldingOf(table).equal, 3);

  shell::WindowSettings().setValue(QStringLiteral("operations/tree"), 0);
  shell::WindowSettings().remove(QStringLiteral("operations/fold"));
  openPage(QStringLiteral("operations"));
  auto* fold = window->currentPage()->findChild<QCheckBox*>();
  ASSERT_TRUE(fold != nullptr && fold->isVisible());
  EXPECT_FALSE(fold->isChecked()) << "the model has few equal layers";
  fold->click();
  ASSERT_TRUE(settle());
  auto* shown = child<TreeTable>();
  ASSERT_TRUE(shown->isVisible());
  const DataTable* flat = this->table(QStringLiteral("By layer of origin"));
  double all = 0, roots = 0;
  const auto cyclesOf = [](const sections::SectionTable& of) {
    return static_cast<std::size_t>(std::ranges::find(of.columns, "cycles", &sections::SectionColumn::key) -
                                    of.columns.begin());
  };
  for (const auto& row : flat->model()->table().rows)
    all += pages::numberIn(row[cyclesOf(flat->model()->table())]);
  const pages::TreeRows& rows = shown->ownRows();
  const std::size_t cycles = cyclesOf(rows.table);
  for (std::size_t i = 0; i < rows.parents.size(); ++i)
    if (rows.parents[i] < 0) roots += pages::numberIn(rows.table.rows[i][cycles]);
  EXPECT_NEAR(roots, all, 1e-6 * all) << "nothing is lost";
  EXPECT_LT(shown->shown()->rowCount(), flat->model()->rowCount());
  picture("operations_folded");
  // The details of a folded row list the operators of all its parts.
  const auto folded = static_cast<int>(std::ranges::find(rows.sources, -1) - rows.sources.begin());
  Q_EMIT shown->rowActivated(folded);
  ASSERT_TRUE(settle());
  const DataTable* parts = this->table(QStringLiteral("Operators in it"));
  ASSERT_NE(parts, nullptr);
  double inParts = 0;
  for (const auto& row : parts->model()->table().rows)
    inParts += pages::numberIn(row[cyclesOf(parts->model()->table())]);
  const double wanted = pages::numberIn(rows.table.rows[static_cast<std::size_t>(folded)][cycles]);
  EXPECT_GT(wanted, 0);
  EXPECT_NEAR(inParts, wanted, 1e-6 * wanted);
  // The chart has the same rows.
  const auto* bars = window->currentPage()->findChild<timeline::BarChart*>();
  ASSERT_NE(bars, nullptr);
  EXPECT_TRUE(std::ranges::any_of(bars->names(),
                                  [](const QString& name) { return name.contains(QStringLiteral(" × ")); }));
  EXPECT_TRUE(shell::WindowSettings().value(QStringLiteral("operations/fold")).toBool()) << "it is kept";
  fold->click();
  ASSERT_TRUE(settle());
  EXPECT_FALSE(shown->isVisible()) << "one click unfolds";
  shell::WindowSettings().remove(QStringLiteral("operations/fold"));
}

TEST_F(ModelPagesTest, ProgramsHaveTheirCost) {
  openPage(QStringLiteral("programs"));
  auto* tree = child<TreeTable>();
  ASSERT_NE(tree, nullptr);
  const auto catalog = *analysis::loadCatalog(*fixture->profile());
  const auto rows = sections::programRows({*fixture->profile(), *catalog, catalog->executables.front().id});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(tree->model()->rows().parents, rows->parents);
  // A program takes as long as its steps.
  std::map<std::int64_t, std::int64_t> ticks;
  for (const model::Step& step : **fixture->profile()->rows<model::Step>())
    ticks[step.program.value] += step.ticks.count;
  for (std::size_t i = 0; i < rows->ids.size(); ++i)
    EXPECT_EQ(std::get<std::int64_t>(rows->table.rows[i][4]), ticks[rows->ids[i].value]) << i;
  picture("programs");
}

TEST_F(ModelPagesTest, ControlProgramsAndFunctionsAreListedBesideTheTree) {
  window->resize(1600, 900);
  openPage(QStringLiteral("programs"));
  auto* tree = child<TreeTable>();
  DataTable* list = table(QStringLiteral("Control programs and functions"));
  ASSERT_TRUE(list != nullptr && list->isVisible());
  std::vector<int> roots;
  const std::vector<int>& parents = tree->model()->rows().parents;
  for (std::size_t row = 0; row < parents.size(); ++row)
    if (parents[row] < 0) roots.push_back(static_cast<int>(row));
  ASSERT_EQ(list->model()->table().rows.size(), roots.size());
  ASSERT_GT(roots.size(), 3U);
  EXPECT_EQ(list->model()->index(3, 0).data(), tree->model()->indexOf(roots[3]).data());
  Q_EMIT list->rowActivated(3);
  EXPECT_EQ(tree->markedRow(), roots[3]);
  EXPECT_EQ(window->selection().current().kind, shell::Selected::Kind::program);
  picture("programs_list");
  window->resize(1024, 700);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(list->isVisible()) << "a small window leaves the room to the tree";
}

TEST_F(ModelPagesTest, VeryManyLooseProgramsLieBelowTheirDevices) {
  constexpr int kPrograms = 3'000;
  auto profile = std::make_shared<record::MemoryProfile>();
  model::RowSet rows;
  rows.of<model::Target>() = {{"test", "ipu", "", 2, 2}};
  rows.of<model::Executable>() = {model::Executable{}};
  rows.of<model::Executable>()[0].id = model::ExecutableId(0);
  rows.of<model::Executable>()[0].name = "training";
  for (int d = 0; d < 2; ++d) {
    model::Device device;
    device.id = model::DeviceId(d);
    device.name = "D" + std::to_string(d);
    device.ticksPerSecond = 1'000'000;
    rows.of<model::Device>().push_back(device);
  }
  rows.of<model::DebugContext>() = {{model::DebugContextId(0), {}, "layer", ""}};
  std::map<int, std::int64_t> ticks;  // keyed by device
  for (int p = 0; p < kPrograms; ++p) {
    rows.of<model::Program>().push_back({model::ProgramId(p),
                                         {},
                                         model::ExecutableId(0),
                                         model::DeviceId(p % 2),
                                         "OnTileExecute",
                                         model::DebugContextId(0),
                                         {}});
    model::Step step;
    step.program = model::ProgramId(p);
    step.ticks = base::Ticks(1 + p % 7);
    ticks[p % 2] += step.ticks.count;
    rows.of<model::Step>().push_back(step);
  }
  // A loop on each device, which runs its step three times.
  for (int d = 0; d < 2; ++d) {
    const model::ProgramId loop(kPrograms + 2 * d), turn(kPrograms + 2 * d + 1);
    const model::DebugContextId name(0);
    rows.of<model::Program>().push_back(
        {loop, {}, model::ExecutableId(0), model::DeviceId(d), "Repeat", name, {}, 3});
    rows.of<model::Program>().push_back(
        {turn, loop, model::ExecutableId(0), model::DeviceId(d), "OnTileExecute", name, {}});
    model::Step step;
    step.program = turn;
    step.ticks = base::Ticks(10 + d);
    ticks[d] += 3 * step.ticks.count;
    rows.of<model::Step>().push_back(step);
  }
  ASSERT_TRUE(profile->commit(rows).ok());
  const auto catalog = *analysis::loadCatalog(*profile);
  std::vector<sections::ProgramRows> begun;  // rows that are shown while the programs are being arranged
  const auto keep = [&](sections::ProgramRows first) { begun.push_back(std::move(first)); };
  ASSERT_TRUE(sections::programRows({*profile, *catalog, model::ExecutableId(0)}, keep).ok());
  ASSERT_EQ(begun.size(), 1U);
  ASSERT_EQ(begun.front().table.rows.size(), 2U);
  open(profile, QStringLiteral("programs"));
  const auto* tree = child<TreeTable>();
  ASSERT_EQ(tree->model()->rowCount(), 2);
  const sections::SectionTable& table = tree->model()->rows().table;
  for (int d = 0; d < 2; ++d) {
    const QModelIndex device = tree->model()->index(d, 0);
    EXPECT_EQ(device.data().toString(), QStringLiteral("Device (D%1)").arg(d));
    EXPECT_EQ(tree->model()->rowCount(device), kPrograms / 2 + 1);
    const auto& cells = table.rows[static_cast<std::size_t>(tree->model()->rowOf(device))];
    EXPECT_EQ(std::get<std::int64_t>(cells[4]), ticks[d]);
    EXPECT_EQ(std::get<std::int64_t>(cells[9]), kPrograms / 2 + 1);
    EXPECT_EQ(begun.front().table.rows[static_cast<std::size_t>(d)], cells);
    EXPECT_FALSE(tree->view()->isExpanded(tree->shown()->index(d, 0))) << "they are too many to be opened";
  }
  // The choice says how deep the tree is open, not how deep it was meant to be.
  auto* levels = child<QComboBox>(QStringLiteral("Levels"));
  EXPECT_EQ(levels->currentText(), QStringLiteral("1 level"));
  choose(levels, 1);
  EXPECT_EQ(levels->currentText(), QStringLiteral("2 levels"));
}

/// Their rows have the figures that they also have beside all others.
TEST_F(ModelPagesTest, ProgramsThatHoldOthersAreShownFirstIfThereAreVeryMany) {
  constexpr int kSequences = 30, kSteps = 400;
  auto profile = std::make_shared<record::MemoryProfile>();
  model::RowSet rows;
  model::Executable executable;
  executable.id = model::ExecutableId(0);
  executable.name = "training";
  rows.of<model::Executable>() = {executable};
  model::Device device;
  device.id = model::DeviceId(0);
  device.name = "D0";
  rows.of<model::Device>() = {device};
  rows.of<model::DebugContext>() = {{model::DebugContextId(0), {}, "model", ""},
                                    {model::DebugContextId(1), model::DebugContextId(0), "layer", ""}};
  std::int64_t id = 0;
  for (int s = 0; s < kSequences; ++s) {
    const model::ProgramId sequence(id++);
    rows.of<model::Program>().push_back(
        {sequence, {}, executable.id, device.id, "Sequence", model::DebugContextId(1), {}});
    for (int i = 0; i < kSteps; ++i) {
      model::Step step;
      step.program = model::ProgramId(id++);
      step.ticks = base::Ticks(2 + s);
      rows.of<model::Step>().push_back(step);
      rows.of<model::Program>().push_back(
          {step.program, sequence, executable.id, device.id, "OnTileExecute", model::DebugContextId(1), {}});
    }
  }
  ASSERT_TRUE(profile->commit(rows).ok());
  const auto catalog = *analysis::loadCatalog(*profile);
  std::vector<sections::ProgramRows> begun;
  const auto keep = [&](sections::ProgramRows first) { begun.push_back(std::move(first)); };
  const auto whole = sections::programRows({*profile, *catalog, executable.id}, keep);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->table.rows.size(), static_cast<std::size_t>(kSequences * (kSteps + 1)));
  ASSERT_EQ(begun.size(), 1U);
  ASSERT_EQ(begun.front().table.rows.size(), static_cast<std::size_t>(kSequences));
  for (int s = 0; s < kSequences; ++s) {
    const auto& cells = begun.front().table.rows[static_cast<std::size_t>(s)];
    EXPECT_EQ(std::get<std::string>(cells[0]), "Sequence (model/layer)");
    EXPECT_EQ(std::get<std::int64_t>(cells[4]), std::int64_t{kSteps} * (2 + s));
    EXPECT_EQ(cells, whole->table.rows[static_cast<std::size_t>(s * (kSteps + 1))]);
  }
}

TEST_F(ModelPagesTest, AProgramShowsItsVerticesByType) {
  openPage(QStringLiteral("programs"));
  auto* tree = child<TreeTable>();
  const sections::SectionTable& programs = tree->model()->rows().table;
  const auto step = std::ranges::find_if(programs.rows, [](const auto& row) {
    return std::get<std::string>(row[0]).find("step0)") != std::string::npos;
  });
  ASSERT_NE(step, programs.rows.end());
  Q_EMIT tree->rowActivated(static_cast<int>(step - programs.rows.begin()));
  ASSERT_TRUE(settle());
  DataTable* vertices = table(QStringLiteral("Vertices"));
  ASSERT_NE(vertices, nullptr);
  // The fixture gives the first step of each device three vertices on each of 700 tiles, ten of them with 100
  // bytes more of code.
  ASSERT_EQ(vertices->model()->rowCount(), 1);
  const auto& row = vertices->model()->table().rows.front();
  EXPECT_EQ(row[0], sections::Cell(std::string("poplin::ConvPartial1x1Out<half,float>")));
  EXPECT_EQ(row[1], sections::Cell(std::int64_t{2100}));
  EXPECT_EQ(row[2], sections::Cell(std::int64_t{1}));
  EXPECT_EQ(row[3], sections::Cell(std::int64_t{700}));
  picture("programs_vertices");
  // Another step runs none.
  const auto other = std::ranges::find_if(programs.rows, [](const auto& each) {
    return std::get<std::string>(each[0]).find("step1)") != std::string::npos;
  });
  Q_EMIT tree->rowActivated(static_cast<int>(other - programs.rows.begin()));
  ASSERT_TRUE(settle());
  EXPECT_EQ(vertices->model()->rowCount(), 0);
}

TEST_F(ModelPagesTest, VerticesOfACallAreThoseOfItsFunction) {
  sections::ProgramRows rows;
  // A control program calls the function that follows; another function is called by nobody.
  rows.parents = {-1, 0, 0, -1, 3, -1, 5};
  for (int i = 0; i < 7; ++i) rows.ids.push_back(model::ProgramId(10 + i)), rows.targets.emplace_back();
  rows.targets[2] = model::ProgramId(13);
  const auto below = [&](int row) {
    std::set<std::int64_t> ids;
    for (const model::ProgramId id : sections::programsBelow(rows, row)) ids.insert(id.value);
    return ids;
  };
  EXPECT_EQ(below(0), (std::set<std::int64_t>{10, 11, 12, 13, 14}));
  EXPECT_EQ(below(2), (std::set<std::int64_t>{12, 13, 14}));
  EXPECT_EQ(below(1), (std::set<std::int64_t>{11}));
  EXPECT_EQ(below(5), (std::set<std::int64_t>{15, 16}));
  rows.targets[4] = model::ProgramId(13);  // damaged: a function that calls itself
  EXPECT_EQ(below(3), (std::set<std::int64_t>{13, 14}));
}

TEST_F(ModelPagesTest, AProgramIsShownOnTheTraceAndInLiveness) {
  openPage(QStringLiteral("programs"));
  auto* tree = child<TreeTable>();
  QAction* onTrace = command(QStringLiteral("Show the program on the trace"));
  ASSERT_NE(onTrace, nullptr);
  EXPECT_FALSE(onTrace->isEnabled()) << "nothing is selected";
  Q_EMIT tree->rowActivated(3);
  EXPECT_TRUE(onTrace->isEnabled());
  const model::ProgramId program = window->selection().current().program;
  ASSERT_TRUE(program.valid());
  onTrace->trigger();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->selection().current().program, program);
  // The other direction: the page shows what another page has selected.
  shell::Selected other = window->selection().current();
  const auto rows = tree->model()->rows();
  window->showPage(QStringLiteral("programs"));
  other.program = model::ProgramId(std::get<std::int64_t>(rows.table.rows[5][1]));
  window->selection().set(other);
  EXPECT_EQ(tree->markedRow(), 5);
}

TEST_F(ModelPagesTest, NamesOfProgramsHaveRoomInANarrowWindow) {
  openPage(QStringLiteral("programs"));
  window->resize(1024, 700);
  ASSERT_TRUE(settle());
  EXPECT_GE(child<TreeTable>()->view()->columnWidth(0), 280);
}

TEST_F(ModelPagesTest, FindFiltersTheProgramTree) {
  openPage(QStringLiteral("programs"));
  auto* tree = child<TreeTable>();
  const int all = tree->shown()->rowCount();
  const QString answer = window->currentPage()->find(QStringLiteral("Convolve"), 0);
  EXPECT_TRUE(answer.contains(QStringLiteral("rows"))) << answer.toStdString();
  EXPECT_LT(tree->shown()->rowCount(), all);
  window->currentPage()->endFind();
  EXPECT_EQ(tree->shown()->rowCount(), all);
}

TEST_F(ModelPagesTest, TheGraphShowsBlocksAndOpensThem) {
  openPage(QStringLiteral("graph"));
  ASSERT_TRUE(settle());
  auto* canvas = child<GraphCanvas>();
  ASSERT_FALSE(canvas->boxRect(0).isEmpty());
  QSignalSpy selected(canvas, &GraphCanvas::selectionChanged);
  QTest::mouseClick(canvas, Qt::LeftButton, {}, canvas->boxRect(0).center());
  EXPECT_EQ(selected.count(), 1);
  EXPECT_EQ(canvas->selected(), 0);
  EXPECT_NE(child<pages::FactGrid>()->value(QStringLiteral("Name")), QString());
  picture("graph");
  QTest::keyClick(canvas, Qt::Key_Return);
  ASSERT_TRUE(settle());
  picture("graph_opened");
  const auto crumbs = [&] { return child<QLabel>(QStringLiteral("Open group"))->text(); };
  EXPECT_TRUE(crumbs().contains(QStringLiteral("›"))) << crumbs().toStdString();
  QTest::keyClick(canvas, Qt::Key_Backspace);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(crumbs().contains(QStringLiteral("›"))) << crumbs().toStdString();
}

/// The pane of details has few lines while nothing is selected. A double click finds its box unmoved.
TEST_F(ModelPagesTest, AnEmptyPaneOfDetailsIsSmall) {
  openPage(QStringLiteral("graph"));
  ASSERT_TRUE(settle());
  auto* area = window->currentPage()->findChild<pages::SplitArea*>();
  ASSERT_NE(area, nullptr);
  auto* canvas = child<GraphCanvas>();
  EXPECT_TRUE(area->isFolded());
  const int tall = canvas->height();
  EXPECT_LT(area->tabs()->height(), 90) << "two lines and the names of the tabs";
  const QRect box = canvas->boxRect(0);
  QTest::mouseClick(canvas, Qt::LeftButton, {}, box.center());
  EXPECT_EQ(canvas->boxRect(0), box) << "until a double click would be over";
  ASSERT_TRUE(waitFor([&] { return !area->isFolded(); }));
  EXPECT_LT(canvas->height(), tall);
  QTest::mouseClick(canvas, Qt::LeftButton, {}, QPoint(3, 3));
  EXPECT_TRUE(area->isFolded());
  area->tabs()->setCurrentIndex(1);
  EXPECT_FALSE(area->isFolded()) << "the tensors are there without a selection";
}

TEST_F(ModelPagesTest, TheGraphZoomsAboutThePointerAndPans) {
  openPage(QStringLiteral("graph"));
  ASSERT_TRUE(settle());
  auto* canvas = child<GraphCanvas>();
  const double before = canvas->place().scale;
  QTest::keyClick(canvas, Qt::Key_Plus);
  EXPECT_GT(canvas->place().scale, before);
  const double x = canvas->place().x;
  QTest::keyClick(canvas, Qt::Key_Right);
  EXPECT_LT(canvas->place().x, x);
  QTest::keyClick(canvas, Qt::Key_0);
  EXPECT_DOUBLE_EQ(canvas->place().scale, before);
}

TEST_F(ModelPagesTest, FindShowsAnOperatorOfTheGraph) {
  openPage(QStringLiteral("graph"));
  ASSERT_TRUE(settle());
  const auto catalog = *analysis::loadCatalog(*fixture->profile());
  const auto graph = *analysis::modelGraph(*fixture->profile(), *catalog, catalog->executables.front().id);
  const std::string name = graph.nodes.back().name;
  const QString answer = window->currentPage()->find(QString::fromStdString(name), 0);
  EXPECT_TRUE(answer.startsWith(QStringLiteral("1 of "))) << answer.toStdString();
  ASSERT_TRUE(settle());
  EXPECT_EQ(child<pages::FactGrid>()->value(QStringLiteral("Name")), QString::fromStdString(name));
  EXPECT_EQ(window->currentPage()->find(QStringLiteral("no such operator"), 0),
            QStringLiteral("nothing found"));
}

TEST_F(ModelPagesTest, OtherProfilesShowThePagesOrSayWhyNot) {
  for (const FixtureOptions& options :
       {FixtureOptions{.fixed = true}, FixtureOptions{.overflow = true}, FixtureOptions{.imported = true},
        FixtureOptions{.runs = 0}, FixtureOptions{.finish = false}}) {
    openPage(QStringLiteral("operations"), options);
    for (const char* page : {"operations", "programs", "graph", "compare"}) {
      showPage(QLatin1String(page));
      ASSERT_TRUE(settle()) << page;
      const bool tree = child<TreeTable>() != nullptr && child<TreeTable>()->model()->rowCount() > 0;
      const bool rows = child<DataTable>() != nullptr && child<DataTable>()->model()->rowCount() > 0;
      const bool graph = child<GraphCanvas>() != nullptr && !child<GraphCanvas>()->boxRect(0).isEmpty();
      EXPECT_TRUE(tree || rows || graph || !window->currentPage()->notice().isEmpty()) << page;
    }
  }
}

}  // namespace
}  // namespace pipescope::testing
