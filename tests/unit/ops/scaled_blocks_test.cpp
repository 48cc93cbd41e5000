// Blocks with scales (MXFP8 and NVFP4): the numbers of float4 and their rounding, scales by hand, and
// products against sums of what a search through tables keeps.
#include "engine/ops/quantized/scaled_blocks.h"

#include <cmath>

#include "cast_graph.h"
#include "float8_values.h"
#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

using ops::BlockLayout;

constexpr double kFloat4Values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

/// The number of a table with a sign that lies nearest; of two equally near ones, that of the even place.
template <class Table>
double nearest(const Table& table, double value) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < std::size(table); ++i) {
    if (!std::isfinite(table[i])) continue;
    const double distance = std::fabs(table[i] - std::fabs(value)),
                 least = std::fabs(table[best] - std::fabs(value));
    if (distance < least || (distance == least && i % 2 == 0)) best = i;
  }
  return std::copysign(table[best], value);
}

TEST(Float4, HasEightNumbersWithASign) {
  for (unsigned bits = 0; bits < 16; ++bits) {
    const double expected = kFloat4Values[bits % 8] * (bits >= 8 ? -1 : 1);
    EXPECT_EQ(static_cast<double>(ops::widenedFloat4(static_cast<std::uint8_t>(bits))), expected);
    EXPECT_EQ(ops::narrowedToFloat4(static_cast<float>(expected)), bits);
  }
}

TEST(Float4, RoundsToTheNearestNumber) {
  for (int i = -1600; i <= 1600; ++i) {
    const double value = i / 200.0;  // also each middle between two numbers
    EXPECT_EQ(static_cast<double>(ops::widenedFloat4(ops::narrowedToFloat4(static_cast<float>(value)))),
              nearest(kFloat4Values, value))
        << value;
  }
  EXPECT_EQ(ops::widenedFloat4(ops::narrowedToFloat4(INFINITY)), 6);
  EXPECT_EQ(ops::widenedFloat4(ops::narrowedToFloat4(-NAN)), 0);
}

TEST(ScaledBlocks, LieAlongTheirAxis) {
  const BlockLayout rows = ops::blockLayout({3, 40, 5}, -2, 32);
  EXPECT_EQ(rows.outer, 3);
  EXPECT_EQ(rows.length, 40);
  EXPECT_EQ(rows.inner, 5);
  EXPECT_EQ(rows.blocks(), 3 * 2 * 5);
  EXPECT_EQ(ops::scaleBytes(ElementType::float8_143fn, rows), 30);
  const BlockLayout last = ops::blockLayout({3, 40}, -1, 16);
  EXPECT_EQ(ops::scaleBytes(ElementType::float4_121, last), 3 * 3 + 1) << "and one of the tensor";
  EXPECT_EQ(graph::bytesOf(ElementType::float4_121, 3 * 41), 62) << "two share a byte";
}

TEST(ScaledBlocks, ScalesOfMxfp8AreTheLeastPowersOfTwoWithWhichAllFit) {
  // Blocks of 32 along one line: 448 fits as it is, 449 only halved; a block of zeros counts as it is.
  std::vector<float> x(96, 0);
  x[3] = -448;
  x[40] = 449;
  const BlockLayout layout = ops::blockLayout({96}, -1, 32);
  std::vector<std::uint8_t> values(96), scales(3);
  ops::narrowToBlocks(ElementType::float8_143fn, layout, x.data(), values.data(), scales.data());
  EXPECT_EQ(scales, (std::vector<std::uint8_t>{127, 128, 127}));
  EXPECT_EQ(values[3], 0xFE);
  std::vector<float> back(96);
  ops::widenBlocks(ElementType::float8_143fn, layout, values.data(), scales.data(), back.data());
  EXPECT_EQ(back[3], -448);
  EXPECT_EQ(back[40], 448) << "224.5 is 224 in float8";
}

TEST(ScaledBlocks, ScalesOfNvfp4AreNumbersOfFloat8) {
  // The largest number, 12, is 6 · 2. The power of two of the tensor is the least with 2 ≤ 448 · 2^g: −7.
  std::vector<float> x(32, 0);
  x[0] = 12;
  x[1] = 5;
  x[16] = 0.75F;
  const BlockLayout layout = ops::blockLayout({32}, -1, 16);
  std::vector<std::uint8_t> values(16), scales(3);
  ops::narrowToBlocks(ElementType::float4_121, layout, x.data(), values.data(), scales.data());
  EXPECT_EQ(scales[2], 127 - 7);
  EXPECT_EQ(scales[0], 0x78) << "2 · 2^7 = 256";
  EXPECT_EQ(scales[1], 0x58) << "0.125 · 2^7 = 16";
  std::vector<float> back(32);
  ops::widenBlocks(ElementType::float4_121, layout, values.data(), scales.data(), back.data());
  EXPECT_EQ(back[0], 12);
  EXPECT_EQ(back[1], 4) << "2.5 lies between 2 and 3, and 2 is even";
  EXPECT_EQ(back[16], 0.75F);
}

struct Kept {
  ElementType type;
  std::int64_t block;
};

/// The numbers of a matrix as blocks along its axis 0 or 1 keep them.
Value keptOf(const Value& x, const Kept& format, std::size_t axis) {
  const std::int64_t rows = x.shape[0], columns = x.shape[1];
  Value kept = x;
  const bool float4 = format.type == ElementType::float4_121;
  double largest = 0, tensor = 0x1p-127;
  for (const double value : x.data) largest = std::max(largest, std::fabs(value));
  while (float4 && largest / 6 > 448 * tensor) tensor *= 2;
  const std::int64_t lines = axis == 0 ? columns : rows, length = axis == 0 ? rows : columns;
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t begin = 0; begin < length; begin += format.block) {
      const auto at = [&](std::int64_t k) {
        return static_cast<std::size_t>(axis == 0 ? k * columns + line : line * columns + k);
      };
      double most = 0, scale = 0x1p-127;
      const std::int64_t end = std::min(length, begin + format.block);
      for (std::int64_t k = begin; k < end; ++k) most = std::max(most, std::fabs(x.data[at(k)]));
      if (float4) {
        scale = nearest(kFloat8_143fn, most / 6 / tensor) * tensor;
      } else {
        while (scale * 448 < most) scale *= 2;
      }
      for (std::int64_t k = begin; k < end; ++k) {
        const double value = scale > 0 ? x.data[at(k)] / scale : 0;
        kept.data[at(k)] = scale * (float4 ? nearest(kFloat4Values, value)
                                           : nearest(kFloat8_143fn, std::clamp(value, -448.0, 448.0)));
      }
    }
  }
  return kept;
}

/// Runs "<prefix>MatMul" of two matrices that BlockCast has cast along the axes over which it sums.
std::vector<double> blockProduct(const Value& a, const Value& b, const Kept& format,
                                 const std::string& prefix) {
  CastGraph graph;
  const auto cast = [&](const std::string& name, const Value& value, Ints axes) {
    const std::size_t outputs = 2 * axes.size();
    return graph.append("BlockCast", name + "/cast", {graph.input(name, value)},
                        {{"format", toString(format.type)}, {"axes", std::move(axes)}}, outputs);
  };
  const auto left = cast("a", a, {-1, -2}), right = cast("b", b, {-2});
  const auto product = graph.append(
      prefix + "MatMul", "product", {left[0], right[0], left[1], right[1]},
      {{"result", std::string("float32")}, {"accumulate", std::string("float32")}, {"axes", Ints{-1, -2}}},
      1);
  return graph.run(product[0]);
}

TEST(ScaledBlocks, ProductsMultiplyWhatBlocksKeep) {
  const std::int64_t m = 5, k = 75, n = 7;
  Value a = noise({m, k}, 3), b = noise({k, n}, 4);
  for (std::size_t i = 0; i < a.data.size(); ++i) a.data[i] *= i % 3 == 0 ? 900 : 0.01;
  for (Value* value : {&a, &b}) {
    for (double& x : value->data) x = static_cast<double>(static_cast<float>(x));
  }
  for (const auto& [format, prefix] : {std::pair(Kept{ElementType::float8_143fn, 32}, "Float8"),
                                       {Kept{ElementType::float4_121, 16}, "Float4"}}) {
    const Value x = keptOf(a, format, 1), y = keptOf(b, format, 0);
    const std::vector<double> actual = blockProduct(a, b, format, prefix);
    ASSERT_EQ(actual.size(), static_cast<std::size_t>(m * n));
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, size = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const double term =
              x.data[static_cast<std::size_t>(i * k + l)] * y.data[static_cast<std::size_t>(l * n + j)];
          sum += term;
          size += std::fabs(term);
        }
        ASSERT_NEAR(actual[static_cast<std::size_t>(i * n + j)], sum, 1e-5 * (1 + size)) << prefix;
      }
    }
  }
}

TEST(ScaledBlocks, RefuseWhatTheyCannotDo) {
  const Value x{{2, 2}, {1, 2, 3, 4}, ElementType::float32};
  EXPECT_EQ(
      refusal("BlockCast", {x}, {{"format", std::string("float8_143")}, {"axes", Ints{-1}}}),
      "BlockCast node: its format is \"float8_143\"; it must be float8_143fn, float8_152 or float4_121");
  EXPECT_EQ(refusal("BlockCast", {x}, {{"format", std::string("float4_121")}, {"axes", Ints{-3}}}),
            "BlockCast node: its axes must be one or two of -1 … -2");
  const Attributes types{{"result", std::string("float16")}, {"accumulate", std::string("float32")}};
  EXPECT_EQ(refusal("Float4MatMul", {x, x}, types),
            "Float4MatMul node: input 0 is float32; it must be float4");
  const Value tiny{{2, 2}, {0, 0, 0, 0}, ElementType::float8_152}, scales{{1}, {0}, ElementType::uint8};
  Attributes axes = types;
  axes["axes"] = Ints{-1, -2};
  EXPECT_EQ(refusal("Float8MatMul", {tiny, tiny, scales, scales}, axes),
            "Float8MatMul node: input 2, the scales of blocks, must be 2 uint8");
  axes["axes"] = Ints{-1, -3};
  EXPECT_EQ(refusal("Float8MatMul", {tiny, tiny, scales, scales}, axes),
            "Float8MatMul node: input 2, the scales of blocks, must be 2 uint8");
}

}  // namespace
}  // namespace pipescope::ops_test
