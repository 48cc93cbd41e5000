// Gemm, ReduceSum, Sum, Relu, Flatten, Reshape.
#include <limits>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/matrix.h"
#include "engine/ops/standard_operators.h"
#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

struct GemmCase {
  std::string name;
  std::int64_t m, n, k;
  bool transA, transB;
  double alpha, beta;
  Shape bias;
  bool hasBias;

  std::vector<Value> inputs() const {
    std::vector<Value> all{noise(transA ? Shape{k, m} : Shape{m, k}, 1),
                           noise(transB ? Shape{n, k} : Shape{k, n}, 2)};
    if (hasBias) all.push_back(noise(bias, 3));
    return all;
  }
  Attributes attributes() const {
    return {
        {"transA", std::int64_t{transA}}, {"transB", std::int64_t{transB}}, {"alpha", alpha}, {"beta", beta}};
  }

  friend void PrintTo(const GemmCase& one, std::ostream* out) { *out << one.name; }
};

class Gemm : public ::testing::TestWithParam<GemmCase> {};

TEST_P(Gemm, EqualsItsDefinition) {
  const GemmCase& c = GetParam();
  const std::vector<Value> in = c.inputs();
  Shape bias = c.bias;
  while (bias.size() < 2) bias.insert(bias.begin(), 1);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < c.m; ++i)
    for (std::int64_t j = 0; j < c.n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < c.k; ++l) {
        sum += in[0].data[static_cast<std::size_t>(c.transA ? l * c.m + i : i * c.k + l)] *
               in[1].data[static_cast<std::size_t>(c.transB ? j * c.k + l : l * c.n + j)];
      }
      sum *= c.alpha;
      if (c.hasBias)
        sum +=
            c.beta *
            in[2].data[static_cast<std::size_t>((bias[0] == 1 ? 0 : i * bias[1]) + (bias[1] == 1 ? 0 : j))];
      expected.push_back(sum);
    }
  for (const ElementType real : {ElementType::float64, ElementType::float32}) {
    const auto y = compute("Gemm", in, c.attributes(), 1, real);
    ASSERT_TRUE(y.ok()) << y.error().message;
    EXPECT_EQ((*y)[0].shape, (Shape{c.m, c.n}));
    expectNear((*y)[0], expected, real == ElementType::float64 ? 1e-12 : 2e-5);
  }
}

TEST_P(Gemm, HasTheGradientsOfItsDifferences) {
  if (GetParam().beta == 1) GradientCheck("Gemm", GetParam().inputs(), GetParam().attributes()).run();
}

INSTANTIATE_TEST_SUITE_P(Attributes, Gemm,
                         testing::Values(GemmCase{"plain", 3, 4, 5, false, false, 1, 1, {}, false},
                                         GemmCase{"row_bias", 3, 4, 5, false, true, 1, 1, {4}, true},
                                         GemmCase{"trans_a", 3, 4, 5, true, false, 1, 1, {1, 4}, true},
                                         GemmCase{"trans_both", 3, 4, 5, true, true, 0.5, 1, {3, 4}, true},
                                         GemmCase{"column_bias", 3, 4, 5, false, false, -2, 1, {3, 1}, true},
                                         GemmCase{"scalar_bias", 2, 3, 4, false, true, 1, 1, {}, true},
                                         GemmCase{"single_bias", 2, 3, 4, false, true, 1, 1, {1}, true},
                                         GemmCase{
                                             "single_matrix_bias", 2, 3, 4, false, true, 1, 1, {1, 1}, true},
                                         GemmCase{"beta", 2, 3, 4, false, false, 1.5, -0.5, {3}, true},
                                         GemmCase{"one_row", 1, 6, 3, false, true, 1, 1, {6}, true},
                                         GemmCase{"one_column", 6, 1, 3, false, true, 1, 1, {1}, true},
                                         GemmCase{"deep", 5, 7, 600, false, true, 1, 1, {7}, true}),
                         [](const auto& each) { return each.param.name; });

TEST(GemmOp, RefusesWithNodeAndFigures) {
  EXPECT_EQ(refusal("Gemm", {noise({2, 3}, 1), noise({4, 5}, 2)}),
            "Gemm node: its weight expects 4 features, but its input has 3");
  EXPECT_EQ(refusal("Gemm", {noise({2, 3, 1}, 1), noise({4, 5}, 2)}),
            "Gemm node: its factors are 2x3x1 float64 and 4x5 float64; both must be matrices");
  EXPECT_EQ(refusal("Gemm", {noise({2, 3}, 1), noise({3, 5}, 2), noise({4}, 3)}),
            "Gemm node: its bias is 4 float64; it must spread over 2x5");
  const auto scaled = oneNode("Gemm", {noise({2, 3}, 1), noise({3, 5}, 2), noise({5}, 3)}, {{"beta", 0.5}}, 1,
                              ElementType::float64, graph::TensorRole::parameter);
  graph::Graph graph = scaled->graph;
  graph::Node hard;
  hard.op = "Hardmax";
  hard.name = "hard";
  hard.inputs = graph.outputs;
  graph::Node sum;
  sum.inputs =
      *ops::appendNode(graph, hard, {"hardest"}, graph::TensorRole::activation, ops::standardOperators());
  sum.op = "ReduceSum";
  sum.name = "total";
  graph.loss =
      (*ops::appendNode(graph, sum, {"loss"}, graph::TensorRole::activation, ops::standardOperators()))[0];
  const auto trained = compile::addGradients(graph, ops::standardOperators());
  EXPECT_EQ(trained.error().message, "cannot train through node hard: operator Hardmax has no gradient");
}

TEST(GemmOp, TrainsAScaledBias) {
  GradientCheck("Gemm", {noise({2, 3}, 1), noise({3, 5}, 2), noise({5}, 3)}, {{"beta", 0.5}}).run();
  GradientCheck("Gemm", {noise({2, 3}, 1), noise({3, 5}, 2), noise({2, 5}, 3)}, {{"beta", -2.0}}).run();
}

TEST(GemmOp, OfWholeNumbersWraps) {
  const Value a = labels({2, 2}, {1, 2, 3, 100}, ElementType::uint8),
              c = labels({2}, {1, 2}, ElementType::uint8);
  const auto y = compute("Gemm", {a, a, c}, {{"transB", std::int64_t{1}}, {"beta", 2.0}});
  // 1·1 + 2·2, 1·3 + 2·100; 3·1 + 100·2, 9 + 10000 mod 256; plus 2 and 4.
  EXPECT_EQ((*y)[0].data, (std::vector<double>{7, 207, 205, (10009 + 4) % 256}));
  EXPECT_EQ((*compute("Gemm", {a, a}, {{"transA", std::int64_t{1}}}))[0].data,
            (std::vector<double>{10, 302 % 256, 302 % 256, 10004 % 256}));
  EXPECT_EQ(refusal("Gemm", {a, a, c}, {{"alpha", 0.5}}),
            "Gemm node: its factors are whole numbers, but alpha or beta is 0.5");
}

TEST(ReduceSumOp, ReducesAnyAxes) {
  const Value x = noise({2, 3, 4, 5}, 1);
  const auto at = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
    return x.data[((a * 3 + b) * 4 + c) * 5 + d];
  };
  for (unsigned mask = 0; mask < 16; ++mask) {
    Ints axes;
    for (std::int64_t axis = 0; axis < 4; ++axis) {
      if (mask >> axis & 1U)
        axes.push_back(axis % 2 ? axis - 4 : axis);  // negative numbers count from the end
    }
    const std::size_t extents[] = {2, 3, 4, 5};
    std::size_t kept[4];
    Shape keptShape, droppedShape;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      const bool reduced = mask >> axis & 1U || mask == 0;
      kept[axis] = reduced ? 1 : extents[axis];
      keptShape.push_back(static_cast<std::int64_t>(kept[axis]));
      if (!reduced) droppedShape.push_back(static_cast<std::int64_t>(extents[axis]));
    }
    std::vector<double> expected(kept[0] * kept[1] * kept[2] * kept[3], 0.0);
    for (std::size_t a = 0; a < 2; ++a)
      for (std::size_t b = 0; b < 3; ++b)
        for (std::size_t c = 0; c < 4; ++c)
          for (std::size_t d = 0; d < 5; ++d) {
            expected[((a % kept[0] * kept[1] + b % kept[1]) * kept[2] + c % kept[2]) * kept[3] +
                     d % kept[3]] += at(a, b, c, d);
          }
    const auto attribute = compute("ReduceSum", {x}, {{"axes", axes}});
    ASSERT_TRUE(attribute.ok()) << attribute.error().message;
    EXPECT_EQ((*attribute)[0].shape, keptShape);
    expectNear((*attribute)[0], expected, 1e-12);
    const auto dropped =
        compute("ReduceSum", {x}, {{"axes", axes}, {"keepdims", std::int64_t{0}}}, 1, ElementType::float32);
    EXPECT_EQ((*dropped)[0].shape, droppedShape);
    expectNear((*dropped)[0], expected, 1e-5);
    if (axes.empty()) continue;
    const auto input = compute("ReduceSum", {x, constantInts({axes.begin(), axes.end()})});
    EXPECT_EQ((*input)[0].data, (*attribute)[0].data);
  }
}

TEST(ReduceSumOp, SumsManyRowsOfManyColumnsInStrips) {
  // The product has more columns than one strip has, and rows that do not divide by four. Whole numbers make
  // every sum exact.
  Value x{{7, 2, 700}, {}};
  for (std::int64_t i = 0; i < 7 * 2 * 700; ++i) x.data.push_back(static_cast<double>(i * 7919 % 1009 - 504));
  std::vector<double> expected(700);
  for (std::size_t i = 0; i < x.data.size(); ++i) expected[i % 700] += x.data[i];
  const auto y = compute("ReduceSum", {x}, {{"axes", Ints{0, 1}}, {"keepdims", std::int64_t{0}}}, 1,
                         ElementType::float32);
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_EQ((*y)[0].data, expected);
}

TEST(MatMulOp, LargeGradientsOfWeightsEqualDoubles) {
  // The first case has so many rows that every task brings its own into order; the other one is a stack in
  // which each product is a task.
  for (const auto& [a, dy] : {std::pair<Shape, Shape>{{40, 1000}, {40, 300}}, {{20, 30, 50}, {20, 30, 70}}}) {
    const Value left = noise(a, 1), right = noise(dy, 2);
    Shape weight = a;
    weight[a.size() - 2] = a.back();
    weight.back() = dy.back();
    const Attributes attributes{{"input_shape", weight}};
    const auto exact = compute("GradMatMulRight", {left, right}, attributes),
               single = compute("GradMatMulRight", {left, right}, attributes, 1, ElementType::float32);
    ASSERT_TRUE(exact.ok()) << exact.error().message;
    ASSERT_TRUE(single.ok()) << single.error().message;
    expectNear((*single)[0], (*exact)[0].data, 1e-4);
  }
}

TEST(ReduceSumOp, NoAxesMayMeanNothing) {
  const Value x = noise({2, 3}, 1);
  const auto y = compute("ReduceSum", {x}, {{"noop_with_empty_axes", std::int64_t{1}}});
  EXPECT_EQ((*y)[0].data, x.data);
}

TEST(ReduceSumOp, RefusesWithNodeAndFigures) {
  const Value x = noise({2, 3}, 1);
  EXPECT_EQ(refusal("ReduceSum", {x}, {{"axes", Ints{2}}}),
            "ReduceSum node: axis 2 is not one of the 2 axes of 2x3 float64");
  EXPECT_EQ(refusal("ReduceSum", {x, constantInts({0})}, {{"axes", Ints{0}}}),
            "ReduceSum node: give its axes as second input or as attribute, not both");
  EXPECT_EQ(refusal("ReduceSum", {x, labels({1}, {0})}),
            "ReduceSum node: its axes (input 1) is computed while the model runs; it must be a constant of "
            "the graph");
  EXPECT_EQ(refusal("ReduceSum", {x, noise({1}, 1)}),
            "ReduceSum node: its axes (input 1) is 1 float64; it must be int64 or int32");
}

float laneSumOf(const float* values, std::int64_t count) {
  return ops::laneSum<float>(count, [values](std::int64_t i) { return values[i]; });
}

TEST(SumOfLanes, IsExactForWholeNumbersOfAnyCount) {
  std::vector<float> values;
  double expected = 0;
  for (int i = 0; i < 3000; ++i) {
    EXPECT_EQ(static_cast<double>(laneSumOf(values.data(), i)), expected) << i;
    values.push_back(static_cast<float>(i % 97 - 31));
    expected += i % 97 - 31;
  }
}

TEST(SumOfLanes, DoesNotDependOnTheAddress) {
  const Value x = noise({5000}, 4);
  std::vector<float> first;
  for (std::size_t shift = 0; shift < 16; ++shift) {
    std::vector<float> moved(shift, 0.0F);
    for (const double v : x.data) moved.push_back(static_cast<float>(v));
    first.push_back(laneSumOf(moved.data() + shift, 5000));
    EXPECT_EQ(first.back(), first.front());
  }
}

TEST(Multiply, DoesNotDependOnTheAddress) {
  const Value a = noise({9, 70}, 1), b = noise({70, 11}, 2);
  std::vector<float> first;
  for (std::size_t shift = 0; shift < 9; ++shift) {
    std::vector<float> left(shift), right(shift), result(shift + 99);
    for (const double v : a.data) left.push_back(static_cast<float>(v));
    for (const double v : b.data) right.push_back(static_cast<float>(v));
    ops::multiply(ops::denseProduct(9, 11, 70, false, false, false), 1.0F, left.data() + shift,
                  right.data() + shift, result.data() + shift);
    const std::vector<float> values(result.begin() + static_cast<std::ptrdiff_t>(shift), result.end());
    if (shift == 0) first = values;
    EXPECT_EQ(values, first);
  }
}

TEST(SumOp, AddsInOrderAndPassesGradientsOn) {
  const Value a = noise({2, 3}, 1), b = noise({2, 3}, 2), c = noise({2, 3}, 3);
  const auto y = compute("Sum", {a, b, c});
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ((*y)[0].data[i], a.data[i] + b.data[i] + c.data[i]);
  EXPECT_EQ((*compute("Sum", {a}))[0].data, a.data);
  GradientCheck("Sum", {a, b, c}, {}).run();
}

TEST(SumOp, RefusesWithNodeAndFigures) {
  EXPECT_EQ(
      refusal("Sum", {noise({2, 3}, 1), noise({3, 2}, 1)}),
      "Sum node: input 1 is 3x2 float64, which does not spread over 2 of the inputs before it on axis 0");
  EXPECT_EQ(refusal("Sum", {noise({2}, 1), absent()}), "Sum node: input 1 is left out, but is needed");
  EXPECT_EQ(refusal("Sum", {noise({2}, 1)}, {}, 1, ElementType::int64),
            "Sum node: cannot compute in int64; there are kernels for floating-point types");
}

TEST(ReluOp, KeepsPositivesAndNans) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const ElementType real : {ElementType::float64, ElementType::float32}) {
    const auto y =
        compute("Relu", {Value{{11}, {-1, 2, nan, infinity, -infinity, 0, -3, 4, nan, -5, 6}}}, {}, 1, real);
    const std::vector<double> expected{0, 2, nan, infinity, 0, 0, 0, 4, nan, 0, 6};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (std::isnan(expected[i])) {
        EXPECT_TRUE(std::isnan((*y)[0].data[i])) << i;
      } else {
        EXPECT_EQ((*y)[0].data[i], expected[i]) << i;
      }
    }
  }
}

TEST(ReluOp, HasTheGradientsOfItsDifferences) {
  GradientCheck("Relu", {noise({3, 7}, 8)}, {}).run();
  const auto dx = compute("GradRelu", {Value{{4}, {0, 2, std::nan(""), 0}}, Value{{4}, {1, 2, 3, 4}}});
  EXPECT_EQ((*dx)[0].data,
            (std::vector<double>{0, 2, 3, 0}));  // at 0 the slope is 0; a NaN passes on, as in PyTorch
}

TEST(ReluOp, RefusesWithNodeAndFigures) {
  EXPECT_EQ(refusal("Relu", {labels({2}, {1, 2})}),
            "Relu node: cannot compute in int64; there are kernels for floating-point types");
  EXPECT_EQ(refusal("Relu", {noise({2}, 1)}, {{"alpha", 1.0}}),
            "Relu node: attribute alpha is not known; known are none");
  EXPECT_EQ(refusal("GradRelu", {noise({2}, 1), noise({3}, 1)}),
            "GradRelu node: input 0 is 2 float64 and input 1 is 3 float64; they must be alike");
}

TEST(FlattenOp, SplitsAtItsAxis) {
  const Value x = noise({2, 3, 4}, 1);
  const auto shape = [&](std::int64_t axis) { return (*compute("Flatten", {x}, {{"axis", axis}}))[0].shape; };
  EXPECT_EQ(shape(0), (Shape{1, 24}));
  EXPECT_EQ(shape(1), (Shape{2, 12}));
  EXPECT_EQ(shape(3), (Shape{24, 1}));
  EXPECT_EQ(shape(-1), (Shape{6, 4}));
  EXPECT_EQ((*compute("Flatten", {x}))[0].data, x.data);
  GradientCheck("Flatten", {x}, {}).run();
  EXPECT_EQ(refusal("Flatten", {x}, {{"axis", std::int64_t{4}}}),
            "Flatten node: axis is 4; its input has 3 axes, so it must be -3 to 3");
}

TEST(ReshapeOp, FollowsOnnxsRules) {
  const Value x = noise({2, 3, 4}, 1);
  const auto shape = [&](std::vector<double> wanted) {
    return (*compute("Reshape", {x, constantInts(std::move(wanted))}))[0].shape;
  };
  EXPECT_EQ(shape({4, 6}), (Shape{4, 6}));
  EXPECT_EQ(shape({0, -1}), (Shape{2, 12}));
  EXPECT_EQ(shape({-1, 0, 2}), (Shape{4, 3, 2}));
  EXPECT_EQ((*compute("Reshape", {x}, {{"shape", Ints{24}}}))[0].data, x.data);
  GradientCheck("Reshape", {x}, {{"shape", Ints{6, -1}}}).run();
}

TEST(ReshapeOp, RefusesWithNodeAndFigures) {
  const Value x = noise({2, 3}, 1);
  const auto bad = [&](std::vector<double> wanted) {
    return refusal("Reshape", {x, constantInts(std::move(wanted))});
  };
  EXPECT_EQ(bad({4, 2}), "Reshape node: cannot make 4x2 out of 2x3 float64: the numbers of elements differ");
  EXPECT_EQ(bad({4, -1}),
            "Reshape node: cannot make 4x-1 out of 2x3 float64: the numbers of elements differ");
  EXPECT_EQ(bad({-1, -1}), "Reshape node: shape -1x-1 may hold −1 once and no smaller number");
  EXPECT_EQ(bad({-2, 3}), "Reshape node: shape -2x3 may hold −1 once and no smaller number");
  EXPECT_EQ(bad({2, 3, 0}), "Reshape node: shape 2x3x0 copies axis 2, but its input has 2 axes");
  EXPECT_EQ(bad({4e9, 4e9}), "Reshape node: shape 4000000000x4000000000 is too large");
  EXPECT_EQ(refusal("Reshape", {x, constantInts({0, 3})}, {{"allowzero", std::int64_t{1}}}),
            "Reshape node: cannot make 0x3 out of 2x3 float64: the numbers of elements differ");
  EXPECT_EQ(refusal("Reshape", {x}), "Reshape node: give its shape as second input");
  EXPECT_EQ(refusal("Reshape", {x, constantInts({6})}, {{"shape", Ints{6}}}),
            "Reshape node: give its shape as second input or as attribute, not both");
  EXPECT_EQ(refusal("Reshape", {x, labels({1}, {6})}),
            "Reshape node: its shape (input 1) is computed while the model runs; it must be a constant of "
            "the graph");
}

}  // namespace
}  // namespace pipescope::ops_test
