// Published measurements beside the layer table: each point is printed with its error (ln emulated /
// measured).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "engine/devices/device_files.h"
#include "engine/devices/ipu/lowered_work.h"
#include "tests/conformance/ipu/statistics.h"

namespace pipescope::conformance {
namespace {

using devices::ipu::Chip;
using devices::ipu::LoweredWork;
using devices::ipu::Planner;

class Emulated {
 public:
  explicit Emulated(const std::string& chip)
      : chip_(devices::ipu::readChip(devices::DeviceFiles({}).chip(chip).value()).value()), planner_(chip_) {}

  LoweredWork lower(const ops::WorkItem& item) {
    return devices::ipu::lowerWork(item, {chip_, planner_, 0.6, chip_.hostBytesPerSecond, "point"}).value();
  }
  LoweredWork product(std::int64_t m, std::int64_t k, std::int64_t n, graph::ElementType type) {
    ops::Contraction c;
    c.field = c.output = {m};
    c.kernel = c.stride = c.dilation = {1};
    c.padding = {0, 0};
    c.inputChannels = k;
    c.outputChannels = n;
    c.type = type;
    c.accumulate = type;
    return lower(c);
  }
  const Chip& chip() const { return chip_; }

 private:
  Chip chip_;
  Planner planner_;
};

double print(const std::string& point, double ours, double theirs) {
  const double error = std::log(ours / theirs);
  std::printf("%-52s %12.1f measured %12.1f  ln %+.2f\n", point.c_str(), ours, theirs, error);
  return error;
}

/// Dense products on a Bow, m = k and batch n: TFLOP/s, read off a figure of Graphcore's sparsity benchmarks.
TEST(ValidationPoints, DenseProductsOnABow) {
  struct Row {
    std::int64_t size;
    graph::ElementType type;
    std::vector<double> teraflops;  ///< n = 4, 16, 64 …, see below
  };
  const std::vector<std::int64_t> batches{4, 16, 64, 256, 1024, 2048, 4096, 8192, 16384};
  const auto half = graph::ElementType::float16, single = graph::ElementType::float32;
  const std::vector<Row> table{{1024, half, {6.1, 20, 46, 90, 121, 154, 181, 207, 225}},
                               {1024, single, {3.7, 11.2, 21.4, 34.5, 43.9, 50.2, 55.9, 57.4, 59.0}},
                               {4096, half, {18.4, 61, 131, 176, 211, 225}},
                               {4096, single, {7.1, 22.3, 41.6, 53.0, 55.9, 57.4, 59.1}}};
  Emulated bow("bow");
  std::vector<double> logarithms;
  for (const Row& row : table) {
    for (std::size_t i = 0; i < row.teraflops.size(); ++i) {
      const LoweredWork work = bow.product(row.size, row.size, batches[i], row.type);
      const double flops = 2.0 * static_cast<double>(row.size * row.size * batches[i]);
      const double ours =
          flops * static_cast<double>(bow.chip().clockHz) / static_cast<double>(work.cycles()) / 1e12;
      const std::string point = "Bow " + std::to_string(row.size) + " x " + std::to_string(row.size) + " x " +
                                std::to_string(batches[i]) + (row.type == half ? " fp16" : " fp32") +
                                ", TFLOP/s";
      logarithms.push_back(print(point, ours, row.teraflops[i]));
      // Never above what the chip can do.
      const auto peak = static_cast<double>(row.type == half ? bow.chip().ampHalf : bow.chip().ampFloat);
      EXPECT_LE(ours, 2 * peak * static_cast<double>(bow.chip().tiles * bow.chip().clockHz) / 1e12) << point;
    }
  }
  const ErrorFigures errors = errorsOf(logarithms);
  std::printf("dense products: median |ln| %.2f, p90 %.2f, bias %+.2f\n", errors.median, errors.p90,
              errors.bias);
  EXPECT_LE(errors.median, 0.35);
}

/// Poplar tutorial 4 on the IPU Model: two float32 products. Tutorial 6: a product with a vector.
TEST(ValidationPoints, TutorialProductsOnTheIpuModel) {
  Emulated mk2("mk2");
  const auto single = graph::ElementType::float32;
  const std::int64_t both =
      mk2.product(800, 500, 400, single).cycles() + mk2.product(800, 400, 200, single).cycles();
  const double error = print("tutorial 4: two float32 products, cycles", static_cast<double>(both), 34655);
  EXPECT_LE(std::abs(error), 0.35);
  const LoweredWork vector = mk2.product(10000, 1000, 1, single);
  std::int64_t compute = 0;
  for (const devices::ipu::ProgramStep& step : vector.steps) {
    if (step.kind == model::StepKind::compute) compute += devices::ipu::spreadOf(step.cycles).most;
  }
  print("tutorial 6: matrix times vector, compute cycles", static_cast<double>(compute), 3800);
}

}  // namespace
}  // namespace pipescope::conformance
