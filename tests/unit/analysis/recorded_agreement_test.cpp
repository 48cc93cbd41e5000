// The table below the timeline of an imported trace and the sections count the same times, and those of the
// parts of a trace add up to those of the whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/recorded/accelerator_times.h"
#include "profiler/analysis/timeline/recorded_statistics.h"
#include "tests/unit/analysis/imported_trace.h"

namespace pipescope::analysis {
namespace {

namespace fs = std::filesystem;
using model::StepKind;

struct Timeline {
  ImportedTrace trace;
  std::shared_ptr<const Trace> timeline;

  explicit Timeline(const fs::path& file) : trace(file) {
    base::SilentProgress progress;
    TraceRequest request;
    request.executable = model::ExecutableId(0);
    auto loaded = loadTrace(trace.profile, *trace.catalog, request, progress);
    EXPECT_TRUE(loaded.ok());
    timeline = *loaded;
  }
  std::vector<RangeStatistics> between(Ticks from, Ticks to) const {
    base::SilentProgress progress;
    const auto rows = recordedStatistics(trace.profile, *trace.catalog, *timeline, from, to, progress);
    EXPECT_TRUE(rows.ok());
    return rows.ok() ? *rows : std::vector<RangeStatistics>();
  }
};

/// Tests run side by side.
fs::path ownFile(const char* name) {
  return fs::path(::testing::TempDir()) /
         (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + "_" + name);
}

/// Two stages on GPUs. Each waits in its receive kernel, which works on no data until the other side sends.
/// The update is marked on the GPU, and its kernels leave half of it free.
fs::path pipelineOnGpus(bool passes) {
  const auto file = ownFile(passes ? "passes.json" : "kernels.json");
  std::ofstream text(file);
  const auto slice = [&](const char* category, const char* name, int gpu, int stream, int from, int to) {
    text << R"({"ph":"X","cat":")" << category << R"(","name":")" << name << R"(","pid":)" << gpu
         << R"(,"tid":)" << stream << R"(,"ts":)" << from << R"(,"dur":)" << to - from << "},\n";
  };
  text << "[\n";
  for (int gpu = 0; gpu < 2; ++gpu) {
    if (passes) {
      const std::string stage = "stage " + std::to_string(gpu);
      const int late = 100 * gpu;
      slice("gpu_user_annotation", (stage + " forward mb 0").c_str(), gpu, 7, late, late + 100);
      slice("gpu_user_annotation", (stage + " backward mb 0").c_str(), gpu, 7, 400 - late, 600 - late);
      slice("kernel", "gemm", gpu, 7, late, late + 80);
      slice("kernel", "gemm", gpu, 7, 400 - late, 590 - late);
    } else {
      slice("kernel", "gemm", gpu, 7, 0, 300);
    }
    slice("gpu_user_annotation", "Optimizer.step#Adam.step", gpu, 7, 700, 800);
    slice("kernel", "adam", gpu, 7, 700, 750);
    slice("kernel", "ncclDevKernel_AllReduce", gpu, 20, 600, 640);
  }
  text << R"({"ph":"i","name":"end","pid":0,"tid":7,"ts":1000,"s":"g"}])";
  return file;
}

void expectSameTimes(const Timeline& of) {
  const auto made = execution(of.trace.profile, *of.trace.catalog, model::ExecutableId(0));
  ASSERT_TRUE(made.ok());
  const Ticks start = of.timeline->start, end = of.timeline->end;
  const auto whole = of.between(start, end);
  std::map<std::int32_t, RangeStatistics> parts;
  constexpr int kParts = 7;
  for (int part = 0; part < kParts; ++part) {
    const auto at = [&](int i) { return start + Ticks((end - start).count / kParts * i); };
    for (const RangeStatistics& row : of.between(at(part), part + 1 == kParts ? end : at(part + 1))) {
      RangeStatistics& sum = parts[row.device];
      sum.total += row.total;
      sum.idle += row.idle;
      for (std::size_t kind = 0; kind < kStepKinds; ++kind) sum.byKind[kind] += row.byKind[kind];
      sum.streamIn += row.streamIn;
      sum.streamOut += row.streamOut;
      sum.globalIn += row.globalIn;
      sum.globalOut += row.globalOut;
    }
  }
  ASSERT_EQ(whole.size(), made->devices.size());
  for (const DeviceExecution& device : made->devices) {
    const auto index = of.timeline->deviceIndex(model::DeviceId(device.index));
    const auto found = std::ranges::find(whole, index, &RangeStatistics::device);
    ASSERT_NE(found, whole.end()) << device.name;
    for (const RangeStatistics& row : {*found, parts[index]}) {
      EXPECT_EQ(row.total, device.total) << device.name;
      EXPECT_EQ(row.idle, device.idle) << device.name;
      EXPECT_EQ(row.byKind, device.byKind) << device.name;
      EXPECT_EQ(row.streamIn, device.streamIn) << device.name;
      EXPECT_EQ(row.streamOut, device.streamOut) << device.name;
      EXPECT_EQ(row.globalIn, device.globalIn) << device.name;
      EXPECT_EQ(row.globalOut, device.globalOut) << device.name;
    }
    for (const auto& [role, ticks] : device.byLane) {
      if (role == model::LaneRole::hostThread) continue;
      EXPECT_LE(ticks, device.total - device.idle)
          << device.name << ": no lane works longer than all together";
    }
    EXPECT_DOUBLE_EQ(found->parallelEfficiency, device.parallelEfficiency) << device.name;
  }
}

TEST(RecordedAgreement, RealTraces) {
  for (const char* name : {"alexnet.json.gz", "dlrm.tar.gz", "slow_worker.json.gz"}) {
    SCOPED_TRACE(name);
    expectSameTimes(Timeline(fs::path(PIPESCOPE_TEST_DATA) / name));
  }
}

TEST(RecordedAgreement, KernelsAndSlices) {
  for (const char* name : {"alexnet.json.gz", "dlrm.tar.gz"}) {
    SCOPED_TRACE(name);
    const ImportedTrace trace(fs::path(PIPESCOPE_TEST_DATA) / name);
    const auto made = execution(trace.profile, *trace.catalog, model::ExecutableId(0));
    const auto kernels = acceleratorReport(trace.profile, *trace.catalog);
    ASSERT_TRUE(made.ok() && kernels.ok());
    for (const AcceleratorTimes& times : kernels->devices) {
      const auto device =
          std::ranges::find(made->devices, static_cast<int>(times.device.value), &DeviceExecution::index);
      ASSERT_NE(device, made->devices.end());
      EXPECT_EQ(device->ofKind(StepKind::compute), times.compute) << device->name;
      EXPECT_EQ(device->ofKind(StepKind::globalExchange), times.exposedCommunication) << device->name;
      EXPECT_EQ(device->communicating, times.communication) << device->name;
      EXPECT_EQ(device->exposed, times.exposedCommunication) << device->name;
    }
  }
}

/// While one stream computes, the others do not count.
TEST(RecordedAgreement, ComputeCountsFirst) {
  const auto file = ownFile("two_streams.json");
  std::ofstream(file) << R"([
    {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":0,"dur":60},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":9,"ts":40,"dur":40},
    {"ph":"X","cat":"gpu_memset","name":"Memset",
      "pid" : 0, "tid" : 7, "ts" : 70, "dur" : 20
}])";
  const Timeline streams(file);
  expectSameTimes(streams);
  const RangeStatistics row = streams.between(Ticks(0), Ticks(90 * kTicksPerUs)).at(0);
  EXPECT_EQ(row.byKind[kindIndex(StepKind::compute)], 40 * kTicksPerUs);
  EXPECT_EQ(row.byKind[kindIndex(StepKind::streamCopy)], 40 * kTicksPerUs);
  EXPECT_EQ(row.byKind[kindIndex(StepKind::exchange)], 10 * kTicksPerUs) << "a fill of the memory";
  EXPECT_EQ(row.idle.count, 0);
}

TEST(RecordedAgreement, PassesOfStagesCountAndNoKernelsBesideThem) {
  const Timeline gpus(pipelineOnGpus(true));
  expectSameTimes(gpus);
  const auto rows = gpus.between(Ticks(0), Ticks(1000 * kTicksPerUs));
  ASSERT_EQ(rows.size(), 2U);
  for (const RangeStatistics& row : rows) {
    EXPECT_EQ(row.byKind[kindIndex(StepKind::compute)], (100 + 200 + 100) * kTicksPerUs);
  }
}

TEST(RecordedAgreement, AnUpdateAloneCountsByItsKernels) {
  const Timeline gpus(pipelineOnGpus(false));
  expectSameTimes(gpus);
  const auto rows = gpus.between(Ticks(0), Ticks(1000 * kTicksPerUs));
  ASSERT_EQ(rows.size(), 2U);
  for (const RangeStatistics& row : rows) {
    EXPECT_EQ(row.byKind[kindIndex(StepKind::compute)], (300 + 50) * kTicksPerUs);
    EXPECT_EQ(row.byKind[kindIndex(StepKind::globalExchange)], 40 * kTicksPerUs);
  }
  const auto update = gpus.between(Ticks(620 * kTicksPerUs), Ticks(725 * kTicksPerUs)).at(0);
  EXPECT_EQ(update.byKind[kindIndex(StepKind::compute)], 25 * kTicksPerUs);
  EXPECT_EQ(update.byKind[kindIndex(StepKind::globalExchange)], 20 * kTicksPerUs);
  EXPECT_EQ(update.idle.count, 60 * kTicksPerUs);
}

TEST(RecordedAgreement, KernelsSayWhereTheirIdleTimeDiffers) {
  const auto says = [](const Timeline& of) {
    return std::ranges::any_of(of.trace.section("kernels").remarks, [](const std::string& remark) {
      return remark.find("waits for another rank as idle") != std::string::npos;
    });
  };
  EXPECT_TRUE(says(Timeline(pipelineOnGpus(true))));
  EXPECT_FALSE(says(Timeline(pipelineOnGpus(false)))) << "kernels count everywhere";
}

TEST(RecordedAgreement, StopsOnDemand) {
  struct Stopped : base::Progress {
    void report(double, std::string_view) override {}
    bool cancelled() const override { return true; }
  } stopped;
  const Timeline gpus(pipelineOnGpus(false));
  EXPECT_FALSE(recordedStatistics(gpus.trace.profile, *gpus.trace.catalog, *gpus.timeline, Ticks(0),
                                  Ticks(1000 * kTicksPerUs), stopped)
                   .ok());
}

}  // namespace
}  // namespace pipescope::analysis
