// Float8 on C600, Gaudi2 and Gaudi3: its definitions, what products cost, and who refuses it.
#include <gmock/gmock.h>

#include "engine/devices/core/device_family.h"
#include "gaudi_fixtures.h"

namespace pipescope::devices {
namespace {

using graph::ElementType;
using testing::CardLowering;
using testing::chipOf;
using ::testing::HasSubstr;
using testing::product;
using testing::refusalOf;
using testing::systemOf;
using testing::TemporaryFolder;

TEST(Float8Devices, DefineTheirTypes) {
  for (const char* name : {"mk1", "mk2", "bow", "pod4", "gaudi", "hls-1", "fixed"})
    EXPECT_FALSE(systemOf(name)->float8()) << name;
  const auto c600 = systemOf("c600")->float8();
  ASSERT_TRUE(c600);
  EXPECT_EQ(c600->e143, ElementType::float8_143fnuz);
  EXPECT_EQ(c600->e152, ElementType::float8_152fnuz);
  EXPECT_EQ(c600->beside, ElementType::float16);
  EXPECT_EQ(c600->sums, ElementType::float16);
  for (const auto& [name, e143] : {std::pair("gaudi2", ElementType::float8_143),
                                   {"hls-gaudi2", ElementType::float8_143},
                                   {"gaudi3", ElementType::float8_143fn}}) {
    const auto support = systemOf(name)->float8();
    ASSERT_TRUE(support) << name;
    EXPECT_EQ(support->e143, e143) << name;
    EXPECT_EQ(support->e152, ElementType::float8_152) << name;
    EXPECT_EQ(support->beside, ElementType::bfloat16) << name;
    EXPECT_EQ(support->sums, ElementType::float32) << name;
  }
}

TEST(Float8Devices, RefuseDefinitionsThatNobodyKnows) {
  const TemporaryFolder folder;
  folder.write("devices/odd.toml",
               "base = \"gaudi2\"\n[figures]\nfloat8_143_bias = { value = 8, unit = \"1\", grade = \"R\", "
               "source = \"test\" }\nfloat8_143_largest = { value = 448, unit = \"1\", grade = \"R\", source "
               "= \"test\" }\n");
  SystemOptions options;
  options.userFolder = folder.path();
  EXPECT_THAT(refusalOf("odd", options),
              HasSubstr("the chip multiplies float8, but float8_143_bias is 8 and float8_143_largest is 448, "
                        "which is no known definition; known are 7 and 240, 7 and 448, and 8 and 240."));
}

double seconds(const std::string& card, ElementType type) {
  return CardLowering(card).lower(product(16384, 4096, 16384, type)).arithmetic;
}

TEST(Float8Devices, GaudisMultiplyAtTheirPeak) {
  // Gaudi2 has twice the rate of bfloat16, Gaudi3 the same rate.
  EXPECT_NEAR(seconds("gaudi2", ElementType::bfloat16) / seconds("gaudi2", ElementType::float8_143), 2, 0.05);
  EXPECT_NEAR(seconds("gaudi3", ElementType::bfloat16) / seconds("gaudi3", ElementType::float8_143fn), 1,
              0.05);
  const double peak = 865.1e12, flops = 2.0 * 16384 * 4096 * 16384;
  EXPECT_GE(seconds("gaudi2", ElementType::float8_143), flops / peak * 0.999);
}

TEST(Float8Devices, OthersRefuseProducts) {
  EXPECT_EQ(CardLowering("gaudi").refusal(product(64, 64, 64, ElementType::float8_143)),
            "layer: gaudi does not compute in float8_143; use --precision bfloat16 or float32.");
  const ops::Map map{ops::MapFunction::cast, 64, 1, ElementType::float8_152, false};
  EXPECT_EQ(CardLowering("gaudi").refusal(map),
            "layer: gaudi does not compute in float8_152; use --precision bfloat16 or float32.");
}

/// Ticks and bytes of one product on an IPU.
std::pair<double, double> onIpu(const std::string& system, ElementType type, ElementType sums) {
  ops::Contraction work = product(4096, 1024, 4096, type);
  work.accumulate = sums;
  compile::StageIr stage;
  const auto tensor = [&](const char* name, graph::Shape shape, ElementType element) {
    stage.tensors.push_back({name, {element, std::move(shape)}, compile::TensorUse::activation, 1});
    return compile::IrTensorId(static_cast<int>(stage.tensors.size()) - 1);
  };
  const auto a = tensor("a", {4096, 1024}, type), b = tensor("b", {1024, 4096}, type),
             c = tensor("c", {4096, 4096}, ElementType::float16);
  stage.passes.push_back({model::Pass::forward, {{"gemm", "Gemm", {{work, 1, ""}}, {a, b}, {c}}}});
  const auto lowered = systemOf(system)->lower({&stage});
  EXPECT_TRUE(lowered.ok()) << (lowered.ok() ? "" : lowered.error().message);
  double bytes = 0;
  for (const LoweredVariable& variable : lowered->memory.front().variables)
    bytes += static_cast<double>(variable.bytes.count);
  return {static_cast<double>(lowered->passes.front().ticks().count), bytes};
}

TEST(Float8Devices, C600MultipliesFasterThanInFloat16) {
  const auto [quarter, quarterBytes] = onIpu("c600", ElementType::float8_143fnuz, ElementType::float16);
  const auto [half, halfBytes] = onIpu("c600", ElementType::float16, ElementType::float16);
  const double ideal = 2.0 * 4096 * 1024 * 4096 / (2.0 * 128 * 1472);  // cycles at the peak of float8
  EXPECT_GT(quarter, ideal);
  EXPECT_LT(quarter, 0.8 * half);
  EXPECT_LT(quarterBytes, halfBytes);
}

TEST(Float8Devices, OtherIpusRefuseIt) {
  compile::StageIr stage;
  stage.passes.push_back(
      {model::Pass::forward,
       {{"gemm", "Gemm", {{product(64, 64, 64, ElementType::float8_143fnuz), 1, ""}}, {}, {}}}});
  const auto lowered = systemOf("mk2")->lower({&stage});
  ASSERT_FALSE(lowered.ok());
  EXPECT_THAT(lowered.error().message,
              HasSubstr("mk2 does not multiply float8_143fnuz; use float16 or float32."));
}

}  // namespace
}  // namespace pipescope::devices
