// Tests the pages that show a section of the reports: waits, stragglers, engines and operations.
#include <QLabel>
#include <QTableView>
#include <algorithm>
#include <map>
#include <set>

#include "profiler/analysis/pipeline/stragglers.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/legend.h"
#include "views/timeline/wait_matrix.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::DataTable;
using timeline::BarChart;
using timeline::WaitMatrix;

class ReportPageTest : public WindowTest {
 protected:
  void openPage(const QString& page, const FixtureOptions& options = {}) {
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), page);
  }
  DataTable* table(const QString& title) const {
    for (DataTable* found : window->currentPage()->findChildren<DataTable*>()) {
      if (found->title() == title) return found;
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

TEST_F(ReportPageTest, TheMatrixAddsUpTheWaitsOfEachPair) {
  openPage(QStringLiteral("waits"), {.slowHost = true});
  // Rows of the profile give the time of the last call that each device waits, by what it waits for.
  const auto profile = fixture->profile();
  const auto catalog = *analysis::loadCatalog(*profile);
  const model::Run* last = catalog->lastRunOf(catalog->executables.front().id);
  ASSERT_NE(last, nullptr);
  std::map<std::string, double> waited;
  for (const model::Wait& row : **profile->rows<model::Wait>()) {
    if (row.run == last->id)
      waited[catalog->device(row.device)->name] += static_cast<double>((row.end - row.start).count);
  }
  auto* matrix = child<WaitMatrix>();
  ASSERT_NE(matrix, nullptr);
  std::map<std::string, double> shown;
  for (const timeline::WaitCell& cell : matrix->cells())
    shown[matrix->rows()[cell.row].toStdString()] += cell.share;
  ASSERT_EQ(shown.size(), waited.size());
  for (const auto& [device, ticks] : waited)
    EXPECT_NEAR(shown[device], ticks / static_cast<double>((last->end - last->start).count), 1e-9) << device;
  EXPECT_EQ(matrix->columns().back(), QStringLiteral("host")) << "devices come first";
  // The legend has the colours of the matrix, and no others.
  std::set<geometry::ColourRole> drawn, explained;
  for (const timeline::WaitCell& cell : matrix->cells()) drawn.insert(cell.role);
  for (const timeline::LegendEntry& entry : matrix->parentWidget()->findChild<timeline::Legend*>()->entries())
    explained.insert(entry.role);
  EXPECT_EQ(explained, drawn);
  picture("waits");
}

TEST_F(ReportPageTest, ANameOfSeveralWordsNeedsNoWiderColumn) {
  WaitMatrix matrix(*palette);
  QStringList devices;
  for (int i = 0; i < 13; ++i) devices << QStringLiteral("IPU%1").arg(i);
  const QStringList columns =
      devices + QStringList{QStringLiteral("copies of others"), QStringLiteral("host")};
  matrix.setMatrix(devices, columns, {});
  matrix.show();
  const QFontMetrics metrics = matrix.fontMetrics();
  const int names = 8 + 2 + metrics.horizontalAdvance("IPU12"),
            column = 10 + metrics.horizontalAdvance("IPU12");
  ASSERT_LT(column, metrics.horizontalAdvance("copies of others"));
  matrix.resize(names + columns.size() * column, matrix.sizeHint().height());
  const QStringList named = matrix.drawnColumns();
  EXPECT_GE(named.size(), devices.size());
  for (const QString& words : {QStringLiteral("copies of\nothers"), QStringLiteral("host")})
    EXPECT_TRUE(named.contains(words)) << "no number tells what it is: " << words.toStdString();
  EXPECT_GE(matrix.cellRect(0, 0).y(), 2 * matrix.fontMetrics().lineSpacing()) << "two lines have room";
}

TEST_F(ReportPageTest, StragglersAreWorkersAndIterations) {
  openPage(QStringLiteral("stragglers"), {.imported = true});
  const auto profile = fixture->profile();
  const auto catalog = *analysis::loadCatalog(*profile);
  const auto answer = *analysis::stragglers(*profile, *catalog, catalog->executables.front().id);
  ASSERT_TRUE(answer.stragglers) << answer.why;
  auto* matrix = child<WaitMatrix>();
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->columns().size(), static_cast<int>(answer.stragglers->iterations.size()));
  std::map<std::string, std::vector<double>> paces;
  for (std::size_t w = 0; w < answer.stragglers->workers.size(); ++w)
    paces[answer.stragglers->workers[w].name] = answer.stragglers->pace[w];
  ASSERT_EQ(matrix->rows().size(), static_cast<int>(paces.size()));
  ASSERT_FALSE(matrix->cells().empty());
  for (const timeline::WaitCell& cell : matrix->cells()) {
    const double pace =
        paces[matrix->rows()[cell.row].toStdString()].at(static_cast<std::size_t>(cell.column));
    EXPECT_NEAR(cell.share, std::max(0.0, pace - 1), 1e-12);
    EXPECT_EQ(cell.label.toStdString(), QString::number(pace, 'f', 2).toStdString());
  }
  const sections::Section stragglers = section("stragglers");
  QStringList labels;
  for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) labels << label->text();
  EXPECT_TRUE(labels.contains(QString::fromStdString(stragglers.remarks.front())));
  picture("stragglers");
  // A click on a cell marks its worker here and in the table of workers.
  const timeline::WaitCell cell = matrix->cells().back();
  QTest::mouseClick(matrix, Qt::LeftButton, {}, matrix->cellRect(cell.row, cell.column).center());
  EXPECT_EQ(matrix->marked(), cell.row);
  const model::DeviceId worker = window->selection().current().device;
  ASSERT_TRUE(worker.valid());
  EXPECT_EQ(QString::fromStdString(catalog->devices[worker].name), matrix->rows()[cell.row]);
  // A device that is selected elsewhere is marked, too.
  shell::Selected first;
  first.kind = shell::Selected::Kind::device;
  for (const model::Device& device : catalog->devices)
    if (QString::fromStdString(device.name) == matrix->rows()[0]) first.device = device.id;
  window->selection().set(first);
  EXPECT_EQ(matrix->marked(), 0);
  // Emulated runs have none, and the page says so.
  openPage(QStringLiteral("stragglers"));
  EXPECT_FALSE(child<WaitMatrix>()->isVisible());
}

TEST_F(ReportPageTest, RecordedRunsHaveAPageOfTheirOwn) {
  openPage(QStringLiteral("recorded"), {.imported = true});
  std::map<std::string, std::vector<std::size_t>> wanted, shown;  // rows, by the title of the table
  for (const char* name : {"kernels", "collectives", "nodes", "planned", "coverage"})
    for (const sections::SectionTable& table : section(name).tables)
      if (const std::size_t rows = sections::withRowsOfText(table).rows.size(); rows > 0)
        wanted[table.title].push_back(rows);
  for (const auto* table : window->currentPage()->findChildren<DataTable*>()) {
    if (!table->isVisible()) continue;
    const sections::SectionTable& rows = table->model()->table();
    shown[table->title().toStdString()].push_back(rows.rows.size());
    for (const auto& row : rows.rows) {
      if (rows.key == "coverage") {
        EXPECT_GT(std::get<std::int64_t>(row[2]), 0) << "of nothing, nothing can be recognised";
      }
    }
  }
  EXPECT_FALSE(wanted.empty());
  EXPECT_EQ(shown, wanted);
  QStringList labels;
  for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) labels << label->text();
  EXPECT_TRUE(labels.contains(QString::fromStdString(section("kernels").lacks)));
  picture("recorded");
  openPage(QStringLiteral("recorded"));
  for (const auto* table : window->currentPage()->findChildren<DataTable*>())
    EXPECT_FALSE(table->isVisible());
}

TEST_F(ReportPageTest, TheLongestWaitsAreSentences) {
  openPage(QStringLiteral("waits"));
  const sections::Section waits = section("waits");
  ASSERT_FALSE(waits.remarks.empty());
  QStringList labels;
  for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) labels << label->text();
  for (const std::string& sentence : waits.remarks)
    EXPECT_TRUE(labels.contains(QString::fromStdString(sentence))) << sentence;
}

TEST_F(ReportPageTest, ACellOfTheMatrixSelectsItsDeviceAndItsRow) {
  openPage(QStringLiteral("waits"));
  auto* matrix = child<WaitMatrix>();
  ASSERT_FALSE(matrix->cells().empty());
  const timeline::WaitCell cell = matrix->cells().back();
  QTest::mouseClick(matrix, Qt::LeftButton, {}, matrix->cellRect(cell.row, cell.column).center());
  const QString device = matrix->rows()[cell.row];
  ASSERT_TRUE(window->selection().current().device.valid());
  EXPECT_EQ(QString::fromStdString(
                window->session().snapshot()->catalog->device(window->selection().current().device)->name),
            device);
  EXPECT_EQ(matrix->marked(), cell.row);
  DataTable* waits = table(QStringLiteral("Waits"));
  const QModelIndexList rows = waits->view()->selectionModel()->selectedRows();
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].data().toString(), device);
  EXPECT_EQ(rows[0].sibling(rows[0].row(), 1).data().toString(), matrix->columns()[cell.column]);
}

TEST_F(ReportPageTest, TheCriticalPathIsAsLongAsTheCall) {
  openPage(QStringLiteral("waits"));
  const auto catalog = *analysis::loadCatalog(*fixture->profile());
  const model::Run* last = catalog->lastRunOf(catalog->executables.front().id);
  const auto& bars = child<BarChart>(QStringLiteral("Critical path"))->bars();
  ASSERT_EQ(bars.size(), 1U);
  EXPECT_DOUBLE_EQ(bars[0].total(), static_cast<double>((last->end - last->start).count));
}

TEST_F(ReportPageTest, WhatDevicesDoAddsUpToTheirTime) {
  openPage(QStringLiteral("engines"));
  const auto& bars = child<BarChart>(QStringLiteral("What each device does"))->bars();
  ASSERT_EQ(bars.size(), 4U);
  for (const geometry::Bar& bar : bars) EXPECT_NEAR(bar.total(), 1, 1e-9);
  picture("engines");
}

TEST_F(ReportPageTest, EachPhaseIsAPartOfTheBarOfItsDevice) {
  openPage(QStringLiteral("engines"));
  const sections::SectionTable devices = section("engines").tables.front();
  const auto& bars = child<BarChart>(QStringLiteral("What each device does"))->bars();
  ASSERT_EQ(bars.size(), devices.rows.size());
  int phases = 0;
  for (const auto& [key, role] : {std::pair("compute_utilisation", geometry::ColourRole::compute),
                                  std::pair("exchange_utilisation", geometry::ColourRole::exchange),
                                  std::pair("host_utilisation", geometry::ColourRole::streamCopy)}) {
    const auto column = static_cast<std::size_t>(
        std::ranges::find(devices.columns, key, &sections::SectionColumn::key) - devices.columns.begin());
    for (std::size_t device = 0; device < devices.rows.size(); ++device) {
      double shown = 0;
      for (const auto& part : bars[device].parts) shown += part.role == role ? part.value : 0;
      EXPECT_DOUBLE_EQ(shown, std::get<double>(devices.rows[device][column])) << key << " of " << device;
      phases += shown > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(phases, 8);
}

TEST_F(ReportPageTest, AnIpuHasPhasesAndNoEngines) {
  openPage(QStringLiteral("engines"));
  QStringList words;
  for (const QLabel* label : window->currentPage()->findChildren<QLabel*>())
    if (label->isVisible()) words << label->text();
  for (const timeline::Legend* legend : window->currentPage()->findChildren<timeline::Legend*>())
    for (const timeline::LegendEntry& entry : legend->entries()) words << entry.text;
  EXPECT_TRUE(words.contains(QStringLiteral("exchange")));
  for (const QString& word : words)
    EXPECT_FALSE(word.contains(QStringLiteral("engine works"))) << word.toStdString();
}

TEST_F(ReportPageTest, ExposedCommunicationIsPartOfAllCommunication) {
  openPage(QStringLiteral("engines"));
  const sections::SectionTable devices = section("engines").tables.front();
  const auto column = [&](const char* key) {
    std::size_t at = 0;
    while (devices.columns[at].key != key) ++at;
    return at;
  };
  const auto& bars = child<BarChart>(QStringLiteral("Communication"))->bars();
  ASSERT_EQ(bars.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(
        bars[i].total(),
        static_cast<double>(std::get<std::int64_t>(devices.rows[i][column("communication_cycles")])));
    EXPECT_DOUBLE_EQ(
        bars[i].parts.back().value,
        static_cast<double>(std::get<std::int64_t>(devices.rows[i][column("exposed_communication_cycles")])));
  }
}

TEST_F(ReportPageTest, ABarOfADeviceSelectsIt) {
  openPage(QStringLiteral("engines"));
  auto* chart = child<BarChart>(QStringLiteral("What each device does"));
  QTest::mouseClick(chart, Qt::LeftButton, {}, chart->partRect({2, 0}).center());
  EXPECT_EQ(window->selection().current().device, model::DeviceId(2));
}

TEST_F(ReportPageTest, OperationsAreShownByPassLongestFirst) {
  shell::WindowSettings().setValue(QStringLiteral("operations/layer"), 0);
  openPage(QStringLiteral("operations"));
  const sections::Section operations = section("operations");
  const auto found = std::ranges::find(operations.tables, "operations", &sections::SectionTable::key);
  ASSERT_NE(found, operations.tables.end());
  ASSERT_FALSE(found->rows.empty());
  std::size_t cycles = 0;
  while (found->columns[cycles].key != "cycles") ++cycles;
  auto* chart = child<BarChart>(QStringLiteral("Time by pass"));
  ASSERT_FALSE(chart->bars().empty());
  for (std::size_t i = 0; i < chart->bars().size(); ++i) {
    const auto row = std::ranges::find_if(found->rows, [&](const auto& cells) {
      return std::get<std::string>(cells[0]) == chart->names()[static_cast<int>(i)].toStdString();
    });
    ASSERT_NE(row, found->rows.end());
    EXPECT_NEAR(chart->bars()[i].total(), static_cast<double>(std::get<std::int64_t>((*row)[cycles])), 0.5);
    if (i > 0) {
      EXPECT_LE(chart->bars()[i].total(), chart->bars()[i - 1].total());
    }
  }
  picture("operations");
}

TEST_F(ReportPageTest, ASelectedOperationShowsItsFigures) {
  shell::WindowSettings().setValue(QStringLiteral("operations/layer"), 0);
  openPage(QStringLiteral("operations"));
  auto* facts = child<pages::FactGrid>();
  EXPECT_EQ(facts->value(QStringLiteral("Stage")), QString()) << "nothing is selected";
  auto* chart = child<BarChart>(QStringLiteral("Time by pass"));
  QTest::mouseClick(chart, Qt::LeftButton, {}, chart->partRect({1, 0}).center());
  DataTable* rows = table(QStringLiteral("By layer of origin"));
  const QModelIndexList selected = rows->view()->selectionModel()->selectedRows();
  ASSERT_EQ(selected.size(), 1);
  EXPECT_EQ(selected[0].data().toString(), chart->names()[1]);
  EXPECT_NE(facts->value(QStringLiteral("Cycles")), QString());
  EXPECT_NE(facts->value(QStringLiteral("Share")), QString());
}

TEST_F(ReportPageTest, RowsStandForLayersBlocksOrTypes) {
  shell::WindowSettings().setValue(QStringLiteral("operations/layer"), 0);
  openPage(QStringLiteral("operations"));
  for (const auto& [index, title] : {std::pair{1, "By block"}, {2, "By kind"}, {0, "By layer of origin"}}) {
    choose(child<QComboBox>(QStringLiteral("Rows")), index);
    EXPECT_NE(table(QLatin1String(title)), nullptr) << title;
  }
}

TEST_F(ReportPageTest, OtherProfilesShowTheSamePagesOrSayWhyNot) {
  for (const FixtureOptions& options :
       {FixtureOptions{.fixed = true}, FixtureOptions{.overflow = true}, FixtureOptions{.imported = true},
        FixtureOptions{.runs = 0}, FixtureOptions{.finish = false}}) {
    openPage(QStringLiteral("waits"), options);
    for (const char* page : {"waits", "engines", "operations"}) {
      showPage(QLatin1String(page));
      bool bars = false;
      for (const BarChart* chart : window->currentPage()->findChildren<BarChart*>())
        bars = bars || (chart->isVisible() && !chart->bars().empty());
      EXPECT_TRUE(bars || !window->currentPage()->notice().isEmpty()) << page;
    }
  }
}

}  // namespace
}  // namespace pipescope::testing
