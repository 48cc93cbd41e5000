// Small traces of kinds that came out wrong. The expected figures follow from the times in the files, by
// hand.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "profiler/analysis/coverage.h"
#include "profiler/analysis/pipeline/accelerator_times.h"
#include "profiler/analysis/pipeline/stragglers.h"
#include "tests/unit/analysis/imported_trace.h"

namespace pipescope::analysis {
namespace {

namespace fs = std::filesystem;

fs::path casePath(const char* file) {
  return fs::path(PIPESCOPE_TEST_DATA) / "traces" / file;
}

/// A cell of a section's table, by the key of the column.
sections::Cell cellOf(const sections::Section& section, const std::string& table, std::size_t row,
                      const std::string& key) {
  for (const sections::SectionTable& own : section.tables) {
    if (own.name != table || row >= own.rows.size()) continue;
    for (std::size_t i = 0; i < own.columns.size(); ++i)
      if (own.columns[i].key == key) return own.rows[row][i];
  }
  ADD_FAILURE() << section.name << " has no " << table << "." << key;
  return {};
}

sections::Cell factOf(const sections::Section& section, const std::string& key) {
  for (const sections::Fact& fact : section.facts)
    if (fact.key == key) return fact.value;
  ADD_FAILURE() << section.name << " has no " << key;
  return {};
}

std::vector<std::string> namesOfDevices(const ImportedTrace& trace) {
  std::vector<std::string> names;
  for (const model::Device& device : trace.catalog->devices) names.push_back(device.name);
  return names;
}

bool isEmpty(const sections::Cell& cell) {
  return std::holds_alternative<std::monostate>(cell);
}

/// An arrow from an operator to its backward pass moves nothing: two kernels of 100 µs run within 650 µs.
TEST(ImportedCases, ArrowsAreNoTraffic) {
  const ImportedTrace trace(casePath("autograd_arrows.json"));
  const sections::Section engines = trace.section("engines");
  EXPECT_EQ(cellOf(engines, "devices", 0, "communication_cycles"), sections::Cell(std::int64_t{0}));
  EXPECT_EQ(cellOf(engines, "devices", 0, "exposed_communication_cycles"), sections::Cell(std::int64_t{0}));
  EXPECT_NEAR(std::get<double>(cellOf(engines, "devices", 0, "any_busy")), 200.0 / 650, 1e-12);
  EXPECT_NEAR(std::get<double>(cellOf(engines, "devices", 0, "idle_share")), 450.0 / 650, 1e-12);
}

TEST(ImportedCases, GraphsLaunchAllTheirKernels) {
  const ImportedTrace trace(casePath("graph_launches.json"));
  EXPECT_EQ(factOf(trace.section("kernels"), "launches_found"), sections::Cell(std::int64_t{10}));
}

/// Four micro-batches whose number is null: 100 µs forward, 200 µs backward, and no delay of launches.
TEST(ImportedCases, NumbersInTheStepTellMicroBatches) {
  const ImportedTrace trace(casePath("micro_batch_null.json"));
  const sections::Section stages = trace.section("stages");
  for (const std::size_t stage : {0, 1}) {
    EXPECT_EQ(cellOf(stages, "stages", stage, "forward_cycles"), sections::Cell(100.0 * kTicksPerUs));
    EXPECT_EQ(cellOf(stages, "stages", stage, "backward_cycles"), sections::Cell(200.0 * kTicksPerUs));
  }
  const auto answer = stragglers(trace.profile, *trace.catalog, model::ExecutableId(0));
  ASSERT_TRUE(answer.ok());
  ASSERT_TRUE(answer->stragglers.has_value()) << answer->why;
  EXPECT_NEAR(answer->stragglers->launchSlowdown, 1, 1e-9);
}

/// Three steps of eight micro-batches without a mark, between which all four ranks are idle for 10 ms.
TEST(ImportedCases, PausesTellTheSteps) {
  const ImportedTrace trace(casePath("no_step_marks"));
  const sections::Section stages = trace.section("stages");
  EXPECT_NEAR(std::get<double>(factOf(stages, "step_cycles")), (2 * 48'000 + 38'000) / 3.0 * kTicksPerUs,
              1.0 * kTicksPerUs);
  EXPECT_NEAR(std::get<double>(factOf(stages, "bubble_fraction")), 0.5789, 5e-4);
  EXPECT_EQ(trace.catalog->executable(model::ExecutableId(0))->microBatches, 8);
}

TEST(ImportedCases, DumpedSchedulesNeedNoPrefix) {
  const ImportedTrace trace(casePath("schedule_dump.json"));
  const sections::Section stages = trace.section("stages");
  EXPECT_EQ(trace.catalog->executable(model::ExecutableId(0))->stages, 4);
  EXPECT_EQ(trace.catalog->executable(model::ExecutableId(0))->microBatches, 8);
  EXPECT_NEAR(std::get<double>(factOf(stages, "bubble_fraction")), 0.5789, 5e-4);
  EXPECT_NEAR(std::get<double>(factOf(stages, "step_cycles")), 38.0 * kTicksPerUs, 1);
}

TEST(ImportedCases, DevicesCanBeToldApart) {
  EXPECT_EQ(namesOfDevices(ImportedTrace(casePath("ascend_trace_view.json"))),
            (std::vector<std::string>{"Python", "Ascend Hardware", "CANN"}));
  EXPECT_EQ(namesOfDevices(ImportedTrace(casePath("merged_ranks.json"))),
            (std::vector<std::string>{"rank 0 GPU 0", "rank 1 GPU 0"}));
}

TEST(ImportedCases, AnEventFarFromTheOthersIsLeftOut) {
  const ImportedTrace trace(casePath("one_event_at_zero.json"));
  EXPECT_EQ(trace.catalog->runs[model::RunId(0)].end.count, 950 * kTicksPerUs);
}

}  // namespace
}  // namespace pipescope::analysis
