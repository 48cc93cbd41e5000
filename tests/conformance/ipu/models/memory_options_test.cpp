// The options available_memory_proportion, partials_type, fully_connected_pass and use_128bit_conv_unit_load,
// which change how an IPU computes products.
#include <gmock/gmock.h>

#include "app/run/request/configuration_keys.h"
#include "model_checks.h"

namespace pipescope::conformance {
namespace {

using compile::Compilation;
using ::testing::HasSubstr;

std::string twoStages(const std::string& first, const std::string& second,
                      const std::string& system = "pod4:2") {
  return R"(
[model]
builder = "bert"
layers = 2
hidden = 512
heads = 8
feed_forward = 2048
sequence = 128
[execution]
mode = "inference"
precision = "float16"
[inference]
device_iterations = 2
[system]
name = ")" +
         system + R"("
[[stages]]
blocks = ["embeddings", "encoder/layer0"]
)" + first +
         R"(
[[stages]]
blocks = ["encoder/layer1", "head"]
)" + second;
}

std::int64_t forwardTicks(const Compilation& model, std::size_t device) {
  std::int64_t ticks = 0;
  for (const devices::LoweredPass& pass : model.executables.at(0).lowered.at(device).passes) {
    if (pass.pass == model::Pass::forward) ticks += pass.ticks().count;
  }
  return ticks;
}

std::string refusalOf(const std::string& toml) {
  auto read = app::parseConfiguration(toml, "model.toml");
  if (!read.ok()) return read.error().message;
  const auto compiled = app::compileRun(*read);
  EXPECT_FALSE(compiled.ok());
  return compiled.ok() ? "" : compiled.error().message;
}

TEST(ProductOptions, LittleMemoryIsSlower) {
  const std::string model = twoStages("", "");
  const Compilation plenty = compileModel(model),
                    scarce = compileModel(model, {{"execution.available_memory_proportion", "0.01"}});
  for (const std::size_t device : {0u, 1u})
    EXPECT_GT(forwardTicks(scarce, device), forwardTicks(plenty, device));
}

TEST(ProductOptions, AStageMayHaveItsOwnProportion) {
  const Compilation same = compileModel(twoStages("", "")),
                    own = compileModel(twoStages("", "available_memory_proportion = 0.01"));
  EXPECT_EQ(forwardTicks(own, 0), forwardTicks(same, 0));
  EXPECT_GT(forwardTicks(own, 1), forwardTicks(same, 1));
}

TEST(ProductOptions, HalfSumsAreFaster) {
  const Compilation single = compileModel(twoStages("", "")),
                    half = compileModel(twoStages("", ""), {{"execution.partials_type", "float16"}});
  EXPECT_LT(forwardTicks(half, 0), forwardTicks(single, 0));
}

TEST(ProductOptions, OneLayoutForAllPassesTakesLessMemory) {
  // A layer with one sample is dominated by its weights. With one layout they are neither arranged for the
  // backward product, nor is their gradient arranged for the update.
  const std::string model = R"(
[[model.layers]]
type = "flatten"
name = "flat"
block = "B1"
[[model.layers]]
type = "linear"
name = "first"
block = "B1"
in_features = 784
out_features = 1000
[[model.layers]]
type = "linear"
name = "second"
block = "B1"
in_features = 1000
out_features = 10
[execution]
mode = "training"
precision = "float16"
numerics = false
[training]
micro_batch_size = 1
learning_rate = 0.01
[system]
name = "mk2"
[[stages]]
blocks = ["*"]
)";
  const auto backwardTicks = [](const Compilation& compiled) {
    std::int64_t ticks = 0;
    for (const devices::LoweredPass& pass : compiled.executables.at(0).lowered.at(0).passes) {
      if (pass.pass == model::Pass::backward) ticks += pass.ticks().count;
    }
    return ticks;
  };
  const auto bytesOfTiles = [](const Compilation& compiled) {
    std::int64_t bytes = 0;
    for (const devices::UnitBytesRun& run : compiled.executables.at(0).lowered.at(0).memory.at(0).units) {
      if (run.category != "gap") bytes += run.bytes.count * run.unitCount;
    }
    return bytes;
  };
  const Compilation together = compileModel(model),
                    alone = compileModel(model, {{"execution.fully_connected_pass", "false"}});
  EXPECT_LT(backwardTicks(together), backwardTicks(alone));
  EXPECT_LT(bytesOfTiles(together), bytesOfTiles(alone));
}

TEST(ProductOptions, WideLoadsOfWeightsAreFaster) {
  const std::string model = twoStages("", "");
  const Compilation narrow = compileModel(model),
                    wide = compileModel(model, {{"execution.use_128bit_conv_unit_load", "true"}});
  for (const std::size_t device : {0u, 1u})
    EXPECT_LT(forwardTicks(wide, device), forwardTicks(narrow, device));
}

TEST(ProductOptions, RefusalsSayWhatToDo) {
  EXPECT_THAT(refusalOf(twoStages("available_memory_proportion = 0.5\ndevice = 0",
                                  "available_memory_proportion = 0.4\ndevice = 0", "mk2")),
              HasSubstr("gives device 0 available_memory_proportion 0.5 and 0.4"));
  const std::string fixed =
      "[system]\nname = \"fixed\"\n[[fixed.stages]]\nforward = 1\n[execution]\npartials_type = \"float16\"\n";
  EXPECT_THAT(refusalOf(fixed), HasSubstr("Option partials_type is for IPUs, but system fixed has none"));
  EXPECT_THAT(refusalOf(twoStages("available_memory_proportion = 2", "")),
              HasSubstr("available_memory_proportion"));
}

}  // namespace
}  // namespace pipescope::conformance
