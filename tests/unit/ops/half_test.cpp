#include "engine/ops/core/half.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "engine/ops/core/random.h"
#include "engine/ops/standard_operators.h"
#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

using ops::BFloat16;
using ops::Float16;

constexpr double kHalfInfinity = std::numeric_limits<double>::infinity();

/// A number of a format with `fraction` bits, finite or infinite, from the definition of its fields.
double valueOf(unsigned bits, int fraction, int bias) {
  const double sign = bits >> 15 ? -1 : 1;
  const int width = 15 - fraction;
  const int exponent = static_cast<int>(bits >> fraction) & ((1 << width) - 1);
  const double part = static_cast<double>(bits & ((1U << fraction) - 1)) / static_cast<double>(1 << fraction);
  if (exponent == (1 << width) - 1) return part == 0 ? sign * kHalfInfinity : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(part, 1 - bias) : std::ldexp(1 + part, exponent - bias));
}

template <class Half>
class HalfTypes : public ::testing::Test {
 public:
  static constexpr int kFraction = std::is_same_v<Half, Float16> ? 10 : 7;
  static constexpr int kBias = std::is_same_v<Half, Float16> ? 15 : 127;
  static double value(unsigned bits) { return valueOf(bits, kFraction, kBias); }
};
using Halves = testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(HalfTypes, Halves);

TYPED_TEST(HalfTypes, EveryNumberIsItsFieldsAndComesBack) {
  std::vector<TypeParam> all(65536);
  for (unsigned bits = 0; bits < 65536; ++bits) all[bits].bits = static_cast<std::uint16_t>(bits);
  std::vector<float> wide(65536);
  ops::widen(all.data(), wide.data(), 65536);
  std::vector<TypeParam> back(65536);
  ops::narrow(wide.data(), back.data(), 65536);
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const double expected = this->value(bits);
    const float single = ops::widened(all[bits]);
    TypeParam alone;
    ops::narrow(single, alone);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide[bits]) && std::isnan(single)) << bits;
      ASSERT_TRUE(std::isnan(this->value(back[bits].bits)) && std::isnan(this->value(alone.bits))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(wide[bits]), expected) << bits;
    ASSERT_EQ(static_cast<double>(single), expected) << bits;
    ASSERT_EQ(back[bits].bits, bits);
    ASSERT_EQ(alone.bits, bits);
  }
}

TYPED_TEST(HalfTypes, RoundsToTheNearestAndTiesToEven) {
  // Numbers between each pair of neighbours: just below the middle, the middle, and just above.
  for (unsigned bits = 0; this->value(bits + 1) < kHalfInfinity; ++bits) {
    const double low = this->value(bits), high = this->value(bits + 1), middle = (low + high) / 2;
    const float tie = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(tie), middle);
    const float inputs[8] = {
        std::nextafter(tie, 0.0F), tie, std::nextafter(tie, INFINITY), -tie, tie, tie, tie, tie};
    TypeParam vector[8], alone[8];
    ops::narrow(inputs, vector, 8);
    for (int i = 0; i < 4; ++i) ops::narrow(inputs[i], alone[i]);
    const unsigned even = bits % 2 ? bits + 1 : bits;
    const unsigned expected[4] = {bits, even, bits + 1, even | 0x8000U};
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(vector[i].bits, expected[i]) << bits << " input " << i;
      ASSERT_EQ(alone[i].bits, expected[i]) << bits << " input " << i;
    }
  }
}

TEST(HalfTypesOverflow, BecomesInfiniteFromHalfAnUlpAboveTheLargest) {
  EXPECT_EQ(halfOf<Float16>(65504).bits, 0x7BFF);
  EXPECT_EQ(halfOf<Float16>(65519.996).bits, 0x7BFF);
  EXPECT_EQ(halfOf<Float16>(65520).bits, 0x7C00);
  EXPECT_EQ(halfOf<Float16>(-1e9).bits, 0xFC00);
  EXPECT_EQ(halfOf<BFloat16>(3.4e38).bits, 0x7F80);
}

TEST(StochasticRounding, IsUnbiasedBetweenNeighbours) {
  // 1 + 2⁻¹² lies a quarter of the way from 1 to 1 + 2⁻¹⁰, so it is rounded up with probability ¼.
  const ops::RandomSequence random({.seed = 7}, "test");
  const std::vector<float> x(40000, 1 + 0x1p-12F);
  std::vector<Float16> y(x.size());
  ops::narrowStochastically(x.data(), y.data(), 40000, random);
  int up = 0;
  for (const Float16 each : y) {
    ASSERT_TRUE(each.bits == 0x3C00 || each.bits == 0x3C01);
    up += each.bits == 0x3C01;
  }
  EXPECT_NEAR(up / 40000.0, 0.25, 0.01);
  const std::vector<float> exact{0.0F, -0.0F, 1.5F, -65504.0F, 0x1p-24F, INFINITY, -INFINITY};
  std::vector<Float16> same(exact.size());
  ops::narrowStochastically(exact.data(), same.data(), 7, random);
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_EQ(ops::widened(same[i]), exact[i]);
}

/// Rounds by the definition, in double: neighbours are multiples of 2^(exponent − fraction).
float roundedByChance(float value, double uniform, int fraction, int smallestExponent, double largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double magnitude = std::fabs(value);
  const int exponent = std::max(std::ilogb(magnitude), smallestExponent) - fraction;
  const double scaled = std::ldexp(magnitude, -exponent);
  const double whole = std::floor(scaled) + (uniform < scaled - std::floor(scaled) ? 1 : 0);
  const double result = std::ldexp(whole, exponent);
  return static_cast<float>(std::copysign(result > largest ? kHalfInfinity : result, value));
}

template <class Half>
void expectDefinition(int fraction, int smallestExponent, double largest) {
  const ops::RandomSequence random({.seed = 3, .iteration = 2}, "definition");
  std::mt19937 bits(11);
  std::vector<float> x;
  // All exponents, denormals and infinities, then the neighbourhoods of the smallest and the largest normal
  // number.
  for (int i = 0; i < 60000; ++i) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits())));
  for (int i = 0; i < 20000; ++i)
    x.push_back(static_cast<float>(std::ldexp(1.0 + i / 20000.0, smallestExponent - 1 - i % 12)));
  for (int i = 0; i < 5000; ++i) x.push_back(static_cast<float>(-largest * (0.99 + i / 400000.0)));
  std::erase_if(x, [](float value) { return std::isnan(value); });
  const auto count = static_cast<std::int64_t>(x.size()) - 3;
  std::vector<Half> y(x.size());
  ops::narrowStochastically(x.data(), y.data(), count, random);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::uint32_t word = random.block(static_cast<std::uint64_t>(i / 4))[at % 4];
    const float wanted =
        roundedByChance(x[at], std::ldexp(word >> 8, -24), fraction, smallestExponent, largest);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(ops::widened(y[at])), std::bit_cast<std::uint32_t>(wanted))
        << i << ": " << x[at];
  }
  for (std::size_t i = x.size() - 3; i < x.size(); ++i)
    EXPECT_EQ(y[i].bits, 0);  // nothing is written past the end
}

TEST(StochasticRounding, FollowsTheDefinitionForAllExponents) {
  expectDefinition<Float16>(10, -14, 65504);
  expectDefinition<BFloat16>(7, -126, static_cast<double>(std::bit_cast<float>(0x7F7F0000U)));
}

TEST(StochasticRounding, KeepsNotANumber) {
  const ops::RandomSequence random({.seed = 7}, "nan");
  const std::vector<float> x{1, std::nanf(""), -std::nanf(""), 2};
  std::vector<Float16> y(4);
  ops::narrowStochastically(x.data(), y.data(), 4, random);
  EXPECT_TRUE(std::isnan(ops::widened(y[1])) && std::isnan(ops::widened(y[2])));
  EXPECT_EQ(y[3].bits, 0x4000);
}

TEST(HalfKernels, ComputeInFloat32AndRoundOnce) {
  for (const ElementType half : {ElementType::float16, ElementType::bfloat16}) {
    const double tiny = half == ElementType::float16 ? 0x1p-11 : 0x1p-8;
    // The sum 1 + tiny is 1 in half precision (a tie), but 1 + tiny + tiny, added in float32, is the next
    // number.
    const auto y =
        compute("Sum", {Value{{2}, {1, 3}}, Value{{2}, {tiny, 0}}, Value{{2}, {tiny, 0}}}, {}, 1, half);
    ASSERT_TRUE(y.ok()) << y.error().message;
    EXPECT_EQ((*y)[0].data, (std::vector<double>{1 + 2 * tiny, 3}));
  }
}

TEST(HalfKernels, PassOperandsOfOtherTypesAsTheyAre) {
  const auto y = compute("MaxPool", {Value{{1, 1, 4}, {1, 4, 2, 3}}},
                         {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}, 2, ElementType::float16);
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_EQ((*y)[0].data, (std::vector<double>{4, 3}));
  EXPECT_EQ((*y)[1].data, (std::vector<double>{1, 3}));
}

TEST(HalfKernels, RoundStochasticallyWhereTheRunSaysSo) {
  auto one = oneNode("Add", {Value{{64}, std::vector<double>(64, 1)}, Value{{1}, {0x1p-12}}}, {}, 1,
                     ElementType::float16);
  // 2⁻¹² is a float16 number; the sum is not.
  const auto program = numerics::GraphProgram::create(one->graph, ops::standardOperators());
  ASSERT_TRUE(program.ok()) << program.error().message;
  numerics::Workspace workspace = program->makeWorkspace();
  const std::vector<std::span<const std::byte>> spans(one->bytes.begin(), one->bytes.end());
  const auto run = [&](bool stochastic, std::int64_t iteration) {
    const numerics::Bindings bindings{
        spans, {}, {}, {.seed = 1, .iteration = iteration, .stochasticRounding = stochastic}};
    EXPECT_TRUE(program->run(bindings, workspace).ok());
    return decode({ElementType::float16, {64}}, program->output(workspace, bindings, 0)).data;
  };
  EXPECT_EQ(run(false, 0), std::vector<double>(64, 1.0));
  const auto first = run(true, 0);
  EXPECT_EQ(first, run(true, 0));
  EXPECT_NE(first, run(true, 1));
  EXPECT_EQ(std::count(first.begin(), first.end(), 1.0) + std::count(first.begin(), first.end(), 1 + 0x1p-10),
            64);
}

}  // namespace
}  // namespace pipescope::ops_test
