// Runs each sample and compares the figures that several sections and pages show: step time, busy and idle
// time, compute share, critical path, memory, limiting stage, and bytes sent and received. Every new sample
// takes part.
#include <QTabWidget>
#include <QTemporaryDir>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <set>
#include <tuple>

#include "agreement_figures.h"
#include "profiler/analysis/model/model_graph.h"
#include "profiler/import/trace_import.h"
#include "profiler/record/memory_profile.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/range_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/timeline/bar_chart.h"
#include "window_test.h"

namespace pipescope::testing {

using base::Ticks;

/// Names the sample in lists of tests.
void PrintTo(const Sample& sample, std::ostream* out) {
  *out << sample.name;
}

namespace {

std::vector<Sample> allSamples() {
  std::vector<Sample> samples;
  const std::filesystem::path folder = std::string(PIPESCOPE_SOURCE_DIR) + "/samples";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".toml")
      samples.push_back({entry.path().parent_path().filename().string() + "_" + entry.path().stem().string(),
                         entry.path().string()});
  }
  std::ranges::sort(samples, {}, &Sample::name);
  return samples;
}
class Agreement : public WindowTest, public ::testing::WithParamInterface<Sample> {
 protected:
  QString cardValue(const QString& caption) const {
    for (pages::FigureCard* card : window->currentPage()->findChildren<pages::FigureCard*>()) {
      if (card->caption() == caption) return card->value();
    }
    return {};
  }
  QString fact(const QString& label) const {
    for (pages::FactGrid* grid : window->currentPage()->findChildren<pages::FactGrid*>()) {
      if (!grid->value(label).isEmpty()) return grid->value(label);
    }
    return {};
  }
};

/// The unit in which a new window shows times.
geometry::TimeScale scaleOf(const analysis::Catalog& catalog) {
  const std::int64_t ticks = catalog.timebase({}).ticksPerSecond;
  switch (catalog.target.tickMeaning) {
    case model::TickMeaning::time:
      return {geometry::TimeUnit::time, ticks};
    case model::TickMeaning::cost:
      return {geometry::TimeUnit::costUnits, ticks};
    case model::TickMeaning::clockCycle:
      break;
  }
  return {geometry::TimeUnit::cycles, ticks};
}

TEST_P(Agreement, SectionsAndPageModelsShowTheSameFigures) {
  const auto recorded = record(GetParam());
  ASSERT_NE(recorded, nullptr);
  for (const model::Executable& executable : recorded->catalog->executables) {
    const Figures figures(*recorded, executable.id);
    SCOPED_TRACE(executable.name);
    expectMemoryAgrees(figures);
    expectAddressesAgree(figures);
    if (!figures.ran()) continue;
    expectStepTimesAgree(figures);
    expectBusyAgrees(figures);
    expectTimesOfDevicesAgree(figures);
    expectWaitsAgree(figures);
    expectEnginesAgree(figures);
    expectPathsAgree(figures);
    expectLimitingStagesAgree(figures);
    expectBytesAgree(figures);
    expectOperationsAgree(figures);
    expectGraphAgrees(figures);
    expectInsightsAgree(figures);
    expectProgramsAgree(figures);
    expectCopiesAgree(figures);
    expectLaunchesAgree(figures);
    expectRecordedStepAgrees(figures);
    expectUnchangedReplayAgrees(figures);
    expectMadeProfilesAgree(figures);
  }
}

/// The profile of a trace that lies below the project's folder.
Recorded importOf(const std::string& path) {
  auto profile = std::make_shared<record::MemoryProfile>();
  record::Recorder recorder(*profile);
  importing::ImportRequest request;
  request.paths = {std::string(PIPESCOPE_SOURCE_DIR) + "/" + path};
  request.temporaryFolder = std::filesystem::temp_directory_path();
  base::SilentProgress progress;
  const auto imported = importing::importTraces(request, recorder, progress);
  EXPECT_TRUE(imported.ok()) << imported.error().message;
  return {profile, analysis::loadCatalog(*profile).value()};
}

constexpr const char* kSlowWorker = "tests/unit/analysis/data/slow_worker.json.gz";

/// Agreement of the figures of traces of pipelines that other tools recorded.
class ImportedAgreement : public ::testing::TestWithParam<const char*> {};

TEST_P(ImportedAgreement, AnUnchangedReplayTakesAsLongAsItsStages) {
  const Recorded recorded = importOf(GetParam());
  const Figures figures(recorded, recorded.catalog->executables.front().id);
  ASSERT_TRUE(figures.ran());
  expectUnchangedReplayAgrees(figures);
}

/// Not all of the idle time has a known cause.
TEST(ImportedFigures, SectionsAndPageModelsShowTheSameFigures) {
  const Recorded recorded = importOf(kSlowWorker);
  const Figures figures(recorded, recorded.catalog->executables.front().id);
  ASSERT_TRUE(figures.ran());
  expectStepTimesAgree(figures);
  expectBusyAgrees(figures);
  expectWaitsAgree(figures);
  expectEnginesAgree(figures);
  expectPathsAgree(figures);
}

INSTANTIATE_TEST_SUITE_P(Traces, ImportedAgreement,
                         ::testing::Values(kSlowWorker, "samples/traces/pipeline_1f1b",
                                           "samples/traces/stage_imbalance.json.gz"));

class StagesOfDevices : public WindowTest {};

TEST_F(StagesOfDevices, AStageIsNoExchangeOfTheOtherOneOnItsDevice) {
  QTemporaryDir folder;
  const std::string path = folder.filePath(QStringLiteral("chunks.toml")).toStdString();
  std::ofstream(path) << "[system]\nname = \"fixed\"\n[execution]\nschedule = \"interleaved-1f1b\"\n"
                         "chunks = 2\n[training]\ngradient_accumulation = 8\n";
  for (int stage = 0; stage < 4; ++stage)
    std::ofstream(path, std::ios::app) << "[[fixed.stages]]\nforward = 1\nbackward = 2\n";
  const auto recorded = record({"chunks", path});
  ASSERT_NE(recorded, nullptr);
  open(recorded->source, QStringLiteral("stages"));
  ASSERT_TRUE(settle());
  const auto* chart = window->currentPage()->findChild<timeline::BarChart*>();
  ASSERT_NE(chart, nullptr);
  // Two devices hold two stages each. Each stage takes 8 · (1 + 2) = 24 of 51 cost units, the other stage of
  // its device as many, and the device waits 3. There is no exchange.
  ASSERT_EQ(chart->bars().size(), 4U);
  for (const geometry::Bar& bar : chart->bars()) {
    std::map<geometry::ColourRole, double> parts;
    for (const geometry::BarPart& part : bar.parts) parts[part.role] += part.value;
    const double unit = bar.total() / 51;
    EXPECT_NEAR(parts[geometry::ColourRole::control], 24 * unit, 1e-6 * bar.total());
    EXPECT_NEAR(parts[geometry::ColourRole::exchange], 0, 1e-6 * bar.total());
  }
}

TEST_P(Agreement, PagesShowTheFiguresOfTheSections) {
  const auto recorded = record(GetParam());
  ASSERT_NE(recorded, nullptr);
  const Figures figures(*recorded, recorded->catalog->executables.front().id);
  ASSERT_TRUE(figures.ran());
  open(recorded->source, QStringLiteral("summary"));
  const bool isOnly = figures["stages"]["stages"].size() == 1;
  const QString caption = isOnly ? QStringLiteral("The only stage") : QStringLiteral("Limiting stage");
  const QString limiting = cardValue(caption);
  EXPECT_FALSE(limiting.isEmpty());
  showPage(QStringLiteral("stages"));
  EXPECT_EQ(cardValue(caption), limiting);
  EXPECT_EQ(cardValue(QStringLiteral("Bubble")),
            QString::fromStdString(sections::formatCell(figures["summary"]["bubble_fraction"].get<double>(),
                                                        sections::Format::fraction)));
  showPage(QStringLiteral("graph"));
  const auto graph =
      analysis::modelGraph(*recorded->source, *recorded->catalog, figures.context().executable);
  ASSERT_TRUE(graph.ok());
  std::set<std::tuple<std::string, std::string, int>> sent;
  for (const analysis::ModelEdge& edge : graph->edges) {
    const analysis::ModelNode &from = graph->nodes[edge.from], &to = graph->nodes[edge.to];
    if (from.stage != to.stage) sent.emplace(from.name, edge.tensor, to.stage);
  }
  const auto* tabs = window->currentPage()->findChild<QTabWidget*>();
  ASSERT_NE(tabs, nullptr);
  const auto* cuts = dynamic_cast<pages::DataTable*>(tabs->widget(2));
  ASSERT_NE(cuts, nullptr);
  EXPECT_TRUE(waitFor([&] { return static_cast<std::size_t>(cuts->model()->rowCount()) == sent.size(); }))
      << "a cut tensor is sent once to each stage; rows: " << cuts->model()->rowCount() << " of "
      << sent.size();
  showPage(QStringLiteral("pipeline"));
  const geometry::TimeScale scale = scaleOf(figures.catalog());
  const auto time = [&](Ticks ticks) { return QString::fromStdString(formatDuration(ticks, scale)); };
  const analysis::PipelineGrid& first = figures.grids().front();
  const auto onCard = [&](Ticks ticks) {
    return QString::fromStdString(sections::cardText(static_cast<double>(ticks.count),
                                                     sections::Format::ticks,
                                                     sections::wordsOf(figures.catalog()).time));
  };
  EXPECT_EQ(fact(QStringLiteral("Step time")), onCard(figures.trace().iterations.front().length()));
  EXPECT_EQ(fact(QStringLiteral("Flush")), time(first.end - first.start));
  EXPECT_EQ(fact(QStringLiteral("Critical path")), fact(QStringLiteral("Step time")));
  showPage(QStringLiteral("trace"));
  const auto* ranges = window->currentPage()->findChild<pages::RangeTable*>();
  ASSERT_NE(ranges, nullptr);
  ASSERT_TRUE(waitFor([&] { return !ranges->ranges()->rows().empty(); }));
  for (const analysis::RangeStatistics& row : ranges->ranges()->rows())
    EXPECT_EQ(row.total, figures.trace().iterations.front().length()) << "the trace opens on an iteration";
}

/// Collectives of replicas go on beside the drain and beside other work, on each kind of device in another
/// way.
TEST_P(Agreement, TheTraceHoldsAllRowsOnEverySystemWithReplicas) {
  int ran = 0;
  for (const char* system : {"pod64", "hls-gaudi2x8"}) {
    for (const char* schedule : {"popart", "1f1b"}) {
      for (const char* replicas : {"1", "2"}) {
        const auto recorded = recordWith(GetParam(), {{"system.name", system},
                                                      {"system.devices", "0"},
                                                      {"execution.schedule", schedule},
                                                      {"training.epochs", "1"},
                                                      {"training.replication_factor", replicas}});
        if (!recorded.ok()) continue;  // not every sample runs on every system
        ++ran;
        SCOPED_TRACE(std::string(system) + ", " + schedule + ", replicas: " + replicas);
        const Figures figures(**recorded, (*recorded)->catalog->executables.front().id);
        ASSERT_TRUE(figures.ran());
        EXPECT_EQ(figures.trace().damagedRows, 0);
        for (const analysis::DeviceTrace& device : figures.trace().devices) {
          EXPECT_TRUE(device.crowded.empty()) << device.name;
        }
        expectTimesOfDevicesAgree(figures);
        expectEnginesAgree(figures);
      }
    }
  }
  if (ran == 0) GTEST_SKIP() << "the sample cannot be run with these systems and schedules";
}

INSTANTIATE_TEST_SUITE_P(Samples, Agreement, ::testing::ValuesIn(allSamples()),
                         [](const auto& sample) { return sample.param.name; });

}  // namespace
}  // namespace pipescope::testing
