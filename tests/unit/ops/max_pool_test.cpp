#include <limits>
#include <numeric>

#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

struct PoolCase {
  std::string name;
  Shape input;  ///< batch, channels, then one or two spatial axes
  Ints kernel, stride, dilation, pads;
  bool ceil = false;
  Ints output;  ///< spatial extents, computed by hand

  Attributes attributes() const {
    Attributes all{{"kernel_shape", kernel}};
    if (!stride.empty()) all["strides"] = stride;
    if (!dilation.empty()) all["dilations"] = dilation;
    if (!pads.empty()) all["pads"] = pads;
    if (ceil) all["ceil_mode"] = std::int64_t{1};
    return all;
  }

  friend void PrintTo(const PoolCase& one, std::ostream* out) { *out << one.name; }
};

std::vector<double> maxPoolNaive(const PoolCase& c, const Value& x) {
  const std::size_t axes = c.kernel.size();
  const bool two = axes == 2;
  const auto get = [&](const Ints& list, std::size_t a, std::int64_t fallback) {
    return list.empty() ? fallback : list[a];
  };
  const std::int64_t height = two ? c.input[2] : 1, width = c.input.back();
  const std::int64_t outHeight = two ? c.output[0] : 1, outWidth = c.output.back();
  std::vector<double> y;
  for (std::int64_t p = 0; p < c.input[0] * c.input[1]; ++p)
    for (std::int64_t i = 0; i < outHeight; ++i)
      for (std::int64_t j = 0; j < outWidth; ++j) {
        double best = -std::numeric_limits<double>::infinity();
        for (std::int64_t a = 0; a < (two ? c.kernel[0] : 1); ++a)
          for (std::int64_t b = 0; b < c.kernel.back(); ++b) {
            const std::int64_t r =
                two ? i * get(c.stride, 0, 1) + a * get(c.dilation, 0, 1) - get(c.pads, 0, 0) : 0;
            const std::int64_t q =
                j * get(c.stride, axes - 1, 1) + b * get(c.dilation, axes - 1, 1) - get(c.pads, axes - 1, 0);
            if (r < 0 || q < 0 || r >= height || q >= width) continue;
            best = std::max(best, x.data[static_cast<std::size_t>((p * height + r) * width + q)]);
          }
        y.push_back(best);
      }
  return y;
}

class MaxPool : public ::testing::TestWithParam<PoolCase> {};

TEST_P(MaxPool, EqualsItsDefinition) {
  const PoolCase& c = GetParam();
  const Value x = noise(c.input, 5);
  Shape shape{c.input[0], c.input[1]};
  shape.insert(shape.end(), c.output.begin(), c.output.end());
  for (const ElementType real : {ElementType::float64, ElementType::float32}) {
    const auto y = compute("MaxPool", {x}, c.attributes(), 1, real);
    ASSERT_TRUE(y.ok()) << y.error().message;
    EXPECT_EQ((*y)[0].shape, shape);
    expectNear((*y)[0], maxPoolNaive(c, x), 1e-6);
  }
}

TEST_P(MaxPool, HasTheGradientsOfItsDifferences) {
  GradientCheck("MaxPool", {noise(GetParam().input, 5)}, GetParam().attributes()).run();
}

TEST_P(MaxPool, Float32HasTheGradientsOfDoubles) {
  // Common windows have kernels of their own; doubles were checked against differences above. There are few
  // values, so many ties.
  Value x = noise(GetParam().input, 5);
  for (double& value : x.data) value = std::floor(value * 4);
  const auto y = compute("MaxPool", {x}, GetParam().attributes());
  Value dy = noise((*y)[0].shape, 6);
  for (double& value : dy.data) value = std::floor(value * 64);
  const auto exact = compute("GradMaxPool", {x, (*y)[0], dy}, GetParam().attributes());
  const auto single =
      compute("GradMaxPool", {x, (*y)[0], dy}, GetParam().attributes(), 1, ElementType::float32);
  ASSERT_TRUE(single.ok()) << single.error().message;
  EXPECT_EQ((*single)[0].data, (*exact)[0].data);
}

TEST_P(MaxPool, IndicesPointAtTheMaxima) {
  const PoolCase& c = GetParam();
  const Value x = noise(c.input, 5);
  const auto y = compute("MaxPool", {x}, c.attributes(), 2);
  ASSERT_TRUE(y.ok()) << y.error().message;
  for (std::size_t i = 0; i < (*y)[0].data.size(); ++i) {
    EXPECT_EQ(x.data[static_cast<std::size_t>((*y)[1].data[i])], (*y)[0].data[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Attributes, MaxPool,
    testing::Values(PoolCase{"two_by_two", {2, 3, 6, 8}, {2, 2}, {2, 2}, {}, {}, false, {3, 4}},
                    PoolCase{"two_by_two_wide", {1, 2, 4, 40}, {2, 2}, {2, 2}, {}, {}, false, {2, 20}},
                    PoolCase{"two_by_two_odd", {1, 2, 5, 7}, {2, 2}, {2, 2}, {}, {}, false, {2, 3}},
                    PoolCase{"two_by_two_ceil", {1, 2, 5, 7}, {2, 2}, {2, 2}, {}, {}, true, {3, 4}},
                    PoolCase{"overlapping", {1, 2, 6, 7}, {3, 3}, {}, {}, {}, false, {4, 5}},
                    PoolCase{"uneven", {1, 1, 7, 9}, {2, 3}, {3, 2}, {}, {}, false, {2, 4}},
                    PoolCase{"dilated", {1, 2, 8, 9}, {3, 2}, {1, 2}, {2, 3}, {}, false, {4, 3}},
                    PoolCase{"padded", {1, 2, 5, 5}, {3, 3}, {2, 2}, {}, {1, 1, 1, 1}, false, {3, 3}},
                    PoolCase{"asymmetric", {1, 1, 5, 6}, {3, 3}, {2, 2}, {}, {2, 0, 0, 1}, false, {3, 3}},
                    PoolCase{"ceil", {1, 1, 4, 4}, {3, 3}, {2, 2}, {}, {}, true, {2, 2}},
                    // The third window would start at 4, in the padding, and is dropped.
                    PoolCase{"ceil_drops_windows_in_the_padding",
                             {1, 1, 4, 4},
                             {2, 2},
                             {2, 2},
                             {},
                             {0, 0, 1, 1},
                             true,
                             {2, 2}},
                    PoolCase{"one_axis", {2, 2, 9}, {3}, {2}, {}, {}, false, {4}}),
    [](const auto& each) { return each.param.name; });

TEST(MaxPoolOp, ThreeAxes) {
  Value x{{1, 1, 2, 2, 4}, {}};
  for (int i = 0; i < 16; ++i) x.data.push_back((i * 7) % 16);
  const auto y = compute("MaxPool", {x}, {{"kernel_shape", Ints{2, 2, 2}}, {"strides", Ints{1, 1, 2}}});
  // Planes 0 7 14 5 / 12 3 10 1 and 8 15 6 13 / 4 11 2 9.
  EXPECT_EQ((*y)[0].data, (std::vector<double>{15, 14}));
}

TEST(MaxPoolOp, NanWinsItsWindowOnly) {
  for (const Ints& kernel : {Ints{2, 2}, Ints{3, 3}}) {
    for (std::size_t place = 0; place < 4; ++place) {
      Value x = noise({1, 1, 6, 24}, 5);
      const std::size_t hit = (place / 2) * 24 + place % 2;
      x.data[hit] = std::nan("");
      const Attributes attributes{{"kernel_shape", kernel}, {"strides", kernel}};
      const auto y = compute("MaxPool", {x}, attributes, 1, ElementType::float32);
      for (std::size_t i = 0; i < (*y)[0].data.size(); ++i)
        EXPECT_EQ(std::isnan((*y)[0].data[i]), i == 0) << place;
      const auto indices = compute("MaxPool", {x}, attributes, 2);
      EXPECT_EQ((*indices)[1].data[0], static_cast<double>(hit));
      const Value dy{(*indices)[0].shape, std::vector<double>((*indices)[0].data.size(), 1.0)};
      for (const ElementType real : {ElementType::float64, ElementType::float32}) {
        const auto dx = compute("GradMaxPool", {x, (*indices)[0], dy}, attributes, 1, real);
        EXPECT_EQ((*dx)[0].data[hit], 1.0) << place;
        const double all = std::accumulate((*dx)[0].data.begin(), (*dx)[0].data.end(), 0.0);
        EXPECT_EQ(all, static_cast<double>(dy.data.size())) << place;
      }
    }
  }
}

TEST(MaxPoolOp, TiesGiveTheGradientToTheFirst) {
  for (const std::int64_t width : {4, 5}) {
    const Value x{{1, 1, 2, width}, std::vector<double>(static_cast<std::size_t>(2 * width), 3.0)};
    const Value y{{1, 1, 1, 2}, {3, 3}}, dy{{1, 1, 1, 2}, {5, 7}};
    const auto dx =
        compute("GradMaxPool", {x, y, dy}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
    std::vector<double> expected(static_cast<std::size_t>(2 * width), 0.0);
    expected[0] = 5;
    expected[2] = 7;
    EXPECT_EQ((*dx)[0].data, expected);
  }
}

TEST(MaxPoolOp, ColumnMajorIndicesAreOnnxs) {
  // Test "maxpool_with_argmax_2d_precomputed_strides" of the ONNX standard: 5x5 of 1…25, kernel 2, stride 2.
  Value x{{1, 1, 5, 5}, {}};
  for (int i = 1; i <= 25; ++i) x.data.push_back(i);
  const auto y =
      compute("MaxPool", {x},
              {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"storage_order", std::int64_t{1}}}, 2);
  EXPECT_EQ((*y)[0].data, (std::vector<double>{7, 9, 17, 19}));
  EXPECT_EQ((*y)[1].data, (std::vector<double>{6, 16, 8, 18}));
}

TEST(MaxPoolOp, RefusesWithNodeAndFigures) {
  const Value x = noise({1, 1, 4, 4}, 1);
  EXPECT_EQ(refusal("MaxPool", {x}), "MaxPool node: attribute kernel_shape is missing");
  EXPECT_EQ(refusal("MaxPool", {x}, {{"kernel_shape", Ints{2}}}),
            "MaxPool node: its kernel has 1 spatial axes, its input 2");
  EXPECT_EQ(refusal("MaxPool", {x}, {{"kernel_shape", Ints{5, 2}}}),
            "MaxPool node: its kernel reaches over 5 on spatial axis 0, but the input has 4 there with "
            "padding 0 + 0; make the kernel "
            "smaller or the padding larger");
  EXPECT_EQ(refusal("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{2, 0, 0, 0}}}),
            "MaxPool node: on spatial axis 0 a window may cover padding only (padding 2 + 0, kernel reaching "
            "over 2, dilation 1, input "
            "4); give less padding");
  EXPECT_EQ(refusal("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"storage_order", std::int64_t{2}}}),
            "MaxPool node: storage_order is 2; it must be 0 (row-major) or 1 (column-major)");
  EXPECT_EQ(refusal("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}}, 1, ElementType::int64),
            "MaxPool node: cannot compute in int64; there are kernels for floating-point types");
  EXPECT_EQ(
      refusal("GradMaxPool", {x, noise({1, 1, 2, 2}, 1), noise({1, 1, 2, 2}, 1)},
              {{"kernel_shape", Ints{2, 2}}}),
      "GradMaxPool node: the pooled tensor is 1x1x2x2 float64; pooling its input gives 1x1x3x3 float64");
  EXPECT_EQ(
      refusal("GradMaxPool", {x, noise({1, 1, 3, 3}, 1), noise({1, 1, 2, 3}, 1)},
              {{"kernel_shape", Ints{2, 2}}}),
      "GradMaxPool node: input 1 is 1x1x3x3 float64 and input 2 is 1x1x2x3 float64; they must be alike");
}

}  // namespace
}  // namespace pipescope::ops_test
