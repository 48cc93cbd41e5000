// Compares ResNet-50 in float8 on a C600 with published throughput, and with the same model in float16.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "model_checks.h"

namespace pipescope::conformance {
namespace {

/// Images in a second of forward passes alone, as measured with data on the device.
double imagesPerSecond(int batch, const std::map<std::string, std::string>& precision) {
  std::map<std::string, std::string> changes = precision;
  changes["inference.micro_batch_size"] = std::to_string(batch);
  changes["execution.partials_type"] = "float16";
  const compile::Compilation model = compileModel(R"(
[model]
builder = "resnet"
depth = 50
[[stages]]
blocks = ["*"]
[execution]
mode = "inference"
[system]
name = "c600"
)",
                                                  changes);
  EXPECT_EQ(overflowBytes(model), 0) << batch;
  std::int64_t ticks = 0;
  for (const devices::LoweredPass& pass : model.executables.at(0).lowered.at(0).passes) {
    if (pass.pass == model::Pass::forward) ticks += pass.ticks().count;
  }
  return batch * static_cast<double>(model.system->devices()[0].ticksPerSecond) / static_cast<double>(ticks);
}

/// PopRT's table (graphcore/PopRT, examples/resnet50). Its first convolution and its last product are
/// float16, and its scales are fixed.
TEST(Float8Points, ThroughputOfResNet50OnAC600) {
  const std::vector<std::pair<int, double>> points{{1, 4126},   {2, 6499},   {4, 9334},   {8, 13313},
                                                   {16, 16334}, {32, 19667}, {64, 22886}, {90, 24962}};
  for (const auto& [batch, measured] : points) {
    const double ours = imagesPerSecond(batch, {{"execution.precision", "float8"},
                                                {"execution.float8_scaling", "fixed"},
                                                {"execution.float8_except", "[\"stem/*\", \"head/*\"]"}});
    const double half = imagesPerSecond(batch, {{"execution.precision", "float16"}});
    std::printf("8.6 ResNet-50 fp8, batch %d, images/s %10.1f measured %10.1f  ln %+.2f; fp16 %10.1f\n",
                batch, ours, measured, std::log(ours / measured), half);
    EXPECT_LE(std::abs(std::log(ours / measured)), 0.10) << batch;
  }
}

}  // namespace
}  // namespace pipescope::conformance
