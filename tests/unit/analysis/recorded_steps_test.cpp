// Reports on recorded runs without a pipeline: marked training steps, collectives of hosts, arrows that are
// no traffic. The expected values were worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/links/system_links.h"
#include "profiler/analysis/pipeline/recorded/accelerator_times.h"
#include "profiler/analysis/timeline/trace.h"
#include "profiler/sections/diff/diff_section.h"
#include "tests/unit/analysis/imported_trace.h"

namespace pipescope::analysis {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPerUs = 1'000'000;

/// A folder of the test's own, because tests run beside each other, with one file for each rank.
class RecordedSteps : public ::testing::Test {
 protected:
  RecordedSteps() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RecordedSteps() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& events) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << "[" << events << "]";
  }
  static sections::Cell factOf(const sections::Section& section, const std::string& key) {
    for (const sections::Fact& fact : section.facts)
      if (fact.key == key) return fact.value;
    ADD_FAILURE() << key;
    return {};
  }
  /// A cell of the first row of a table.
  static sections::Cell cellOf(const sections::Section& section, const std::string& name,
                               const std::string& key) {
    for (const sections::SectionTable& table : section.tables) {
      if (table.key != name || table.rows.empty()) continue;
      for (std::size_t i = 0; i < table.columns.size(); ++i)
        if (table.columns[i].key == key) return table.rows[0][i];
    }
    ADD_FAILURE() << name << "." << key;
    return {};
  }
  static bool isKnown(const sections::Cell& cell) { return !std::holds_alternative<std::monostate>(cell); }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) /
      ("recorded_steps_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(RecordedSteps, SaysWhatAnAcceleratorDidInEachMarkedStep) {
  // Two steps of 50 µs. A kernel reaches from the first into the second; a collective hides half behind it.
  write("rank0.json", R"(
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#7","pid":9,"tid":9,"ts":0,"dur":50},
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#8","pid":9,"tid":9,"ts":50,"dur":50},
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#8","pid":9,"tid":10,"ts":51,"dur":40},
    {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#7","pid":0,"tid":7,"ts":10,"dur":70},
    {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":10,"dur":5},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":30,"dur":40},
    {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":20,"ts":60,"dur":20})");
  const ImportedTrace trace(folder_);
  const auto report = acceleratorReport(trace.profile, *trace.catalog);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->devices.size(), 1U);
  const std::vector<MarkedStep>& steps = report->devices[0].steps;
  ASSERT_EQ(steps.size(), 2U) << "another thread only repeats the mark";
  EXPECT_EQ(steps[0].number, 7);
  EXPECT_EQ(steps[0].busy.count, 25 * kPerUs);
  EXPECT_EQ(steps[0].compute.count, 20 * kPerUs);
  EXPECT_EQ(steps[0].communication.count, 0);
  EXPECT_EQ(steps[1].number, 8);
  EXPECT_EQ(steps[1].start.count, 50 * kPerUs);
  EXPECT_EQ(steps[1].end.count, 100 * kPerUs);
  EXPECT_EQ(steps[1].busy.count, 30 * kPerUs);
  EXPECT_EQ(steps[1].compute.count, 20 * kPerUs);
  EXPECT_EQ(steps[1].communication.count, 20 * kPerUs);
  EXPECT_EQ(steps[1].exposedCommunication.count, 10 * kPerUs);
}

TEST_F(RecordedSteps, TheTraceStepsThroughWhatTheHostMarks) {
  // The accelerator works from 400 to 485 us only, and the one pass that the trace names is the update.
  write("rank0.json", R"(
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#31","pid":9,"tid":9,"ts":0,"dur":607},
    {"ph":"X","cat":"user_annotation","name":"Optimizer.step#SGD.step","pid":9,"tid":9,"ts":455,"dur":20},
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":10,"dur":2,"args":{"correlation":1}},
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":456,"dur":2,"args":{"correlation":2}},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":400,"dur":30,"args":{"correlation":1}},
    {"ph":"X","cat":"kernel","name":"sgd","pid":0,"tid":7,"ts":460,"dur":25,"args":{"correlation":2}})");
  const ImportedTrace imported(folder_);
  base::SilentProgress progress;
  TraceRequest request;
  request.executable = model::ExecutableId(0);
  const auto trace = loadTrace(imported.profile, *imported.catalog, request, progress);
  ASSERT_TRUE(trace.ok());
  EXPECT_TRUE((*trace)->stepsMarked);
  ASSERT_EQ((*trace)->iterations.size(), 1U);
  EXPECT_EQ((*trace)->iterations[0].iteration, 31) << "the number that the host states";
  EXPECT_EQ((*trace)->iterations[0].start.count, 0);
  EXPECT_EQ((*trace)->iterations[0].end.count, 607 * kPerUs);
}

TEST_F(RecordedSteps, LaunchesAreNoTraffic) {
  write("rank0.json", R"(
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1,"dur":2,"args":{"correlation":5}},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":4,"dur":90,"args":{"correlation":5}},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":0,"dur":3},
    {"ph":"X","cat":"cpu_op","name":"MmBackward0","pid":9,"tid":10,"ts":50,"dur":30},
    {"ph":"s","id":3,"cat":"fwdbwd","name":"fwdbwd","ts":0,"pid":9,"tid":9},
    {"ph":"f","id":3,"cat":"fwdbwd","name":"fwdbwd","ts":50,"pid":9,"tid":10,"bp":"e"})");
  const ImportedTrace trace(folder_);
  base::SilentProgress progress;
  const auto use = systemUse(trace.profile, *trace.catalog, model::ExecutableId(0), progress);
  ASSERT_TRUE(use.ok());
  EXPECT_TRUE(use->links.empty()) << "from " << use->links[0].from << " to " << use->links[0].to;
  EXPECT_FALSE(isKnown(factOf(trace.section("system"), "devices_used"))) << "no pass was recognised";
  EXPECT_EQ(std::get<std::int64_t>(factOf(trace.section("insights"), "findings")), 0);
}

TEST_F(RecordedSteps, CopiesHaveTheBytesThatTheyState) {
  write("rank0.json", R"json(
    {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":0,"dur":5,
     "args":{"bytes":3000}},
    {"ph":"X","cat":"gpu_memcpy","name":"CopyHostToDevice","pid":0,"tid":7,"ts":10,"dur":5,"args":{"bytes":70}},
    {"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Pageable)","pid":0,"tid":7,"ts":20,"dur":5,
     "args":{"bytes":400}},
    {"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoD (Device -> Device)","pid":0,"tid":7,"ts":30,"dur":7,
     "args":{"bytes":50000}},
    {"ph":"X","cat":"gpu_memcpy","name":"Memcpy PtoP (Device -> Device)","pid":0,"tid":7,"ts":40,"dur":9,
     "args":{"bytes":600000}},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":60,"dur":40})json");
  const ImportedTrace trace(folder_);
  const sections::Section section = trace.section("execution");
  EXPECT_EQ(std::get<std::int64_t>(cellOf(section, "traffic", "stream_in_bytes")), 3070);
  EXPECT_EQ(std::get<std::int64_t>(cellOf(section, "traffic", "stream_out_bytes")), 400);
  for (const char* unknown : {"exchange_bytes", "global_in_bytes", "global_out_bytes"})
    EXPECT_FALSE(isKnown(cellOf(section, "traffic", unknown))) << unknown;
  const auto report = execution(trace.profile, *trace.catalog, model::ExecutableId(0));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->devices.at(0).ofKind(model::StepKind::streamCopy).count, 15 * kPerUs);
  EXPECT_EQ(report->devices.at(0).ofKind(model::StepKind::exchange).count, 7 * kPerUs);
  EXPECT_EQ(report->devices.at(0).ofKind(model::StepKind::globalExchange).count, 9 * kPerUs);
  const auto accelerators = acceleratorReport(trace.profile, *trace.catalog);
  ASSERT_TRUE(accelerators.ok());
  EXPECT_EQ(accelerators->communicationKernels, 0) << "a copy is no collective";
}

/// Threads of the host communicate for a process without an accelerator. They are no kernels.
TEST_F(RecordedSteps, WhatATraceDoesNotStateIsMissing) {
  for (const char* rank : {"0", "1"}) {
    write(std::string("rank") + rank + ".json", R"(
    {"ph":"X","name":"stage)" + std::string(rank) + R"(/forward/mb0","pid":1,"tid":1,"ts":0,"dur":10},
    {"ph":"X","name":"gloo:all_reduce","pid":1,"tid":2,"ts":20,"dur":30})");
  }
  const ImportedTrace trace(folder_);
  const sections::Section kernels = trace.section("kernels"), execution = trace.section("execution");
  EXPECT_EQ(std::get<std::int64_t>(cellOf(kernels, "devices", "compute_cycles")), 10 * kPerUs);
  for (const char* unknown : {"communication_cycles", "exposed_communication_cycles", "copy_cycles"})
    EXPECT_FALSE(isKnown(cellOf(kernels, "devices", unknown))) << unknown;
  for (const char* unknown : {"stream_in_bytes", "stream_out_bytes", "global_in_bytes"})
    EXPECT_FALSE(isKnown(cellOf(execution, "traffic", unknown))) << unknown;
}

struct RecordedCollectives : RecordedSteps, ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Updates, RecordedCollectives, ::testing::Bool());

/// Two ranks sum gradients with gloo, on clocks that are 1 s apart. Rank 1 enters the first sum 20 µs later,
/// and rank 0 the second one 5 µs later. The trace of a whole training step also holds its update, which is
/// no kernel that a host launches.
TEST_P(RecordedCollectives, NameTheRankThatTheHostsWaitedFor) {
  const auto update = [](int time) {
    return GetParam() ? R"(,{"ph":"X","name":"Optimizer.step#SGD.step","pid":1,"tid":1,"dur":3,"ts":)" +
                            std::to_string(time) + "}"
                      : std::string();
  };
  write("rank0.json", R"(
    {"ph":"X","name":"gloo:all_reduce","pid":1,"tid":2,"ts":0,"dur":30},
    {"ph":"X","name":"gloo:all_reduce","pid":1,"tid":3,"ts":105,"dur":5})" +
                          update(112));
  write("rank1.json", R"(
    {"ph":"X","name":"gloo:all_reduce","pid":1,"tid":2,"ts":1000020,"dur":10},
    {"ph":"X","name":"gloo:all_reduce","pid":1,"tid":2,"ts":1000100,"dur":10})" +
                          update(1000112));
  const ImportedTrace trace(folder_);
  const auto report = acceleratorReport(trace.profile, *trace.catalog);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->devices.size(), GetParam() ? 2U : 0U);
  if (GetParam()) {
    EXPECT_EQ(report->devices[0].count, 1);
    EXPECT_EQ(report->devices[0].launchable, 0);
    EXPECT_EQ(trace.section("coverage").remarks.size(), 0U);
    EXPECT_EQ(trace.section("kernels").remarks.size(), 0U);
  }
  EXPECT_EQ(report->communicationKernels, 4);
  EXPECT_EQ(report->matched, 4);
  ASSERT_EQ(report->collectives.size(), 2U);
  const auto nameOfLast = [&](std::size_t i) {
    return trace.catalog->device(report->collectives[i].last)->name;
  };
  EXPECT_EQ(nameOfLast(0).substr(0, 6), "rank 1");
  EXPECT_EQ(nameOfLast(1).substr(0, 6), "rank 0");
  // The clocks are known to within 15 µs. With the middle of that range as offset, both sums end at one time.
  EXPECT_NEAR(static_cast<double>(report->collectives[0].waited.count), 20e6, 3e6);
  EXPECT_NEAR(static_cast<double>(report->collectives[1].waited.count), 5e6, 3e6);
}

TEST_F(RecordedSteps, LeavesWhatATraceDoesNotStateEmpty) {
  write("rank0.json", R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":0,"dur":3})");
  const ImportedTrace trace(folder_);
  const sections::Section summary = trace.section("summary");
  const sections::SectionTable& executables = summary.tables.at(0);
  for (std::size_t i = 0; i < executables.columns.size(); ++i) {
    if (const std::string& key = executables.columns[i].key; key == "stages" || key == "micro_batch_size" ||
                                                             key == "micro_batches" ||
                                                             key == "device_iterations") {
      EXPECT_TRUE(std::holds_alternative<std::monostate>(executables.rows.at(0)[i])) << key;
    }
  }
  ASSERT_FALSE(summary.remarks.empty());
  EXPECT_NE(summary.remarks[0].find("No passes of pipeline stages were recognised"), std::string::npos);
  EXPECT_EQ(std::get<std::string>(trace.section("error_bands").tables.at(0).rows.at(0).at(0)), "recorded");
}

/// Two runs on one accelerator: in the second one, a kernel takes 10 µs instead of 40, and another is new.
TEST_F(RecordedSteps, ComparesKernels) {
  write("a/rank0.json", R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":0,"dur":40})");
  write("b/rank0.json", R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":0,"dur":10},
    {"ph":"X","cat":"kernel","name":"cast","pid":0,"tid":7,"ts":15,"dur":5})");
  const ImportedTrace a(folder_ / "a"), b(folder_ / "b");
  const auto context = [](const ImportedTrace& trace) {
    return sections::Context{trace.profile, *trace.catalog, model::ExecutableId(0)};
  };
  Diff diff;
  diff.ticksPerSecond = 1'000'000'000'000;
  const auto section = sections::diffSection(context(a), context(b), diff, {});
  ASSERT_TRUE(section.ok()) << section.error().message;
  const auto find = [&](const std::string& key) {
    const auto found = std::ranges::find(section->tables, key, &sections::SectionTable::key);
    return found == section->tables.end() ? sections::SectionTable() : *found;
  };
  using Rows = std::vector<std::vector<sections::Cell>>;
  using I = std::int64_t;
  EXPECT_EQ(find("kernels").rows,
            (Rows{{"gemm", "gemm", "kernel", I{1}, I{1}, 40 * kPerUs, 10 * kPerUs, -30 * kPerUs},
                  {"cast", "cast", "kernel", I{0}, I{1}, I{0}, 5 * kPerUs, 5 * kPerUs}}));
  const Rows accelerators = find("accelerators").rows;
  ASSERT_EQ(accelerators.size(), 7U);
  EXPECT_EQ(accelerators[1],
            (std::vector<sections::Cell>{"computing", 40 * kPerUs, 15 * kPerUs, -25 * kPerUs}));
  EXPECT_EQ(accelerators[4], (std::vector<sections::Cell>{"idle", I{0}, 5 * kPerUs, 5 * kPerUs}));
}

/// Stage 1 begins its passes before stage 0 has made their input, as in a trace whose clocks are wrong.
TEST_F(RecordedSteps, TriesNoChangesOfWhatCannotBeReplayed) {
  std::string events;
  for (const auto& [name, start, length] :
       {std::tuple("stage0/forward/mb0", 0, 100), std::tuple("stage1/forward/mb0", 0, 100),
        std::tuple("stage1/backward/mb0", 100, 100), std::tuple("stage0/backward/mb0", 100, 100)})
    events += (events.empty() ? "" : ",") + std::string(R"({"ph":"X","pid":)") + name[5] +
              R"(,"tid":1,"name":")" + name + R"(","ts":)" + std::to_string(start) + R"(,"dur":)" +
              std::to_string(length) + "}";
  write("t.json", events);
  const ImportedTrace trace(folder_);
  const sections::Section stages = trace.section("stages");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(factOf(stages, "best_move")));
  EXPECT_NE(std::get<std::string>(factOf(stages, "best_move_reason")).find("cannot be replayed"),
            std::string::npos);
}

}  // namespace
}  // namespace pipescope::analysis
