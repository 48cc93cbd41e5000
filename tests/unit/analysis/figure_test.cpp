#include "profiler/figures/figure.h"

#include <gtest/gtest.h>

#include <set>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/figures/stage_figure.h"
#include "profiler/record/memory_profile.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/sweep_file.h"
#include "trace_fixture.h"

namespace pipescope::figures {
namespace {

TEST(Figures, AreSaidOnceAndWhole) {
  std::set<std::string> keys, labels;
  for (const Figure& figure : allFigures()) {
    EXPECT_TRUE(keys.insert(figure.key).second) << figure.key << " is said twice";
    EXPECT_TRUE(labels.insert(figure.label).second) << figure.key << " has the label of another figure";
    EXPECT_FALSE(std::string(figure.doc).empty()) << figure.key;
    EXPECT_EQ(std::string(figure.doc).back(), '.') << figure.key << ": the definition is a sentence";
    const std::string key = figure.key;
    EXPECT_EQ(key.ends_with("_bytes") || key.ends_with("_gaps"), figure.format == Format::bytes) << key;
    if (key.ends_with("_cycles")) {
      EXPECT_EQ(figure.format, Format::ticks) << key;
    }
    if (key.ends_with("_fraction")) {
      EXPECT_EQ(figure.format, Format::fraction) << key;
    }
  }
  for (const auto* list : {&stageTimes(), &stageMemory()})
    for (const StageFigure& figure : *list) EXPECT_EQ(&stageFigure(figure.key), &figure);
}

/// Nobody shows 0 for what a profile does not say.
TEST(Figures, HaveNoValueWithoutTheirAnalysis) {
  for (const Figure& figure : allFigures()) EXPECT_EQ(figure.value(Analyses()), Cell()) << figure.key;
  const analysis::Memory none;
  const analysis::StagesReport nothingRan;
  const analysis::Execution noCall;
  Analyses empty;
  empty.memory = &none;
  empty.stages = &nothingRan;
  empty.execution = &noCall;
  for (const Figure& figure : allFigures()) EXPECT_EQ(figure.value(empty), Cell()) << figure.key;
}

/// A report that computes a figure itself, or words it in its own way, would sooner or later contradict the
/// others.
TEST(Figures, EverySectionSaysThemAlike) {
  const analysis::testing::TraceFixture fixture(6);
  const auto catalog = analysis::loadCatalog(*fixture.profile).value();
  const sections::Context context{*fixture.profile, *catalog, model::ExecutableId(0)};
  int seen = 0;
  std::map<std::string, Cell> values;
  for (const sections::SectionDefinition& definition : sections::sectionRegistry().all()) {
    const auto section = sections::makeSection(definition, context);
    ASSERT_TRUE(section.ok()) << definition.name;
    for (const sections::Fact& fact : section->facts) {
      const Figure* figure = findFigure(fact.key);
      if (figure == nullptr) continue;
      ++seen;
      EXPECT_EQ(fact.format, figure->format) << definition.name << "." << fact.key;
      if (fact.format != Format::bytes) {
        EXPECT_EQ(fact.doc, figure->doc) << definition.name << "." << fact.key;
      }
      const auto [known, isNew] = values.emplace(fact.key, fact.value);
      EXPECT_EQ(known->second, fact.value) << definition.name << "." << fact.key;
    }
  }
  EXPECT_GT(seen, 20);
}

TEST(Figures, OfStepsNeedSteps) {
  analysis::StagesReport report;
  report.stages.resize(2);
  report.limitingStage = report.slowestStage = 0;
  report.lost.step = 10;
  report.microBatches = 5;
  Analyses of;
  of.stages = &report;
  EXPECT_EQ(figure("step_cycles").value(of), Cell(10.0));
  EXPECT_EQ(figure("cycles_per_micro_batch").value(of), Cell(2.0));
  EXPECT_EQ(figure("useful_cycles").value(of), Cell(0.0));
  report.lost.replayed = false;
  EXPECT_EQ(figure("step_cycles").value(of), Cell(10.0));
  EXPECT_EQ(figure("useful_cycles").value(of), Cell()) << "the parts of a step that cannot be replayed";
  report.stepsKnown = false;
  EXPECT_EQ(figure("step_cycles").value(of), Cell()) << "the trace tells no steps";
  EXPECT_EQ(figure("bubble_fraction").value(of), Cell());
  report.stepsKnown = true;
  of.placed = false;
  EXPECT_EQ(figure("step_cycles").value(of), Cell()) << "the run recorded no placements";
}

TEST(Figures, ASpanAboveTheCapacityIsAboveOne) {
  analysis::Memory memory;
  memory.devices.resize(2);
  memory.devices[0].bytesPerUnit = memory.devices[1].bytesPerUnit = base::Bytes{100};
  memory.devices[0].maxUnitIncludingGaps = base::Bytes{50};
  memory.devices[1].maxUnitIncludingGaps = base::Bytes{150};
  memory.devices[1].fits = false;
  memory.devices[0].total = base::Bytes{70};
  Analyses of;
  of.memory = &memory;
  EXPECT_EQ(figure("memory_use").value(of), Cell(1.5));
  EXPECT_EQ(figure("fits").value(of), Cell(false));
  EXPECT_EQ(figure("hypothetical").value(of), Cell(true));
  EXPECT_EQ(figure("memory_bytes").value(of), Cell(std::int64_t{70}));
}

TEST(Figures, OfSweepsCanBeAskedForByAWord) {
  std::set<std::string> words;
  for (const Figure* figure : sections::sweepFigures()) {
    const std::string word = figure->word;
    if (!word.empty()) {
      EXPECT_TRUE(words.insert(word).second) << word;
    }
  }
  EXPECT_EQ(words, (std::set<std::string>{"bubble", "devices", "imbalance", "memory", "price"}));
}

TEST(TimeText, DependsOnWhereTheTimeStands) {
  const ShownTime cycles, micros{1e6, "µs"}, costs{1e6, "cost units"};
  EXPECT_EQ(timeText(281437, cycles), "281,000 cycles");
  EXPECT_EQ(timeText(281437, cycles, TimeStyle::exact), "281,437 cycles");
  EXPECT_EQ(timeText(281437, cycles, TimeStyle::chart), "281,437");
  EXPECT_EQ(timeText(1, cycles, TimeStyle::exact), "1 cycle");
  EXPECT_EQ(timeText(1.17e12, micros), "1.17 s");
  EXPECT_EQ(timeText(2.0026e12, micros, TimeStyle::exact), "2.0026 s");
  EXPECT_EQ(timeText(2.0026e12, micros, TimeStyle::exactChart), "2.0026 s");
  EXPECT_EQ(timeText(2.5e6, costs), "2.5 cost units");
  EXPECT_EQ(timeText(2.5e6, costs, TimeStyle::chart), "2.5");
  EXPECT_EQ(timeText(1e6, costs, TimeStyle::exact), "1 cost unit");
}

}  // namespace
}  // namespace pipescope::figures
