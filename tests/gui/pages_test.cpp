// Tests what the summary, stages, memory and liveness pages show about the fixture's profile.
#include <QApplication>
#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTabWidget>
#include <QTableView>
#include <algorithm>
#include <map>
#include <set>

#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/data/memory_data.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/item_chart.h"
#include "views/timeline/legend.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::Chart;
using pages::DataTable;
using pages::FigureCard;
using pages::TreeRows;
using pages::TreeTable;
using timeline::BarChart;

class PageTest : public WindowTest {
 protected:
  void openPage(const QString& page, const FixtureOptions& options = {}) {
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), page);
  }
  FigureCard* card(const QString& caption) const {
    for (FigureCard* found : window->currentPage()->findChildren<FigureCard*>()) {
      if (found->caption() == caption) return found;
    }
    return nullptr;
  }
  DataTable* table(const QString& title) const {
    for (DataTable* found : window->currentPage()->findChildren<DataTable*>()) {
      if (found->title().startsWith(title)) return found;
    }
    return nullptr;
  }
  QString cell(const DataTable* from, int row, int column) const {
    return from->model()->index(row, column).data().toString();
  }
  QString readout() const { return child<pages::ElidedLabel>()->text(); }
  /// The position of an index on a chart's canvas.
  static QPoint on(Chart* chart, int index) {
    return {static_cast<int>(chart->transform(QwtPlot::xBottom, index + 0.5)), chart->canvas()->height() / 2};
  }

  std::unique_ptr<ProfileFixture> fixture;
};

TEST_F(PageTest, SummaryGivesTheVerdictFirst) {
  openPage(QStringLiteral("summary"));
  ASSERT_NE(card(QStringLiteral("Memory")), nullptr);
  EXPECT_EQ(card(QStringLiteral("Memory"))->value(), QStringLiteral("Fits"));
  EXPECT_EQ(card(QStringLiteral("Limiting stage"))->value(), QStringLiteral("Stage 1"));
  EXPECT_EQ(card(QStringLiteral("Bound by"))->value(), QStringLiteral("pipeline"));
  const analysis::Catalog& catalog = *window->session().snapshot()->catalog;
  const model::Run& last = catalog.runs[model::RunId(2)];
  const double rate = 1600.0 * 1.33e9 / static_cast<double>((last.end - last.start).count);
  EXPECT_NEAR(card(QStringLiteral("Emulated samples/s"))->value().remove(QLatin1Char(',')).toDouble(), rate,
              1);
  DataTable* figures = table(QStringLiteral("Outcomes and figures"));
  ASSERT_NE(figures, nullptr);
  EXPECT_EQ(cell(figures, 0, 0), QStringLiteral("Step time"));
  EXPECT_EQ(cell(figures, 1, 0).trimmed(), QStringLiteral("80 %"));
  EXPECT_TRUE(cell(figures, 1, 1).contains(QStringLiteral(" … "))) << cell(figures, 1, 1).toStdString();
  EXPECT_EQ(cell(figures, 2, 0), QStringLiteral("Model FLOP use"));
  EXPECT_TRUE(cell(figures, 2, 2).contains(QStringLiteral("62.65 TFLOP/s")))
      << cell(figures, 2, 2).toStdString();
  EXPECT_EQ(cell(figures, 6, 0), QStringLiteral("Final loss"));
  EXPECT_EQ(cell(figures, 8, 0), QStringLiteral("Test accuracy"));
  EXPECT_EQ(cell(figures, 8, 1), QStringLiteral("97.7 %"));
  EXPECT_EQ(cell(figures, 8, 2),
            QStringLiteral("9,600 of 10,000 test samples (12 calls of 800; the rest is dropped)."));
  EXPECT_EQ(child<pages::FactGrid>()->value(QStringLiteral("System")), QStringLiteral("pod4"));
  EXPECT_EQ(child<pages::FactGrid>()->value(QStringLiteral("Memory")),
            QStringLiteral("1,472 × 624 KiB = 897 MiB each"));
  EXPECT_EQ(table(QStringLiteral("Executables"))->model()->rowCount(), 2);
  EXPECT_EQ(table(QStringLiteral("How exact the figures are"))->model()->rowCount(), 3);
  EXPECT_EQ(table(QStringLiteral("What was checked"))->model()->rowCount(), 2);
  ASSERT_NE(table(QStringLiteral("Figures of the device model")), nullptr);
}

TEST_F(PageTest, SummaryOfALongCallShowsItsSettingsBeforeItsFigures) {
  // The figures of this profile cannot be added up, so the first part of the page stays.
  const auto profile =
      std::make_shared<WatchedProfile>(FixtureOptions{.iterations = 800, .runs = 1, .inference = false});
  profile->refuse(model::tableIndexOf<model::Transfer>(), "Transfers cannot be read.");
  open(profile, QStringLiteral("summary"));
  EXPECT_EQ(window->currentPage()->notice(), QStringLiteral("Transfers cannot be read."));
  ASSERT_NE(card(QStringLiteral("Limiting stage")), nullptr);
  EXPECT_EQ(card(QStringLiteral("Limiting stage"))->value(), QStringLiteral("…"));
  EXPECT_EQ(child<pages::FactGrid>()->value(QStringLiteral("System")), QStringLiteral("pod4"));
  EXPECT_EQ(table(QStringLiteral("Executables")), nullptr) << "it has no content yet";
}

TEST_F(PageTest, SummaryCardsLeadToTheirPages) {
  openPage(QStringLiteral("summary"));
  const auto leadsTo = [&](const QString& caption, const QString& page) {
    showPage(QStringLiteral("summary"));
    QTest::mouseClick(card(caption), Qt::LeftButton);
    EXPECT_TRUE(settle());
    EXPECT_EQ(window->currentPage()->accessibleName(), page) << caption.toStdString();
  };
  leadsTo(QStringLiteral("Memory"), QStringLiteral("Memory"));
  leadsTo(QStringLiteral("Emulated samples/s"), QStringLiteral("Trace"));
  leadsTo(QStringLiteral("Bound by"), QStringLiteral("Stages"));
  leadsTo(QStringLiteral("Limiting stage"), QStringLiteral("Stages"));
  showPage(QStringLiteral("summary"));
  card(QStringLiteral("Memory"))->setFocus();
  QTest::keyClick(card(QStringLiteral("Memory")), Qt::Key_Return);
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Memory")) << "by key too";
}

TEST_F(PageTest, WhatBoundsTheRunLeadsToThePageThatShowsIt) {
  // The copies of the only stage take most of the time. Only the trace shows them one by one.
  openPage(QStringLiteral("summary"), {.stages = 1, .slowHost = true});
  ASSERT_EQ(card(QStringLiteral("Bound by"))->value(), QStringLiteral("stream"));
  QTest::mouseClick(card(QStringLiteral("Bound by")), Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Trace"));
}

TEST_F(PageTest, SummarySharesAddUp) {
  openPage(QStringLiteral("summary"));
  const auto& bars = child<BarChart>()->bars();
  ASSERT_EQ(bars.size(), 1U);
  EXPECT_NEAR(bars[0].total(), 1, 1e-9);
  EXPECT_EQ(bars[0].parts.size(), child<timeline::Legend>()->entries().size());
}

TEST_F(PageTest, SummaryOptionsAreFiltered) {
  openPage(QStringLiteral("summary"));
  DataTable* options = table(QStringLiteral("Options"));
  ASSERT_EQ(options->shown()->rowCount(), 19);
  QTest::keyClicks(options->filter(), QStringLiteral("micro_batch"));
  EXPECT_EQ(options->shown()->rowCount(), 2);
  options->filter()->setText(QStringLiteral("environment"));
  ASSERT_EQ(options->shown()->rowCount(), 1);
  EXPECT_EQ(options->shown()->index(0, 0).data().toString(), QStringLiteral("data.seed"))
      << "origins are searched too";
}

TEST_F(PageTest, SummarySaysWhenItDoesNotFit) {
  openPage(QStringLiteral("summary"), {.overflow = true});
  EXPECT_EQ(card(QStringLiteral("Memory"))->value(), QStringLiteral("Does not fit"));
  DataTable* overflow = table(QStringLiteral("What does not fit"));
  ASSERT_NE(overflow, nullptr);
  ASSERT_TRUE(overflow->isVisible());
  ASSERT_EQ(overflow->model()->rowCount(), 1) << "one device";
  EXPECT_EQ(cell(overflow, 0, 0), QStringLiteral("IPU1"));
  QStringList sentences;
  for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) sentences << label->text();
  EXPECT_FALSE(sentences.contains(QStringLiteral(
      "IPU1 needs 741 KiB on tile 3, which has 624 KiB: move work off stage 1, or recompute more.")))
      << "the remarks do not repeat the table";
  picture("summary_overflow");
  // A row leads to its fullest tile.
  const QRect row = overflow->view()->visualRect(overflow->shown()->index(0, 0));
  QTest::mouseClick(overflow->view()->viewport(), Qt::LeftButton, {}, row.center());
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Memory"));
  EXPECT_TRUE(readout().startsWith(QStringLiteral("IPU1 tile "))) << readout().toStdString();
}

TEST_F(PageTest, SummaryOfAModelThatFitsHasNoTableOfWhatDoesNotFit) {
  openPage(QStringLiteral("summary"));
  for (const char* title : {"What does not fit", "What would help"})
    EXPECT_FALSE(table(QLatin1String(title))->isVisible()) << title;
}

TEST_F(PageTest, SummaryOfAFixedSystem) {
  openPage(QStringLiteral("summary"), {.fixed = true});
  EXPECT_EQ(card(QStringLiteral("Memory"))->value(), QStringLiteral("not modelled"));
  ASSERT_NE(card(QStringLiteral("Samples per cost unit")), nullptr);
}

TEST_F(PageTest, AnImportedTraceIsNotCalledEmulated) {
  openPage(QStringLiteral("summary"), {.imported = true});
  EXPECT_NE(card(QStringLiteral("Samples/s")), nullptr);
  EXPECT_EQ(card(QStringLiteral("Memory"))->value(), QStringLiteral("not known"));
  const std::vector<std::pair<const char*, const char*>> empty = {
      {"memory",
       "The imported trace does not say what is in memory. The page Trace draws what it counts over time, "
       "such as "
       "allocated memory."},
      {"liveness", "The imported trace does not say what is live when."},
      {"training", "The imported trace records no loss."}};
  for (const auto& [page, sentence] : empty) {
    showPage(QLatin1String(page));
    if (QLatin1String(page) == QLatin1String("training") && window->currentPage()->notice().isEmpty())
      continue;
    EXPECT_EQ(window->currentPage()->notice(), QLatin1String(sentence));
  }
  // The rest of an iteration is not known to be exchange.
  showPage(QStringLiteral("stages"));
  QStringList names;
  for (const timeline::Legend* legend : window->currentPage()->findChildren<timeline::Legend*>()) {
    for (const auto& entry : legend->entries()) names << entry.text;
  }
  EXPECT_TRUE(names.contains(QStringLiteral("other")));
  EXPECT_FALSE(names.contains(QStringLiteral("exchange and sync")));
}

TEST_F(PageTest, ACallWithoutSamplesDoesNotSayZero) {
  fixture = std::make_unique<ProfileFixture>(FixtureOptions{.fixed = true});
  model::RowSet rows = *fixture->profile()->everything();
  for (model::Run& run : rows.of<model::Run>()) run.samples = 0;
  auto profile = std::make_shared<record::MemoryProfile>();
  ASSERT_TRUE(profile->commit(rows).ok());
  ASSERT_TRUE(profile->finish(model::ProfileState::complete, "").ok());
  open(profile, QStringLiteral("summary"));
  EXPECT_EQ(card(QStringLiteral("Samples per cost unit")), nullptr);
  const FigureCard* rate = card(QStringLiteral("Step time, cost units"));
  ASSERT_NE(rate, nullptr);
  EXPECT_GT(rate->value().toDouble(), 0);
  EXPECT_TRUE(rate->detailShown(600).endsWith(QStringLiteral("; its number of samples is not known")))
      << rate->detailShown(600).toStdString();
}

TEST_F(PageTest, StagesStackOneStep) {
  openPage(QStringLiteral("stages"));
  auto* chart = child<BarChart>(QStringLiteral("One iteration on each stage's device"));
  ASSERT_NE(chart, nullptr);
  ASSERT_EQ(chart->bars().size(), 4U);
  const FixtureFacts& facts = fixture->facts();
  const auto part = [&](std::size_t bar, geometry::ColourRole role) {
    double sum = 0;
    for (const geometry::BarPart& p : chart->bars()[bar].parts) sum += p.role == role ? p.value : 0;
    return sum;
  };
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(part(i, geometry::ColourRole::forward),
                     10.0 * static_cast<double>(facts.forwardTicks[i]));
    EXPECT_DOUBLE_EQ(part(i, geometry::ColourRole::recompute),
                     10.0 * static_cast<double>(facts.recomputeTicks[i]));
    EXPECT_DOUBLE_EQ(part(i, geometry::ColourRole::backward),
                     10.0 * static_cast<double>(facts.backwardTicks[i]));
    EXPECT_DOUBLE_EQ(part(i, geometry::ColourRole::update), static_cast<double>(facts.updateTicks[i]));
  }
  // Each bar must cover the whole step, so all bars have the same length.
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_NEAR(chart->bars()[i].total(), chart->bars()[0].total(), 0.001 * chart->bars()[0].total());
}

TEST_F(PageTest, StagesLoseWhatAStepIsLong) {
  openPage(QStringLiteral("stages"));
  const auto& lost = child<BarChart>(QStringLiteral("Where an iteration loses time"))->bars();
  const auto& step = child<BarChart>(QStringLiteral("One iteration on each stage's device"))->bars();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_NEAR(lost[0].total(), step[0].total(), 1);
  double useful = 0;
  for (std::size_t i = 0; i < 4; ++i)
    useful += static_cast<double>(fixture->facts().forwardTicks[i] + fixture->facts().recomputeTicks[i] +
                                  fixture->facts().backwardTicks[i]) /
              4;
  EXPECT_NEAR(lost[0].parts[0].value, 10 * useful, 1);
  const auto& bubble = child<BarChart>(QStringLiteral("The bubble"))->bars();
  EXPECT_NEAR(bubble[0].total(), 1, 1e-9);
}

TEST_F(PageTest, StagesTablesNameTheirFigures) {
  openPage(QStringLiteral("stages"));
  ASSERT_NE(table(QStringLiteral("Boundaries")), nullptr);
  EXPECT_EQ(table(QStringLiteral("Boundaries"))->model()->rowCount(), 6);
  EXPECT_NE(table(QStringLiteral("What makes stage 1 slow")), nullptr);
  EXPECT_EQ(table(QStringLiteral("Stages"))->model()->rowCount(), 4);
  EXPECT_EQ(card(QStringLiteral("Limiting stage"))->value(), QStringLiteral("Stage 1"));
  const double mean = (160'700 + 265'200 + 90'500 + 48'800) / 4.0;
  EXPECT_NEAR(card(QStringLiteral("Imbalance"))->value().toDouble(), 265'200 / mean, 0.006);
}

TEST_F(PageTest, ASummaryOfAGenerationSaysHowFastItAnswers) {
  const ProfileFixture recorded;
  model::RowSet rows = *recorded.profile()->everything();
  for (const auto& [name, unit, value] :
       {std::tuple("time_to_first_token", "s", 0.25), std::tuple("time_per_token", "s", 0.0125),
        std::tuple("output_tokens_per_second", "tokens/s", 1234.0)}) {
    model::Outcome row;
    row.executable = model::ExecutableId(0);
    row.name = name;
    row.unit = unit;
    row.basis = "8 prompts";
    row.value = value;
    rows.of<model::Outcome>().push_back(row);
  }
  auto profile = std::make_shared<record::MemoryProfile>();
  ASSERT_TRUE(profile->commit(rows).ok());
  ASSERT_TRUE(profile->finish(model::ProfileState::complete, "").ok());
  open(profile, QStringLiteral("summary"));
  const FigureCard* rate = card(QStringLiteral("Output tokens/s"));
  ASSERT_NE(rate, nullptr);
  EXPECT_EQ(rate->value(), QStringLiteral("1,234"));
  EXPECT_TRUE(rate->detailShown(400).contains(QStringLiteral("first token after 250")))
      << rate->detailShown(400).toStdString();
  EXPECT_EQ(card(QStringLiteral("Emulated samples/s")), nullptr);
}

TEST_F(PageTest, StagesSayWhenStreamCopiesHoldThemUp) {
  openPage(QStringLiteral("stages"), {.slowHost = true});
  QStringList sentences;
  for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) sentences << label->text();
  EXPECT_TRUE(std::any_of(sentences.begin(), sentences.end(), [](const QString& sentence) {
    return sentence.startsWith(
        QStringLiteral("Stage 1 computes longest, but stage 0 takes longer with its host copies"));
  }));
  picture("stages_remark");
}

TEST_F(PageTest, StagesFollowTheSelection) {
  openPage(QStringLiteral("stages"));
  auto* chart = child<BarChart>(QStringLiteral("One iteration on each stage's device"));
  const QRect third = chart->partRect({2, 0});
  QTest::mouseClick(chart, Qt::LeftButton, {}, third.center());
  EXPECT_EQ(window->selection().current().kind, shell::Selected::Kind::stage);
  EXPECT_EQ(window->selection().current().stage, 2);
  window->go({QStringLiteral("stages"), {}, 1});
  picture("stages_marked");
}

TEST_F(PageTest, StagesOfAFixedSystemHaveNoMemory) {
  openPage(QStringLiteral("stages"), {.fixed = true});
  auto* memory = child<BarChart>(QStringLiteral("Memory per stage"));
  EXPECT_FALSE(memory->isVisible());
  DataTable* stages = table(QStringLiteral("Stages"));
  EXPECT_EQ(cell(stages, 0, 3), QStringLiteral("1.0300")) << "cost units, not ticks, as in the rows below";
  picture("stages_fixed");
}

TEST_F(PageTest, MemoryShowsEveryTileOfEveryDevice) {
  openPage(QStringLiteral("memory"));
  auto* chart = child<Chart>();
  ASSERT_NE(chart, nullptr);
  EXPECT_EQ(chart->size(), 4 * 1472);
  // The chart's values must add up to the recorded rows.
  std::int64_t used = 0, gaps = 0;
  for (const model::UnitMemory& row : **fixture->profile()->rows<model::UnitMemory>()) {
    if (row.executable == model::ExecutableId(0))
      (row.category == "gap" ? gaps : used) += row.bytes.count * row.unitCount;
  }
  const auto drawn = [&] {
    std::int64_t sum = 0;
    for (int i = 0; i < chart->size(); ++i) sum += chart->total(i);
    return sum;
  };
  EXPECT_EQ(drawn(), used);
  EXPECT_TRUE(readout().startsWith(QStringLiteral("Fullest: IPU3 tile")));
  EXPECT_TRUE(readout().contains(QStringLiteral("address span"))) << "the second figure";
  for (QCheckBox* box : window->currentPage()->findChildren<QCheckBox*>()) {
    if (box->text() == QStringLiteral("With gaps")) box->click();
  }
  ASSERT_TRUE(settle());
  EXPECT_EQ(drawn(), used + gaps);
  DataTable* categories = table(QStringLiteral("What uses the memory"));
  EXPECT_EQ(cell(categories, 0, 0), QStringLiteral("variable")) << "largest first";
  EXPECT_EQ(cell(categories, categories->model()->rowCount() - 1, 0), QStringLiteral("gap")) << "gaps last";
}

TEST_F(PageTest, MemoryByDeviceAndBreakdown) {
  openPage(QStringLiteral("memory"));
  auto* chart = child<Chart>();
  choose(child<QComboBox>(QStringLiteral("Device")), 2);
  ASSERT_TRUE(settle());
  EXPECT_EQ(chart->size(), 1472);
  const std::int64_t before = chart->total(7);
  choose(child<QComboBox>(QStringLiteral("Breakdown")), static_cast<int>(pages::MemoryBreakdown::liveness));
  ASSERT_TRUE(settle());
  EXPECT_EQ(chart->layers().size(), 2U) << "always live, not always live";
  EXPECT_EQ(chart->total(7), before) << "another breakdown of the same bytes";
  picture("memory_liveness");
  for (QCheckBox* box : window->currentPage()->findChildren<QCheckBox*>()) {
    if (box->text() == QStringLiteral("With gaps")) box->click();
  }
  ASSERT_TRUE(settle());
  EXPECT_EQ(chart->layers().size(), 3U) << "always live, not always live, gaps";
  EXPECT_GT(chart->total(7), before);
  choose(child<QComboBox>(QStringLiteral("Breakdown")), static_cast<int>(pages::MemoryBreakdown::none));
  ASSERT_TRUE(settle());
  EXPECT_EQ(chart->layers().size(), 1U);
}

TEST_F(PageTest, MemoryBeginsWithWhatItIsFor) {
  openPage(QStringLiteral("memory"));
  auto* chart = child<Chart>();
  DataTable* parts = table(QStringLiteral("What uses the memory"));
  const auto bytesOf = [&](const char* part) {
    for (const auto& row : parts->model()->table().rows) {
      if (std::get<std::string>(row[0]) == part) return std::get<std::int64_t>(row[1]);
    }
    return std::int64_t{-1};
  };
  // The fixture's categories of code and control, from the rows of the profile.
  std::int64_t code = 0;
  for (const model::UnitMemory& row : **fixture->profile()->rows<model::UnitMemory>()) {
    const bool isCode = row.category == "vertexCode" || row.category == "internalExchangeCode" ||
                        row.category == "globalExchangeCode";
    if (row.executable == model::ExecutableId(0) && isCode) code += row.bytes.count * row.unitCount;
  }
  EXPECT_EQ(bytesOf("code"), code);
  for (const char* part : {"weight", "optimizer state", "activation", "control", "live in other steps"})
    EXPECT_GT(bytesOf(part), 0) << part;
  const std::int64_t all = chart->total(5);
  QCheckBox* peak = nullptr;
  for (QCheckBox* box : window->currentPage()->findChildren<QCheckBox*>()) {
    if (box->text() == QStringLiteral("Peak only")) peak = box;
  }
  ASSERT_TRUE(peak != nullptr && peak->isEnabled());
  peak->click();
  ASSERT_TRUE(settle());
  EXPECT_LT(chart->total(5), all);
  EXPECT_EQ(bytesOf("live in other steps"), -1);
  choose(child<QComboBox>(QStringLiteral("Breakdown")), static_cast<int>(pages::MemoryBreakdown::category));
  ASSERT_TRUE(settle());
  EXPECT_FALSE(peak->isEnabled());
  EXPECT_EQ(chart->total(5), all) << "another breakdown of the same bytes";
}

TEST_F(PageTest, MemoryByRegionCategoryAndLivenessIsATree) {
  openPage(QStringLiteral("memory"));
  const auto& tree = child<TreeTable>()->ownRows();
  std::map<std::string, std::int64_t> regions;
  for (const model::UnitMemory& row : **fixture->profile()->rows<model::UnitMemory>()) {
    // Gaps between variables are not in use, so they stand by themselves at the end.
    if (row.executable == model::ExecutableId(0))
      regions[row.category == "gap" ? "gaps, not used" : pages::memoryWords(row.region).toStdString()] +=
          row.bytes.count * row.unitCount;
  }
  std::map<std::string, std::int64_t> shown;
  std::vector<std::int64_t> below(tree.parents.size(), 0);
  for (std::size_t i = 0; i < tree.parents.size(); ++i) {
    const std::int64_t bytes = std::get<std::int64_t>(tree.table.rows[i][1]);
    if (tree.parents[i] < 0) shown[std::get<std::string>(tree.table.rows[i][0])] = bytes;
    if (tree.parents[i] >= 0) below[static_cast<std::size_t>(tree.parents[i])] += bytes;
  }
  EXPECT_EQ(shown, regions);
  double shares = 0;
  for (std::size_t i = 0; i < tree.parents.size(); ++i) {
    const auto* share = std::get_if<double>(&tree.table.rows[i][2]);
    if (tree.parents[i] < 0 && share != nullptr) shares += *share;
  }
  EXPECT_NEAR(shares, 1, 1e-9) << "of the bytes used";
  for (std::size_t i = 0; i < tree.parents.size(); ++i) {
    if (below[i] == 0) continue;
    EXPECT_EQ(below[i], std::get<std::int64_t>(tree.table.rows[i][1])) << "a group is its parts";
  }
  picture("memory_tree");
}

TEST_F(PageTest, AnotherProfileBeginsWithItsOwnDevice) {
  openPage(QStringLiteral("liveness"));
  const auto device = [&] { return child<QComboBox>(QStringLiteral("Device"))->currentText(); };
  ASSERT_EQ(device(), QStringLiteral("IPU3")) << "the fullest one";
  choose(child<QComboBox>(QStringLiteral("Device")), 2);
  ASSERT_TRUE(settle());
  ASSERT_EQ(device(), QStringLiteral("IPU2"));
  showPage(QStringLiteral("memory"));
  choose(child<QComboBox>(QStringLiteral("Device")), 2);
  ASSERT_TRUE(settle());
  ASSERT_EQ(device(), QStringLiteral("IPU1"));
  open(ProfileFixture({.overflow = true}).profile(), QStringLiteral("liveness"));
  EXPECT_EQ(device(), QStringLiteral("IPU1")) << "the one that lacks memory";
  showPage(QStringLiteral("memory"));
  EXPECT_EQ(child<QComboBox>(QStringLiteral("Device"))->currentIndex(), 0) << "all devices";
}

TEST_F(PageTest, MemoryTilesArePointedAt) {
  openPage(QStringLiteral("memory"));
  auto* chart = child<Chart>();
  choose(child<QComboBox>(QStringLiteral("Device")), 1);
  ASSERT_TRUE(settle());
  chart->setRange(100, 140);
  QTest::mouseClick(chart->canvas(), Qt::LeftButton, {}, on(chart, 120));
  EXPECT_EQ(chart->mark(), 120);
  EXPECT_TRUE(readout().startsWith(QStringLiteral("IPU0 tile 120, "))) << readout().toStdString();
  EXPECT_TRUE(readout().contains(QStringLiteral(" of 624 KiB")));
  const auto [from, to] = chart->range();
  QWheelEvent wheel(on(chart, 120), chart->canvas()->mapToGlobal(on(chart, 120)), {}, {0, -240}, Qt::NoButton,
                    {}, Qt::NoScrollPhase, false);
  QApplication::sendEvent(chart->canvas(), &wheel);
  EXPECT_GT(chart->range().second - chart->range().first, to - from);
  QTest::mouseDClick(chart->canvas(), Qt::LeftButton, {}, QPoint(on(chart, 120).x(), 3));
  EXPECT_EQ(chart->range(), std::pair(0.0, 1472.0)) << "above the bars";
}

TEST_F(PageTest, MemoryAndLivenessOfAFixedSystemSayWhyTheyAreEmpty) {
  openPage(QStringLiteral("memory"), {.fixed = true});
  EXPECT_EQ(
      window->currentPage()->notice(),
      QStringLiteral("Memory is not modelled for this system: its costs come from the "
                     "configuration. Emulate another system, such as IPUs, Gaudis or cards, to see memory."));
  picture("memory_fixed");
  showPage(QStringLiteral("liveness"));
  EXPECT_EQ(
      window->currentPage()->notice(),
      QStringLiteral(
          "Liveness is not modelled for this system: its costs come from the "
          "configuration. Emulate another system, such as IPUs, Gaudis or cards, to see what is live when."));
}

/// The device of which some tile spans the most bytes, from the rows of the profile.
std::int64_t fullestDevice(const model::ProfileSource& source) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> spans;
  for (const model::UnitMemory& row : **source.rows<model::UnitMemory>()) {
    if (row.executable != model::ExecutableId(0)) continue;
    for (std::int64_t tile = row.firstUnit; tile < row.firstUnit + row.unitCount; ++tile)
      spans[{row.space.value, tile}] += row.bytes.count;
  }
  return std::ranges::max_element(spans, {}, [](const auto& one) { return one.second; })->first.first;
}

TEST_F(PageTest, LivenessOpensOnThePeak) {
  openPage(QStringLiteral("liveness"));
  auto* chart = child<Chart>();
  ASSERT_EQ(chart->size(), 132);
  std::int64_t peak = 0;
  int at = -1;
  const model::MemorySpaceId fullest(fullestDevice(*fixture->profile()));
  for (const model::LivenessStep& row : **fixture->profile()->rows<model::LivenessStep>()) {
    if (row.executable == model::ExecutableId(0) && row.space == fullest && row.notAlwaysLive.count > peak)
      peak = row.notAlwaysLive.count, at = row.index;
  }
  EXPECT_EQ(chart->mark(), at);
  EXPECT_EQ(chart->layers().back().values[static_cast<std::size_t>(at)], peak);
  EXPECT_TRUE(readout().endsWith(QStringLiteral("the peak")));
}

TEST_F(PageTest, LivenessBeginsWithTheDeviceThatLacksMemory) {
  openPage(QStringLiteral("liveness"), {.overflow = true});
  EXPECT_EQ(child<QComboBox>(QStringLiteral("Device"))->currentText(), QStringLiteral("IPU1"));
}

TEST_F(PageTest, LivenessOfAModelThatFitsBeginsWithTheFullestDevice) {
  openPage(QStringLiteral("liveness"));
  EXPECT_EQ(child<QComboBox>(QStringLiteral("Device"))->currentText(),
            QStringLiteral("IPU%1").arg(fullestDevice(*fixture->profile())));
}

/// The tree whose table has this key.
TreeTable* treeNamed(const QWidget& page, const char* key) {
  for (auto* tree : page.findChildren<TreeTable*>()) {
    if (tree->ownRows().table.key == key) return tree;
  }
  return nullptr;
}

/// The sum of the bytes of a tree's roots, and of its leaves.
std::pair<std::int64_t, std::int64_t> sumsOf(const TreeTable& tree) {
  const TreeRows& rows = tree.ownRows();
  std::int64_t roots = 0, leaves = 0;
  for (std::size_t i = 0; i < rows.parents.size(); ++i) {
    const std::int64_t bytes = std::get<std::int64_t>(rows.table.rows[i][1]);
    if (rows.parents[i] < 0) roots += bytes;
    if (rows.sources[i] >= 0) leaves += bytes;
  }
  return {roots, leaves};
}

TEST_F(PageTest, LivenessListsWhatIsLive) {
  openPage(QStringLiteral("liveness"));
  auto* chart = child<Chart>();
  for (QCheckBox* box : window->currentPage()->findChildren<QCheckBox*>()) {
    if (box->text() == QStringLiteral("Always live below")) box->click();
  }
  ASSERT_TRUE(settle());
  EXPECT_EQ(chart->layers().size(), 1U);
  // The variables in the tree, and so its totals, must add up to the bytes that the chart shows.
  for (const int step : {5, 40, 66, 100, 131}) {
    QTest::mouseClick(chart->canvas(), Qt::LeftButton, {}, on(chart, step));
    ASSERT_EQ(chart->mark(), step);
    ASSERT_TRUE(settle());
    const auto [roots, leaves] = sumsOf(*treeNamed(*window->currentPage(), "live_now"));
    EXPECT_EQ(roots, chart->total(step)) << step;
    EXPECT_EQ(leaves, chart->total(step)) << step;
  }
  QTest::keyClick(window.get(), Qt::Key_Comma);
  EXPECT_EQ(chart->mark(), 130);
  QTest::keyClick(window.get(), Qt::Key_P);
  EXPECT_TRUE(readout().endsWith(QStringLiteral("the peak")));
  ASSERT_TRUE(settle());
  TreeTable* variables = treeNamed(*window->currentPage(), "live_now");
  EXPECT_EQ(variables->shown()->rowCount(), 1) << "all lie below the stage's layer";
  variables->filter()->setText(QStringLiteral("no such variable"));
  EXPECT_EQ(variables->shown()->rowCount(), 0);
}

TEST_F(PageTest, WhatIsAlwaysLiveHasATreeOfItsOwn) {
  openPage(QStringLiteral("liveness"));
  auto* tabs = child<QTabWidget>();
  std::int64_t always = 0;
  const auto device = fullestDevice(*fixture->profile());
  for (const model::Variable& row : **fixture->profile()->rows<model::Variable>()) {
    if (row.executable == model::ExecutableId(0) && row.space == model::MemorySpaceId(device) &&
        row.alwaysLive)
      always += row.bytes.count;
  }
  const auto [roots, leaves] = sumsOf(*treeNamed(*window->currentPage(), "always_live"));
  EXPECT_EQ(roots, always);
  EXPECT_EQ(leaves, always);
  EXPECT_EQ(tabs->tabText(1), QStringLiteral("Always live · ") +
                                  QString::fromStdString(formatCell(always, sections::Format::bytes)));
}

TEST_F(PageTest, SeveralStepsListWhatIsLiveInAnyOfThem) {
  openPage(QStringLiteral("liveness"));
  auto* chart = child<Chart>();
  QTest::mouseClick(chart->canvas(), Qt::LeftButton, {}, on(chart, 90));
  QTest::mouseClick(chart->canvas(), Qt::LeftButton, Qt::ShiftModifier, on(chart, 60));
  EXPECT_EQ(chart->mark(), 90);
  EXPECT_EQ(chart->markedUntil(), 60);
  ASSERT_TRUE(settle());
  const auto listed = [&] {
    std::int64_t count = 0;
    for (const int source : treeNamed(*window->currentPage(), "live_now")->ownRows().sources)
      count += source >= 0 ? 1 : 0;
    return count;
  };
  const auto device = fullestDevice(*fixture->profile());
  const auto expected = [&](int first, int last) {
    std::set<std::int64_t> here, live;
    for (const model::Variable& row : **fixture->profile()->rows<model::Variable>()) {
      if (row.executable == model::ExecutableId(0) && row.space == model::MemorySpaceId(device))
        here.insert(row.id.value);
    }
    for (const model::LifeInterval& row : **fixture->profile()->rows<model::LifeInterval>()) {
      for (int step = first; step <= last; ++step) {
        if (here.count(row.variable.value) > 0 && row.firstStep <= step && step < row.endStep)
          live.insert(row.variable.value);
      }
    }
    return static_cast<std::int64_t>(live.size());
  };
  EXPECT_EQ(listed(), expected(60, 90));
  EXPECT_GT(listed(), expected(90, 90));
  EXPECT_TRUE(readout().startsWith(QStringLiteral("Steps 60 to 90, 31 in all"))) << readout().toStdString();
  picture("liveness_steps");
  QTest::keyClick(window.get(), Qt::Key_Right, Qt::ShiftModifier);
  EXPECT_EQ(chart->markedUntil(), 61);
  QTest::keyClick(window.get(), Qt::Key_Left, Qt::ShiftModifier);
  EXPECT_EQ(chart->markedUntil(), 60);
  QTest::mouseClick(chart->canvas(), Qt::LeftButton, {}, on(chart, 7));
  EXPECT_EQ(chart->markedUntil(), 7) << "a click selects a single step again";
  ASSERT_TRUE(settle());
  EXPECT_EQ(listed(), expected(7, 7));
}

TEST_F(PageTest, LifetimesAreBarsOverTheProgramSteps) {
  openPage(QStringLiteral("liveness"));
  auto* tabs = child<QTabWidget>();
  tabs->setCurrentIndex(2);
  ASSERT_TRUE(settle());
  auto* lives = child<timeline::ItemChart>(QStringLiteral("Lifetimes of variables"));
  ASSERT_FALSE(lives->itemRect(0).isEmpty());
  const auto device = fullestDevice(*fixture->profile());
  std::int64_t most = 0;
  for (const model::Variable& row : **fixture->profile()->rows<model::Variable>()) {
    if (row.executable == model::ExecutableId(0) && row.space == model::MemorySpaceId(device) &&
        !row.alwaysLive)
      most = std::max(most, row.bytes.count);
  }
  QTest::mouseClick(lives, Qt::LeftButton, {}, lives->itemRect(0).center());
  const shell::Selected& selected = window->selection().current();
  EXPECT_EQ(selected.kind, shell::Selected::Kind::variable);
  EXPECT_EQ(lives->marked(), 0);
  EXPECT_TRUE(lives->accessibleDescription().contains(
      QString::fromStdString(formatCell(most, sections::Format::bytes))))
      << "the largest comes first: " << lives->accessibleDescription().toStdString();
  EXPECT_TRUE(lives->accessibleDescription().startsWith(selected.name));
  picture("liveness_lifetimes");
}

TEST_F(PageTest, LivenessByDevice) {
  openPage(QStringLiteral("liveness"));
  auto* chart = child<Chart>();
  const std::int64_t first = chart->layers().front().values[0];
  choose(child<QComboBox>(QStringLiteral("Device")), 0);
  ASSERT_TRUE(settle());
  EXPECT_NE(chart->layers().front().values[0], first);
  EXPECT_GE(chart->mark(), 0) << "its own peak";
}

}  // namespace
}  // namespace pipescope::testing
