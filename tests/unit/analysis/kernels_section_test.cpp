// The section of kernels of a small trace whose times are computed by hand.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "profiler/sections/frame/section.h"
#include "tests/unit/analysis/imported_trace.h"

namespace pipescope::analysis {
namespace {

constexpr std::int64_t kTicksOfUs = 1'000'000;

/// Kernels compute from 10 to 30 and from 50 to 60 µs, a collective runs from 20 to 40, and a copy from 70 to
/// 90. The host launches them at 5, 45, 8 and 12, in a step from 0 to 65.
constexpr const char* kLaunchedKernels = R"([
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":9,"tid":9,"ts":0,"dur":65},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":5,"dur":2,"args":{"correlation":1}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":8,"dur":1,"args":{"correlation":2}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":9,"tid":9,"ts":12,"dur":1,"args":{"correlation":4}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":45,"dur":2,"args":{"correlation":3}},
  {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":10,"dur":20,"args":{"correlation":1}},
  {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":20,"ts":20,"dur":20,"args":{"correlation":2}},
  {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":50,"dur":10,"args":{"correlation":3}},
  {"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH","pid":0,"tid":7,"ts":70,"dur":20,"args":{"correlation":4}}])";

class KernelsSection : public ::testing::Test {
 protected:
  KernelsSection() : trace_(written()) {}
  static std::filesystem::path written() {
    const auto file = std::filesystem::path(::testing::TempDir()) / "launched_kernels.json";
    std::ofstream(file) << kLaunchedKernels;
    return file;
  }
  /// A time in the first row of a table, in microseconds; −1: none.
  std::int64_t microseconds(const char* table, const char* column) const {
    const sections::Cell cell = cellOf(trace_.section("kernels"), table, 0, column);
    const auto* whole = std::get_if<std::int64_t>(&cell);
    if (const auto* real = std::get_if<double>(&cell)) return std::llround(*real / kTicksOfUs);
    return whole == nullptr ? -1 : *whole / kTicksOfUs;
  }
  ImportedTrace trace_;
};

TEST_F(KernelsSection, TimesOfADeviceAreThoseOfItsKernels) {
  const auto time = [&](const char* column) { return microseconds("devices", column); };
  EXPECT_EQ(time("span_cycles"), 80);
  EXPECT_EQ(time("busy_cycles"), 30 + 10 + 20);
  EXPECT_EQ(time("idle_cycles"), 20);
  EXPECT_EQ(time("host_idle_cycles"), 5) << "from 40 until the launch at 45";
  EXPECT_EQ(time("device_idle_cycles"), 5 + 10) << "until 50, and from 60 to 70";
  EXPECT_EQ(time("unknown_idle_cycles"), 0);
  EXPECT_EQ(time("compute_cycles"), 30);
  EXPECT_EQ(time("communication_cycles"), 20);
  EXPECT_EQ(time("exposed_communication_cycles"), 10);
  EXPECT_EQ(time("copy_cycles"), 20);
  EXPECT_EQ(time("launch_delay_cycles"), (5 + 12 + 58 + 5) / 4);
  const sections::Section section = trace_.section("kernels");
  EXPECT_EQ(cellOf(section, "devices", 0, "idle_share"), sections::Cell(0.25));
  EXPECT_EQ(cellOf(section, "devices", 0, "kernels"), sections::Cell(std::int64_t{4}));
  EXPECT_EQ(cellOf(section, "devices", 0, "launches_found"), sections::Cell(std::int64_t{4}));
  EXPECT_EQ(cellOf(section, "devices", 0, "longest_queue"), sections::Cell(std::int64_t{2}));
}

/// The step lasts until the copy that was launched within it has ended.
TEST_F(KernelsSection, AStepHoldsWhatWasLaunchedWithinIt) {
  const auto time = [&](const char* column) { return microseconds("steps", column); };
  EXPECT_EQ(cellOf(trace_.section("kernels"), "steps", 0, "step"), sections::Cell(std::int64_t{3}));
  EXPECT_EQ(time("start_cycles"), 0);
  EXPECT_EQ(time("cycles"), 90);
  EXPECT_EQ(time("busy_cycles"), 60);
  EXPECT_EQ(time("compute_cycles"), 30);
  EXPECT_EQ(time("communication_cycles"), 20);
  EXPECT_EQ(time("exposed_communication_cycles"), 10);
  EXPECT_EQ(cellOf(trace_.section("kernels"), "steps", 0, "idle_share"), sections::Cell(30.0 / 90));
}

}  // namespace
}  // namespace pipescope::analysis
