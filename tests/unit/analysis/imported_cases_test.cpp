// Small traces of kinds that came out wrong. The expected figures follow from the times in the files, by
// hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "profiler/analysis/coverage.h"
#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/recorded/accelerator_times.h"
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
    if (own.key != table || row >= own.rows.size()) continue;
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
  std::ranges::sort(names);
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

fs::path writeTrace(const char* name, const std::string& events) {
  const fs::path file = fs::path(::testing::TempDir()) / name;
  std::ofstream(file) << "[" << events << "{}]";
  return file;
}

std::string slice(const char* category, const char* name, int pid, int start, int end,
                  const std::string& args = "", int thread = 7) {
  return std::string(R"({"ph":"X","cat":")") + category + R"(","name":")" + name + R"(","pid":)" +
         std::to_string(pid) + R"(,"tid":)" + std::to_string(thread) + R"(,"ts":)" + std::to_string(start) +
         R"(,"dur":)" + std::to_string(end - start) + R"(,"args":{)" + args + "}},";
}
std::string launch(int correlation) {
  return R"("correlation":)" + std::to_string(correlation);
}

/// The second kernel has no launch: nobody knows whose idle time lies before it.
TEST(ImportedCases, IdleTimeOfUnknownCauseIsNobodys) {
  const ImportedTrace trace(writeTrace(
      "idle.json", slice("cuda_runtime", "launch", 9, 5, 6, launch(1)) +
                       slice("kernel", "a", 0, 10, 20, launch(1)) + slice("kernel", "b", 0, 30, 40) +
                       slice("cuda_runtime", "launch", 9, 50, 51, launch(2)) +
                       slice("kernel", "c", 0, 60, 70, launch(2))));
  const auto report = acceleratorReport(trace.profile, *trace.catalog);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->devices.size(), 1U);
  const AcceleratorTimes& times = report->devices[0];
  EXPECT_EQ(times.idle.count, 30 * kTicksPerUs);
  EXPECT_EQ(times.hostIdle.count, 10 * kTicksPerUs);
  EXPECT_EQ(times.unknownIdle.count, 10 * kTicksPerUs);
}

/// The host is in its second step when the kernel of the first one runs.
TEST(ImportedCases, KernelsBelongToTheStepThatLaunchedThem) {
  const ImportedTrace trace(
      writeTrace("steps.json", slice("user_annotation", "ProfilerStep#0", 9, 0, 100) +
                                   slice("user_annotation", "ProfilerStep#1", 9, 100, 200) +
                                   slice("cuda_runtime", "launch", 9, 12, 14, launch(1)) +
                                   slice("kernel", "a", 0, 110, 150, launch(1)) +
                                   slice("cuda_runtime", "launch", 9, 112, 114, launch(2)) +
                                   slice("kernel", "b", 0, 150, 190, launch(2))));
  const auto report = acceleratorReport(trace.profile, *trace.catalog);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->devices.at(0).steps.size(), 2U);
  const auto us = [](base::Ticks ticks) { return ticks.count / kTicksPerUs; };
  const MarkedStep &first = report->devices[0].steps[0], &second = report->devices[0].steps[1];
  EXPECT_EQ((std::vector<std::int64_t>{us(first.start), us(first.end), us(first.busy)}),
            (std::vector<std::int64_t>{0, 150, 40}));
  EXPECT_EQ((std::vector<std::int64_t>{us(second.start), us(second.end), us(second.busy)}),
            (std::vector<std::int64_t>{150, 200, 40}));
}

/// A copy for the second step runs while the first one computes, and the first kernel of the trace was
/// launched before the trace began.
TEST(ImportedCases, StepsNeverOverlap) {
  const ImportedTrace trace(
      writeTrace("ahead.json", slice("user_annotation", "ProfilerStep#0", 9, 0, 100) +
                                   slice("user_annotation", "ProfilerStep#1", 9, 100, 200) +
                                   slice("kernel", "older", 0, 5, 45) +
                                   slice("cuda_runtime", "launch", 9, 12, 14, launch(1)) +
                                   slice("kernel", "a", 0, 50, 150, launch(1)) +
                                   slice("cuda_runtime", "launch", 9, 102, 104, launch(2)) +
                                   slice("gpu_memcpy", "Memcpy HtoD", 0, 110, 120, launch(2), 8) +
                                   slice("cuda_runtime", "launch", 9, 112, 114, launch(3)) +
                                   slice("kernel", "b", 0, 160, 250, launch(3))));
  const auto report = acceleratorReport(trace.profile, *trace.catalog);
  ASSERT_TRUE(report.ok());
  const std::vector<MarkedStep>& steps = report->devices.at(0).steps;
  ASSERT_EQ(steps.size(), 2U);
  const auto us = [](base::Ticks ticks) { return ticks.count / kTicksPerUs; };
  EXPECT_EQ((std::vector<std::int64_t>{us(steps[0].start), us(steps[0].end), us(steps[0].busy)}),
            (std::vector<std::int64_t>{45, 150, 100}));
  EXPECT_EQ((std::vector<std::int64_t>{us(steps[1].start), us(steps[1].end), us(steps[1].busy)}),
            (std::vector<std::int64_t>{150, 250, 90}));
}

/// PyTorch's profiler repeats a host's marks on the accelerator's queue, around its kernels, and has rows of
/// its own for the time that it recorded.
TEST(ImportedCases, MarksOnAnAcceleratorAreNoWork) {
  const ImportedTrace trace(writeTrace(
      "marks.json",
      slice("gpu_user_annotation", "ProfilerStep#1", 0, 10, 90) + slice("kernel", "a", 0, 10, 30) +
          slice("kernel", "b", 0, 80, 90) +
          R"json({"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":0,"dur":100},)json"
          R"({"ph":"i","s":"g","name":"Record Window End","pid":"","tid":"","ts":120},)"));
  ASSERT_EQ(trace.catalog->devices.size(), 1U);
  const auto times = execution(trace.profile, *trace.catalog, model::ExecutableId(0));
  ASSERT_TRUE(times.ok());
  const DeviceExecution& device = times->devices.at(0);
  EXPECT_EQ(device.total.count, 80 * kTicksPerUs) << "from the first to the last event that is shown";
  EXPECT_EQ(device.idle.count, 50 * kTicksPerUs);
  EXPECT_EQ(device.ofKind(model::StepKind::compute).count, 30 * kTicksPerUs);
  EXPECT_EQ(device.byLane.at(model::LaneRole::compute).count, 30 * kTicksPerUs);
}

/// Collectives of two threads of a host overlap, and neither does anything for 350 of 650 µs.
TEST(ImportedCases, HostsAreIdleBetweenTheirEvents) {
  const ImportedTrace trace(
      writeTrace("host.json", slice("cpu_op", "gloo:all_reduce", 9, 0, 100, "", 1) +
                                  slice("cpu_op", "gloo:all_reduce", 9, 50, 150, "", 2) +
                                  slice("cpu_op", "gloo:all_reduce", 9, 500, 600, "", 1) +
                                  slice("cpu_op", "gloo:all_reduce", 9, 550, 650, "", 2)));
  const auto times = execution(trace.profile, *trace.catalog, model::ExecutableId(0));
  ASSERT_TRUE(times.ok());
  const DeviceExecution& device = times->devices.at(0);
  EXPECT_EQ(device.ofKind(model::StepKind::globalExchange).count, 300 * kTicksPerUs);
  EXPECT_EQ(device.ofKind(model::StepKind::control).count, 0);
  EXPECT_EQ(device.idle.count, 350 * kTicksPerUs);
}

/// Four micro-batches whose number is null: 100 µs forward, 200 µs backward, and no delay of launches.
TEST(ImportedCases, NumbersInTheStepTellMicroBatches) {
  const ImportedTrace trace(casePath("micro_batch_null.json"));
  const sections::Section stages = trace.section("stages");
  for (const std::size_t stage : {0, 1}) {
    EXPECT_NEAR(std::get<double>(cellOf(stages, "stages", stage, "forward_cycles")), 100.0 * kTicksPerUs, 1);
    EXPECT_NEAR(std::get<double>(cellOf(stages, "stages", stage, "backward_cycles")), 200.0 * kTicksPerUs, 1);
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
  // Passes and messages take 1 ms each, so the pass before that of stage s ends 2s − 1 ms after the step's
  // start. The pauses are nobody's fill.
  std::map<std::int64_t, std::int64_t> fill, host;
  for (const model::Wait& wait : **trace.profile.rows<model::Wait>()) {
    if (wait.cause == model::WaitCause::fill) fill[wait.device.value] += (wait.end - wait.start).count;
    if (wait.cause == model::WaitCause::host) host[wait.device.value] += (wait.end - wait.start).count;
  }
  for (std::int64_t device = 0; device < 4; ++device) {
    EXPECT_EQ(fill[device], device == 0 ? 0 : 3 * (2 * device - 1) * 1000 * kTicksPerUs) << device;
    EXPECT_EQ(host[device], 2 * 10'000 * kTicksPerUs) << device;
  }
}

/// Two steps of GPipe with two stages and two micro-batches, of which the second begins when the first ends.
/// Each takes 90 µs, of which each rank computes for 60 µs.
TEST(ImportedCases, StepsMayFollowAtOnce) {
  std::string events;
  for (const int step : {0, 90}) {
    for (const int micro : {0, 1}) {
      events += slice("c", "forward_step", 0, step + micro * 10, step + micro * 10 + 10);
      events += slice("c", "forward_step", 1, step + micro * 10 + 10, step + micro * 10 + 20);
      events += slice("c", "backward_step", 1, step + micro * 20 + 30, step + micro * 20 + 50);
      events += slice("c", "backward_step", 0, step + micro * 20 + 50, step + micro * 20 + 70);
    }
  }
  const ImportedTrace trace(writeTrace("at_once.json", events));
  const sections::Section stages = trace.section("stages");
  EXPECT_NEAR(std::get<double>(factOf(stages, "step_cycles")), 90.0 * kTicksPerUs, 1);
  EXPECT_NEAR(std::get<double>(factOf(stages, "bubble_fraction")), 1.0 / 3, 1e-9);
  EXPECT_EQ(trace.catalog->executable(model::ExecutableId(0))->microBatches, 2);
}

/// The trace begins within a step, so that its passes never balance.
TEST(ImportedCases, StepsThatNobodyKnowsGiveNoFigures) {
  std::string events;
  for (const int micro : {0, 1, 2, 3}) {
    for (const int rank : {0, 1}) {
      events += slice("c", "forward_step", rank, micro * 20, micro * 20 + 10);
      if (micro != 2) events += slice("c", "backward_step", rank, micro * 20 + 10, micro * 20 + 20);
    }
  }
  const ImportedTrace trace(writeTrace("unknown.json", events));
  const sections::Section stages = trace.section("stages");
  for (const char* key : {"bubble_fraction", "step_cycles", "flush_cycles", "useful_cycles"})
    EXPECT_TRUE(isEmpty(factOf(stages, key))) << key;
  EXPECT_NEAR(std::get<double>(cellOf(stages, "stages", 0, "forward_cycles")), 10.0 * kTicksPerUs, 1);
  EXPECT_NEAR(std::get<double>(cellOf(stages, "stages", 0, "occupied_cycles")), 70.0 / 4 * kTicksPerUs, 1)
      << "four forward and three backward passes of four micro-batches";
  const std::string coverage = sections::toText(trace.section("coverage"));
  EXPECT_NE(coverage.find("Passes within a training step: 0 of 14"), std::string::npos) << coverage;
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
            (std::vector<std::string>{"Ascend Hardware", "CANN", "Python"}));
  EXPECT_EQ(namesOfDevices(ImportedTrace(casePath("merged_ranks.json"))),
            (std::vector<std::string>{"rank 0 GPU 0", "rank 1 GPU 0"}));
}

TEST(ImportedCases, AnEventFarFromTheOthersIsLeftOut) {
  const ImportedTrace trace(casePath("one_event_at_zero.json"));
  EXPECT_EQ(trace.catalog->runs[model::RunId(0)].end.count, 950 * kTicksPerUs);
}

/// Forty events within 4 ms, two events 15 days before them and one 15 days behind.
TEST(ImportedCases, EventsFarFromTheOthersAreLeftOutOnBothSides) {
  constexpr std::int64_t kFar = 1'300'000'000'000;
  std::string events;
  const auto add = [&](const char* name, std::int64_t start, std::int64_t length) {
    events += std::string("{\"ph\": \"X\", \"cat\": \"c\", \"name\": \"") + name +
              "\", \"pid\": 0, \"tid\": 0, \"ts\": " + std::to_string(start) +
              ", \"dur\": " + std::to_string(length) + "},\n";
  };
  add("odd", 0, 1);
  add("odd", 2, 1);
  add("late", 2 * kFar, 1);
  for (std::int64_t i = 0; i < 40; ++i) add("work", kFar + 100 * i, 50);
  const ImportedTrace trace(writeTrace("far.json", events));
  EXPECT_EQ(trace.catalog->runs[model::RunId(0)].end.count, 3950 * kTicksPerUs);
}

/// A quarter of all events may state 0 if the others lie days behind.
TEST(ImportedCases, SeveralEventsAtZeroAreLeftOut) {
  std::string events;
  for (std::int64_t i = 0; i < 12; ++i) {
    events += R"({"ph": "X", "name": "work", "pid": 0, "tid": 0, "dur": 5, "ts": )" +
              std::to_string(i % 4 == 0 ? 0 : 1'300'000'000'000 + 10 * i) + "},\n";
  }
  const ImportedTrace trace(writeTrace("zeros.json", events));
  EXPECT_EQ(trace.catalog->runs[model::RunId(0)].end.count, 105 * kTicksPerUs);
}

}  // namespace
}  // namespace pipescope::analysis
