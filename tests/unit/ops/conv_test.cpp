#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

/// A convolution over up to three spatial axes; missing axes have extent 1.
struct ConvCase {
  std::string name;
  std::int64_t batch = 1, channels = 1, filters = 1, groups = 1;
  Ints input, kernel, stride, dilation,
      pads;  ///< pads: all begins, then all ends; an empty list leaves the attribute out
  bool bias = true;
  bool gradients = true;  ///< small enough for central differences

  Value x() const {
    Shape shape = input;
    shape.insert(shape.begin(), {batch, channels});
    return noise(shape, 1);
  }
  Value w() const {
    Shape shape = kernel;
    shape.insert(shape.begin(), {filters, channels / groups});
    return noise(shape, 2);
  }
  std::vector<Value> inputs() const {
    std::vector<Value> all{x(), w()};
    if (bias) all.push_back(noise({filters}, 3));
    return all;
  }
  Attributes attributes() const {
    Attributes all;
    if (groups != 1) all["group"] = groups;
    if (!stride.empty()) all["strides"] = stride;
    if (!dilation.empty()) all["dilations"] = dilation;
    if (!pads.empty()) all["pads"] = pads;
    return all;
  }

  friend void PrintTo(const ConvCase& one, std::ostream* out) { *out << one.name; }
};

std::int64_t convAt(const Ints& list, std::size_t axis, std::size_t axes, std::int64_t fallback) {
  const std::size_t missing = 3 - axes;
  return list.empty() || axis < missing ? fallback : list[axis - missing];
}

/// The definition in double precision, in the simplest order.
std::vector<double> convNaive(const ConvCase& c) {
  const std::size_t axes = c.input.size();
  const Value x = c.x(), w = c.w(), b = noise({c.filters}, 3);
  std::int64_t in[3], k[3], s[3], d[3], pad[3], out[3];
  for (std::size_t a = 0; a < 3; ++a) {
    in[a] = convAt(c.input, a, axes, 1);
    k[a] = convAt(c.kernel, a, axes, 1);
    s[a] = convAt(c.stride, a, axes, 1);
    d[a] = convAt(c.dilation, a, axes, 1);
    const Ints begins =
        c.pads.empty() ? Ints() : Ints(c.pads.begin(), c.pads.begin() + static_cast<std::ptrdiff_t>(axes));
    const Ints ends =
        c.pads.empty() ? Ints() : Ints(c.pads.begin() + static_cast<std::ptrdiff_t>(axes), c.pads.end());
    pad[a] = convAt(begins, a, axes, 0);
    out[a] = (in[a] + pad[a] + convAt(ends, a, axes, 0) - (k[a] - 1) * d[a] - 1) / s[a] + 1;
  }
  const std::int64_t perGroup = c.channels / c.groups, filtersPerGroup = c.filters / c.groups;
  std::vector<double> y;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t f = 0; f < c.filters; ++f)
      for (std::int64_t o0 = 0; o0 < out[0]; ++o0)
        for (std::int64_t o1 = 0; o1 < out[1]; ++o1)
          for (std::int64_t o2 = 0; o2 < out[2]; ++o2) {
            double sum = c.bias ? b.data[static_cast<std::size_t>(f)] : 0;
            for (std::int64_t ch = 0; ch < perGroup; ++ch)
              for (std::int64_t k0 = 0; k0 < k[0]; ++k0)
                for (std::int64_t k1 = 0; k1 < k[1]; ++k1)
                  for (std::int64_t k2 = 0; k2 < k[2]; ++k2) {
                    const std::int64_t i0 = o0 * s[0] + k0 * d[0] - pad[0],
                                       i1 = o1 * s[1] + k1 * d[1] - pad[1],
                                       i2 = o2 * s[2] + k2 * d[2] - pad[2];
                    if (i0 < 0 || i1 < 0 || i2 < 0 || i0 >= in[0] || i1 >= in[1] || i2 >= in[2]) continue;
                    const std::int64_t channel = f / filtersPerGroup * perGroup + ch;
                    const std::int64_t xAt =
                        (((n * c.channels + channel) * in[0] + i0) * in[1] + i1) * in[2] + i2;
                    const std::int64_t wAt = (((f * perGroup + ch) * k[0] + k0) * k[1] + k1) * k[2] + k2;
                    sum += x.data[static_cast<std::size_t>(xAt)] * w.data[static_cast<std::size_t>(wAt)];
                  }
            y.push_back(sum);
          }
  return y;
}

class Conv : public ::testing::TestWithParam<ConvCase> {};

TEST_P(Conv, EqualsItsDefinition) {
  const ConvCase& c = GetParam();
  for (const ElementType real : {ElementType::float64, ElementType::float32}) {
    const auto y = compute("Conv", c.inputs(), c.attributes(), 1, real);
    ASSERT_TRUE(y.ok()) << y.error().message;
    expectNear((*y)[0], convNaive(c), real == ElementType::float64 ? 1e-12 : 2e-4);
  }
}

TEST_P(Conv, HasTheGradientsOfItsDifferences) {
  if (GetParam().gradients) GradientCheck("Conv", GetParam().inputs(), GetParam().attributes()).run();
}

TEST_P(Conv, Float32HasTheGradientsOfDoubles) {
  // These shapes use other kernels; doubles, which are unfolded, were checked against differences above.
  const ConvCase& c = GetParam();
  const Value x = c.x(), w = c.w();
  const auto y = compute("Conv", {x, w}, c.attributes());
  ASSERT_TRUE(y.ok()) << y.error().message;
  const Value dy = noise((*y)[0].shape, 4);
  Attributes input = c.attributes(), weight = c.attributes();
  input["input_shape"] = x.shape;
  weight["weight_shape"] = w.shape;
  const auto check = [](const char* op, const std::vector<Value>& values, const Attributes& attributes) {
    const auto exact = compute(op, values, attributes),
               single = compute(op, values, attributes, 1, ElementType::float32);
    ASSERT_TRUE(exact.ok()) << exact.error().message;
    ASSERT_TRUE(single.ok()) << single.error().message;
    double largest = 1;
    for (const double each : (*exact)[0].data) largest = std::max(largest, std::fabs(each));
    expectNear((*single)[0], (*exact)[0].data, 2e-5 * largest);
  };
  check("GradConvInput", {dy, w}, input);
  check("GradConvWeight", {x, dy}, weight);
}

INSTANTIATE_TEST_SUITE_P(
    Attributes, Conv,
    testing::Values(
        ConvCase{"plain", 2, 1, 3, 1, {6, 7}, {3, 3}, {}, {}, {}},
        ConvCase{"unbiased", 2, 2, 3, 1, {5, 5}, {3, 2}, {}, {}, {}, false},
        ConvCase{"one_by_one", 2, 3, 4, 1, {3, 4}, {1, 1}, {}, {}, {}},
        ConvCase{"strided", 1, 2, 2, 1, {7, 8}, {3, 3}, {2, 3}, {}, {}},
        ConvCase{"strided_one_by_one", 1, 2, 2, 1, {5, 6}, {1, 1}, {2, 2}, {}, {}},
        ConvCase{"dilated", 1, 2, 2, 1, {9, 8}, {3, 3}, {}, {2, 3}, {}},
        ConvCase{"padded", 2, 1, 2, 1, {4, 4}, {3, 3}, {}, {}, {1, 1, 1, 1}},
        ConvCase{"asymmetric_pads", 1, 2, 2, 1, {4, 5}, {3, 3}, {}, {}, {2, 0, 1, 3}},
        ConvCase{"everything", 2, 4, 6, 2, {7, 6}, {3, 2}, {2, 1}, {2, 3}, {2, 1, 3, 2}},
        ConvCase{"depthwise", 1, 3, 6, 3, {5, 5}, {3, 3}, {}, {}, {1, 1, 1, 1}},
        ConvCase{"wider_pad_than_kernel", 1, 1, 1, 1, {2, 2}, {2, 2}, {}, {}, {3, 3, 3, 3}},
        ConvCase{"one_axis", 2, 2, 3, 1, {9}, {3}, {2}, {2}, {1, 2}},
        ConvCase{"three_axes", 1, 2, 2, 1, {3, 4, 5}, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 0, 1, 0, 1, 2}},
        ConvCase{"several_blocks", 1, 16, 4, 1, {44, 44}, {5, 5}, {}, {}, {}, true, false},
        ConvCase{"several_padded_blocks", 1, 16, 4, 1, {40, 40}, {5, 5}, {}, {}, {2, 2, 2, 2}, true, false},
        // Float32 shapes that are wide enough for filtering by tiles, except the last two, which go the
        // direct way.
        ConvCase{"filtered", 2, 16, 16, 1, {8, 8}, {3, 3}, {}, {}, {1, 1, 1, 1}, true, false},
        ConvCase{"filtered_odd", 3, 18, 35, 1, {7, 5}, {3, 3}, {}, {}, {2, 0, 1, 2}, true, false},
        ConvCase{"filtered_groups", 2, 40, 34, 2, {6, 9}, {3, 3}, {}, {}, {}, true, false},
        ConvCase{
            "filtered_rows_of_one_image", 1, 16, 16, 1, {40, 500}, {3, 3}, {}, {}, {1, 1, 1, 1}, true, false},
        ConvCase{"too_wide_to_filter", 1, 16, 16, 1, {4, 600}, {3, 3}, {}, {}, {1, 1, 1, 1}, true, false},
        ConvCase{"mostly_padding", 4, 20, 20, 1, {1, 1}, {3, 3}, {}, {}, {1, 1, 1, 1}, true, false},
        // Few channels or filters: rows are the lanes, as whole vectors or with copies for padding and edges.
        ConvCase{"rows", 3, 1, 10, 1, {12, 12}, {5, 5}, {}, {}, {}, true, false},
        ConvCase{"rows_of_many_images", 70, 1, 6, 1, {4, 16}, {3, 1}, {}, {}, {}, true, false},
        ConvCase{"rows_with_edges", 2, 3, 10, 1, {10, 30}, {7, 7}, {}, {}, {3, 3, 3, 3}, true, false},
        ConvCase{"rows_in_groups", 2, 6, 20, 2, {9, 20}, {2, 5}, {}, {}, {1, 2, 0, 2}, false, false},
        ConvCase{"rows_dilated", 2, 2, 5, 1, {10, 27}, {3, 6}, {}, {2, 2}, {}, true, false},
        ConvCase{"rows_depthwise", 2, 5, 5, 5, {7, 19}, {3, 3}, {}, {}, {1, 1, 1, 1}, true, false},
        ConvCase{"rows_of_one_axis", 3, 2, 7, 1, {40}, {9}, {}, {}, {}, true, false},
        ConvCase{"rows_of_one_row", 2, 14, 25, 1, {3, 9}, {3, 2}, {}, {}, {}, true, false},
        // One channel in each group, and short or strided rows: plane by plane.
        ConvCase{"planes", 3, 5, 5, 5, {4, 3}, {3, 3}, {}, {}, {1, 1, 1, 1}, true, false},
        ConvCase{"planes_strided", 2, 3, 6, 3, {9, 20}, {3, 5}, {2, 3}, {2, 1}, {2, 0, 1, 4}, true, false},
        ConvCase{"planes_of_one_axis", 2, 4, 8, 4, {30}, {4}, {2}, {3}, {5, 9}, false, false},
        ConvCase{"planes_under_padding", 2, 2, 2, 2, {1, 1}, {5, 5}, {}, {}, {2, 2, 2, 2}, true, false},
        ConvCase{"blocks_within_a_row", 1, 80, 2, 1, {300}, {25}, {}, {}, {3, 4}, true, false}),
    [](const auto& each) { return each.param.name; });

TEST(ConvOp, BlockedGradientsEqualUnblockedSums) {
  // There are too many positions for one block, so the weight gradient is compared with its definition for a
  // gradient of ones.
  const ConvCase c{"", 2, 16, 3, 1, {44, 44}, {5, 5}, {}, {}, {}};
  const Value x = c.x(), ones{{2, 3, 40, 40}, std::vector<double>(2 * 3 * 40 * 40, 1.0)};
  const auto dw = compute("GradConvWeight", {x, ones}, {{"weight_shape", Ints{3, 16, 5, 5}}});
  ASSERT_TRUE(dw.ok()) << dw.error().message;
  std::vector<double> expected;
  for (int filter = 0; filter < 3; ++filter)
    for (std::size_t channel = 0; channel < 16; ++channel)
      for (std::size_t k0 = 0; k0 < 5; ++k0)
        for (std::size_t k1 = 0; k1 < 5; ++k1) {
          double sum = 0;
          for (std::size_t n = 0; n < 2; ++n)
            for (std::size_t i = 0; i < 40; ++i)
              for (std::size_t j = 0; j < 40; ++j)
                sum += x.data[((n * 16 + channel) * 44 + i + k0) * 44 + j + k1];
          expected.push_back(sum);
        }
  expectNear((*dw)[0], expected, 1e-10);
}

TEST(ConvOp, AutoPadKeepsTheExtentDividedByTheStride) {
  // SAME pads 3 in all on an axis of 7 with kernel 4 and stride 2, which gives 4 outputs: (4−1)·2 + 4 − 7.
  const Value x = noise({1, 1, 7}, 1), w = noise({1, 1, 4}, 2);
  const auto upper = compute("Conv", {x, w}, {{"auto_pad", "SAME_UPPER"}, {"strides", Ints{2}}});
  const auto lower = compute("Conv", {x, w}, {{"auto_pad", "SAME_LOWER"}, {"strides", Ints{2}}});
  const auto explicitUpper = compute("Conv", {x, w}, {{"pads", Ints{1, 2}}, {"strides", Ints{2}}});
  const auto explicitLower = compute("Conv", {x, w}, {{"pads", Ints{2, 1}}, {"strides", Ints{2}}});
  EXPECT_EQ((*upper)[0].shape, (Shape{1, 1, 4}));
  EXPECT_EQ((*upper)[0].data, (*explicitUpper)[0].data);
  EXPECT_EQ((*lower)[0].data, (*explicitLower)[0].data);
  const auto valid = compute("Conv", {x, w}, {{"auto_pad", "VALID"}});
  EXPECT_EQ((*valid)[0].data, (*compute("Conv", {x, w}))[0].data);
}

TEST(ConvOp, NanReachesExactlyTheWindowsThatHoldIt) {
  Value x = noise({1, 1, 5, 5}, 1);
  x.data[0] = std::nan("");
  const auto y = compute("Conv", {x, noise({1, 1, 2, 2}, 2)}, {}, 1, ElementType::float32);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(std::isnan((*y)[0].data[i]), i == 0) << i;
}

TEST(ConvOp, NanAndInfinityStayInTheirWindowsWithManyChannels) {
  // Filtering by tiles would spread these over all four outputs of a tile.
  for (const double odd : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Value x = noise({1, 16, 9, 9}, 1), w = noise({16, 16, 3, 3}, 2);
    x.data[3 * 81 + 4 * 9 + 4] = odd;
    const auto y = compute("Conv", {x, w}, {{"pads", Ints{1, 1, 1, 1}}}, 1, ElementType::float32);
    const Attributes gradient{{"pads", Ints{1, 1, 1, 1}}, {"input_shape", Ints{1, 16, 9, 9}}};
    const auto dx = compute("GradConvInput", {x, w}, gradient, 1, ElementType::float32);
    for (std::size_t i = 0; i < 16 * 81; ++i) {
      const std::size_t row = i % 81 / 9, column = i % 9;
      const bool holds = row >= 3 && row <= 5 && column >= 3 && column <= 5;
      ASSERT_EQ(!std::isfinite((*y)[0].data[i]), holds) << i;
      ASSERT_EQ(!std::isfinite((*dx)[0].data[i]), holds) << i;
    }
  }
}

TEST(ConvOp, NanAndInfinityStayInTheirWindowsWithRowsAsLanes) {
  // Rows of 12 positions, so the second vector of each is half full.
  for (const double odd : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Value x = noise({2, 1, 6, 16}, 1), w = noise({6, 1, 3, 5}, 2);
    const Value dy = noise({2, 6, 4, 12}, 3);
    x.data[15] = odd;  // the last column of the first row, which only the last tap reads
    const auto y = compute("Conv", {x, w}, {}, 1, ElementType::float32);
    for (std::size_t i = 0; i < 2 * 6 * 48; ++i)
      ASSERT_EQ(!std::isfinite((*y)[0].data[i]), i < 6 * 48 && i % 48 == 11) << i;
    const auto dw =
        compute("GradConvWeight", {x, dy}, {{"weight_shape", Ints{6, 1, 3, 5}}}, 1, ElementType::float32);
    for (std::size_t i = 0; i < 6 * 15; ++i) ASSERT_EQ(!std::isfinite((*dw)[0].data[i]), i % 15 == 4) << i;
    w.data[0] = odd;  // the first tap, which never reads the last two rows and four columns
    const auto dx =
        compute("GradConvInput", {dy, w}, {{"input_shape", Ints{2, 1, 6, 16}}}, 1, ElementType::float32);
    for (std::size_t i = 0; i < 2 * 96; ++i)
      ASSERT_EQ(!std::isfinite((*dx)[0].data[i]), i % 96 / 16 < 4 && i % 16 < 12) << i;
  }
}

TEST(ConvOp, RefusesWithNodeAndFigures) {
  const Value x = noise({1, 4, 5, 5}, 1), w = noise({2, 4, 3, 3}, 2);
  const auto bad = [&](const Attributes& attributes) { return refusal("Conv", {x, w}, attributes); };
  EXPECT_EQ(refusal("Conv", {x, noise({2, 3, 3, 3}, 2)}),
            "Conv node: its weight expects 3 input channels, but its input has 4");
  EXPECT_EQ(refusal("Conv", {x, noise({2, 4, 6, 3}, 2)}),
            "Conv node: its kernel reaches over 6 on spatial axis 0, but the input has 5 there with padding "
            "0 + 0; make the kernel "
            "smaller or the padding larger");
  EXPECT_EQ(refusal("Conv", {x, noise({2, 4, 3}, 2)}),
            "Conv node: its weight has 3 axes and its input 4; both need a batch or filters, channels and at "
            "least one spatial axis");
  EXPECT_EQ(refusal("Conv", {x, w, noise({3}, 3)}),
            "Conv node: its bias is 3 float64; it must hold one number for each of the 2 filters");
  EXPECT_EQ(bad({{"kernel_shape", Ints{3, 2}}}),
            "Conv node: kernel_shape is 3x2, but its weight's kernel is 3x3");
  EXPECT_EQ(bad({{"group", std::int64_t{3}}}), "Conv node: group is 3; it must divide the 2 filters");
  EXPECT_EQ(bad({{"group", std::int64_t{0}}}), "Conv node: group is 0; it must divide the 2 filters");
  EXPECT_EQ(bad({{"strides", Ints{0, 1}}}),
            "Conv node: attribute strides holds 0; every number must be 1 to 1000000000");
  EXPECT_EQ(bad({{"pads", Ints{0, 1}}}), "Conv node: attribute pads has 2 numbers; it needs 4");
  EXPECT_EQ(bad({{"dilations", Ints{1, -1}}}),
            "Conv node: attribute dilations holds -1; every number must be 1 to 1000000000");
  EXPECT_EQ(bad({{"auto_pad", "BOTH"}}),
            "Conv node: auto_pad is BOTH; it must be NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  EXPECT_EQ(bad({{"auto_pad", "VALID"}, {"pads", Ints{1, 1, 1, 1}}}),
            "Conv node: both pads and auto_pad VALID are given; leave one out");
  EXPECT_EQ(bad({{"stride", Ints{1, 1}}}),
            "Conv node: attribute stride is not known; known are auto_pad, dilations, group, kernel_shape, "
            "pads, strides, multi_conv");
  EXPECT_EQ(bad({{"strides", std::int64_t{2}}}),
            "Conv node: attribute strides is a whole number; it must be a list of whole numbers");
  EXPECT_EQ(refusal("Conv", {x}), "Conv node has 1 inputs; it takes 2 to 3");
  EXPECT_EQ(refusal("Conv", {x, absent()}), "Conv node: input 1 is left out, but is needed");
  EXPECT_EQ(refusal("Conv", {x, w}, {}, 2), "Conv node has 2 outputs; it makes at most 1");
  EXPECT_EQ(refusal("Conv", {x, w}, {}, 1, ElementType::int64),
            "Conv node: cannot compute in int64; there are kernels for floating-point types");
  Value narrow = w;
  narrow.element = ElementType::float32;
  EXPECT_EQ(refusal("Conv", {x, narrow}),
            "Conv node: input 0 is float64 and input 1 is float32; give both one element type");
  EXPECT_EQ(refusal("Conv", {noise({1, 1, 1, 1, 1, 1, 1, 1, 1}, 1), noise({1, 1, 1, 1, 1, 1, 1, 1, 1}, 1)}),
            "Conv node: its input has 9 axes; it needs a batch, channels and 1 to 6 spatial axes");
  EXPECT_EQ(refusal("Conv", {noise({1, 1, 0}, 1), noise({1, 1, 1}, 1)}),
            "Conv node: kernel 1 over 0 on spatial axis 0; both must be 1 to 1000000000");
}

TEST(ConvOp, GradientOperatorsRefuseOtherShapes) {
  const Value w = noise({2, 4, 3, 3}, 2), dy = noise({1, 2, 4, 3}, 1);
  EXPECT_EQ(
      refusal("GradConvInput", {dy, w}, {{"input_shape", Ints{1, 4, 5, 5}}}),
      "GradConvInput node: the gradient by its output is 1x2x4x3 float64, but the output is 1x2x3x3 float64");
  EXPECT_EQ(refusal("GradConvInput", {dy, w}),
            "GradConvInput node: its weight has 4 axes and its input 0; both need a batch or filters, "
            "channels and at least one "
            "spatial axis");
  EXPECT_EQ(refusal("GradConvWeight", {noise({1, 4, 5, 5}, 1), dy}, {{"weight_shape", Ints{2, 4, 3, 3}}}),
            "GradConvWeight node: the gradient by its output is 1x2x4x3 float64, but the output is 1x2x3x3 "
            "float64");
}

}  // namespace
}  // namespace pipescope::ops_test
