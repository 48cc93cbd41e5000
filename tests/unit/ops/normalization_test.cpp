// Softmax, normalizations, reductions, products and poolings, compared with loops of their definitions.
#include <algorithm>
#include <cmath>

#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

using List = std::vector<double>;

Value normalizationConstant(Value value) {
  value.role = Value::Role::constant;
  return value;
}

/// Calls visit(index of the first element, distance of neighbours) for every row along an axis.
template <class Visit>
void forRows(const Shape& shape, std::size_t axis, Visit visit) {
  std::int64_t inner = 1, outer = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) visit(o * inner * shape[axis] + i, inner);
}

TEST(SoftmaxOp, EqualsItsDefinitionAlongEveryAxis) {
  for (const Shape& shape : {Shape{3, 70, 5}, Shape{2, 3, 100}}) {
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const auto normalizationAt = static_cast<std::size_t>(axis);
      const Value x = noise(shape, 3);
      List soft(x.data.size()), logs(x.data.size());
      forRows(shape, normalizationAt, [&](std::int64_t first, std::int64_t step) {
        double sum = 0;
        for (std::int64_t i = 0; i < shape[normalizationAt]; ++i)
          sum += std::exp(x.data[static_cast<std::size_t>(first + i * step)]);
        for (std::int64_t i = 0; i < shape[normalizationAt]; ++i) {
          const auto place = static_cast<std::size_t>(first + i * step);
          soft[place] = std::exp(x.data[place]) / sum;
          logs[place] = x.data[place] - std::log(sum);
        }
      });
      for (const auto& [type, tolerance] :
           {std::pair{ElementType::float64, 1e-13}, {ElementType::float32, 1e-6}}) {
        expectNear((*compute("Softmax", {x}, {{"axis", axis}}, 1, type))[0], soft, tolerance);
        expectNear((*compute("LogSoftmax", {x}, {{"axis", axis - 3}}, 1, type))[0], logs, tolerance);
      }
    }
  }
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    GradientCheck("Softmax", {noise({2, 3, 4}, 5)}, {{"axis", axis}}).run();
    GradientCheck("LogSoftmax", {noise({2, 3, 4}, 5)}, {{"axis", axis}}).run();
  }
}

TEST(SoftmaxOp, TakesLargeScoresAndKeepsNanWithinItsRow) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const ElementType type : {ElementType::float64, ElementType::float32}) {
    const auto y = compute("Softmax", {Value{{3, 2}, {1000, 1000, nan, 1, -inf, 0}}}, {}, 1, type);
    EXPECT_EQ((*y)[0].data[0], 0.5);
    EXPECT_TRUE(std::isnan((*y)[0].data[2]) && std::isnan((*y)[0].data[3]));
    EXPECT_EQ((*y)[0].data[4], 0);
    EXPECT_EQ((*y)[0].data[5], 1);
  }
  EXPECT_EQ(refusal("Softmax", {noise({2, 3}, 1)}, {{"axis", std::int64_t{2}}}),
            "Softmax node: axis is 2; the tensor has 2 axes, so it must be -2 to 1");
}

TEST(HardmaxOp, MarksTheFirstLargest) {
  const Value x{{2, 3}, {1, 3, 3, 2, 0, -1}};
  EXPECT_EQ((*compute("Hardmax", {x}))[0].data, (List{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ((*compute("Hardmax", {x}, {{"axis", std::int64_t{0}}}))[0].data, (List{0, 1, 1, 1, 0, 0}));
}

TEST(LayerNormalizationOp, EqualsItsDefinition) {
  const Value x = noise({4, 3, 50}, 1);
  for (const std::int64_t axis : {1, 2, -1}) {
    const std::int64_t depth = axis == 1 ? 150 : 50, rows = 600 / depth;
    const Shape normalised = axis == 1 ? Shape{3, 50} : Shape{50};
    const Value scale = noise(normalised, 2), bias = noise(normalised, 3);
    List expected, means, inverses;
    for (std::int64_t r = 0; r < rows; ++r) {
      double mean = 0, variance = 0;
      const double* row = x.data.data() + r * depth;
      for (std::int64_t i = 0; i < depth; ++i) mean += row[i] / static_cast<double>(depth);
      for (std::int64_t i = 0; i < depth; ++i)
        variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(depth);
      means.push_back(mean);
      inverses.push_back(1 / std::sqrt(variance + 0.01));
      for (std::int64_t i = 0; i < depth; ++i) {
        const auto normalizationAt = static_cast<std::size_t>(i);
        expected.push_back((row[i] - mean) * inverses.back() * scale.data[normalizationAt] +
                           bias.data[normalizationAt]);
      }
    }
    const Attributes attributes{{"axis", axis}, {"epsilon", 0.01}};
    for (const auto& [type, tolerance] :
         {std::pair{ElementType::float64, 1e-12}, {ElementType::float32, 2e-6}}) {
      const auto y = compute("LayerNormalization", {x, scale, bias}, attributes, 3, type);
      ASSERT_TRUE(y.ok()) << y.error().message;
      expectNear((*y)[0], expected, tolerance);
      expectNear((*y)[1], means, 1e-6);
      expectNear((*y)[2], inverses, 1e-6);
    }
  }
  GradientCheck("LayerNormalization", {noise({3, 2, 5}, 1), noise({5}, 2), noise({5}, 3)}, {}).run();
  GradientCheck("LayerNormalization", {noise({3, 2, 5}, 1), noise({2, 5}, 2)}, {{"axis", std::int64_t{1}}})
      .run();
}

TEST(LayerNormalizationOp, RefusesWithNodeAndFigures) {
  const std::string op = "LayerNormalization";
  EXPECT_EQ(refusal(op, {noise({2, 3}, 1), noise({2}, 2)}),
            "LayerNormalization node: its scale is 2 float64; it must be 3 float64");
  EXPECT_EQ(refusal(op, {noise({2, 3}, 1), noise({3}, 2), noise({1}, 2)}),
            "LayerNormalization node: input 1 is 3 float64 and input 2 is 1 float64; they must be alike");
  EXPECT_EQ(refusal(op, {noise({2, 3}, 1), noise({3}, 2)}, {{"stash_type", std::int64_t{11}}}),
            "LayerNormalization node: stash_type is 11; it must be 1 (float32)");
}

struct BatchNorm {
  Value x = noise({3, 4, 2, 5}, 1), scale = noise({4}, 2), bias = noise({4}, 3), mean = noise({4}, 4),
        variance = noise({4}, 5);
  BatchNorm() {
    for (double& v : variance.data) v = std::abs(v) + 0.1;
  }
  std::vector<Value> inputs() const { return {x, scale, bias, mean, variance}; }
  std::size_t channelOf(std::size_t i) const { return i / 10 % 4; }
};

TEST(BatchNormalizationOp, UsesGivenStatisticsInInference) {
  const BatchNorm c;
  List expected;
  for (std::size_t i = 0; i < c.x.data.size(); ++i) {
    const std::size_t k = c.channelOf(i);
    expected.push_back((c.x.data[i] - c.mean.data[k]) / std::sqrt(c.variance.data[k] + 1e-5) *
                           c.scale.data[k] +
                       c.bias.data[k]);
  }
  expectNear((*compute("BatchNormalization", c.inputs()))[0], expected, 1e-8);
  expectNear((*compute("BatchNormalization", c.inputs(), {}, 1, ElementType::float32))[0], expected, 5e-6);
  GradientCheck("BatchNormalization",
                {c.x, c.scale, c.bias, normalizationConstant(c.mean), normalizationConstant(c.variance)}, {})
      .run();
}

TEST(BatchNormalizationOp, UsesTheBatchInTraining) {
  const BatchNorm c;
  double mean[4] = {}, variance[4] = {};
  for (std::size_t i = 0; i < c.x.data.size(); ++i) mean[c.channelOf(i)] += c.x.data[i] / 30;
  for (std::size_t i = 0; i < c.x.data.size(); ++i)
    variance[c.channelOf(i)] += std::pow(c.x.data[i] - mean[c.channelOf(i)], 2) / 30;
  List expected, runningMean, runningVariance, unbiased;
  for (std::size_t i = 0; i < c.x.data.size(); ++i) {
    const std::size_t k = c.channelOf(i);
    expected.push_back((c.x.data[i] - mean[k]) / std::sqrt(variance[k] + 1e-3) * c.scale.data[k] +
                       c.bias.data[k]);
  }
  for (std::size_t k = 0; k < 4; ++k) {
    runningMean.push_back(0.75 * c.mean.data[k] + 0.25 * mean[k]);
    runningVariance.push_back(0.75 * c.variance.data[k] + 0.25 * variance[k]);
    unbiased.push_back(0.75 * c.variance.data[k] + 0.25 * variance[k] * 30 / 29);
  }
  Attributes attributes{{"training_mode", std::int64_t{1}}, {"epsilon", 1e-3}, {"momentum", 0.75}};
  const auto y = compute("BatchNormalization", c.inputs(), attributes, 3);
  ASSERT_TRUE(y.ok()) << y.error().message;
  expectNear((*y)[0], expected, 1e-12);
  expectNear((*y)[1], runningMean, 1e-13);
  expectNear((*y)[2], runningVariance, 1e-13);
  GradientCheck("BatchNormalization",
                {c.x, c.scale, c.bias, normalizationConstant(c.mean), normalizationConstant(c.variance)},
                attributes)
      .run();
  attributes["unbiased"] = std::int64_t{1};
  expectNear((*compute("BatchNormalization", c.inputs(), attributes, 3))[2], unbiased, 1e-13);
}

TEST(BatchNormalizationOp, RefusesWithNodeAndFigures) {
  BatchNorm c;
  const std::string op = "BatchNormalization";
  EXPECT_EQ(
      refusal(op, c.inputs(), {}, 3),
      "BatchNormalization node: it has 3 outputs, but running statistics exist only with training_mode 1");
  c.bias = noise({3}, 3);
  EXPECT_EQ(
      refusal(op, c.inputs()),
      "BatchNormalization node: input 2 is 3 float64; it must hold one float64 for each of the 4 channels");
  c.x = noise({3}, 1);
  EXPECT_EQ(refusal(op, c.inputs()),
            "BatchNormalization node: its input is 3 float64; it needs a batch and channels");
  EXPECT_EQ(
      refusal("GradBatchNormalization", {noise({2, 3}, 1), noise({3}, 1), noise({2, 3}, 1), noise({3}, 1)}),
      "GradBatchNormalization node: give both mean and variance, or neither");
}

// --- MatMul ---------------------------------------------------------------------------------------------

struct ProductCase {
  Shape a, b, y;
};
const ProductCase kProducts[] = {{{3, 4}, {4, 5}, {3, 5}},
                                 {{4}, {4, 5}, {5}},
                                 {{3, 4}, {4}, {3}},
                                 {{4}, {4}, {}},
                                 {{2, 3, 4}, {4, 5}, {2, 3, 5}},
                                 {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}},
                                 {{3, 4}, {2, 4, 5}, {2, 3, 5}},
                                 {{2, 1, 3, 4}, {3, 4, 5}, {2, 3, 3, 5}},
                                 {{4}, {2, 4, 5}, {2, 5}},
                                 {{2, 3, 4}, {4}, {2, 3}},
                                 {{1, 3, 4}, {2, 4, 5}, {2, 3, 5}}};

/// c[s] = a[s]·b[s] by definition.
List product(const ProductCase& c, const Value& a, const Value& b) {
  const std::int64_t k = c.a.back(), n = c.b.size() == 1 ? 1 : c.b.back(),
                     m = c.a.size() == 1 ? 1 : c.a[c.a.size() - 2];
  const auto stack = [](const Shape& s) { return s.size() > 2 ? Shape(s.begin(), s.end() - 2) : Shape(); };
  const Shape sa = stack(c.a), sb = stack(c.b);
  Shape all(std::max(sa.size(), sb.size()), 1);
  for (const Shape* s : {&sa, &sb})
    for (std::size_t i = 0; i < s->size(); ++i)
      all[all.size() - s->size() + i] = std::max(all[all.size() - s->size() + i], (*s)[i]);
  const auto place = [&](const Shape& s, std::int64_t flat) {
    std::int64_t normalizationAt = 0, step = 1;
    for (std::size_t back = 0; back < all.size(); ++back) {
      const std::int64_t index = flat % all[all.size() - 1 - back];
      flat /= all[all.size() - 1 - back];
      if (back >= s.size()) continue;
      const std::int64_t extent = s[s.size() - 1 - back];
      normalizationAt += (extent == 1 ? 0 : index) * step;
      step *= extent;
    }
    return normalizationAt;
  };
  List y;
  for (std::int64_t s = 0; s < graph::elementCount(all); ++s)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t d = 0; d < k; ++d)
          sum += a.data[static_cast<std::size_t>(place(sa, s) * m * k + i * k + d)] *
                 b.data[static_cast<std::size_t>(place(sb, s) * k * n + d * n + j)];
        y.push_back(sum);
      }
  return y;
}

TEST(MatMulOp, MultipliesStacksAsNumpy) {
  for (const ProductCase& c : kProducts) {
    const Value a = noise(c.a, 1), b = noise(c.b, 2);
    const auto y = compute("MatMul", {a, b});
    ASSERT_TRUE(y.ok()) << y.error().message;
    EXPECT_EQ((*y)[0].shape, c.y);
    expectNear((*y)[0], product(c, a, b), 1e-14);
    GradientCheck("MatMul", {a, b}, {}).run();
    Value wholeA = a, wholeB = b;
    wholeA.element = wholeB.element = ElementType::int32;
    for (Value* value : {&wholeA, &wholeB})
      for (double& x : value->data) x = std::floor(x * 100);
    EXPECT_EQ((*compute("MatMul", {wholeA, wholeB}))[0].data, product(c, wholeA, wholeB));
  }
}

TEST(MatMulOp, RefusesWithNodeAndShapes) {
  EXPECT_EQ(refusal("MatMul", {noise({2, 3}, 1), noise({2, 3}, 1)}),
            "MatMul node: cannot multiply 2x3 by 2x3");
  EXPECT_EQ(refusal("MatMul", {noise({2, 2, 3}, 1), noise({3, 3, 2}, 1)}),
            "MatMul node: cannot multiply 2x2x3 by 3x3x2");
  EXPECT_EQ(refusal("MatMul", {noise({}, 1), noise({1}, 1)}), "MatMul node: cannot multiply a scalar by 1");
  EXPECT_EQ(refusal("GradMatMulLeft", {noise({2, 2}, 1), noise({3, 4}, 1)}, {{"input_shape", Ints{2, 3}}}),
            "GradMatMulLeft node: the gradient by its output is 2x2 float64, but the output is 2x4");
}

// --- Reductions -------------------------------------------------------------------------------------------

struct ReduceCase {
  std::string op;
  std::function<double(const List&)> function;
};

double sumOf(const List& row, const std::function<double(double)>& f) {
  double sum = 0;
  for (const double x : row) sum += f(x);
  return sum;
}

const ReduceCase kReductions[] = {
    {"ReduceSum", [](const List& r) { return sumOf(r, [](double x) { return x; }); }},
    {"ReduceMean",
     [](const List& r) { return sumOf(r, [](double x) { return x; }) / static_cast<double>(r.size()); }},
    {"ReduceMax", [](const List& r) { return *std::max_element(r.begin(), r.end()); }},
    {"ReduceMin", [](const List& r) { return *std::min_element(r.begin(), r.end()); }},
    {"ReduceProd",
     [](const List& r) {
       double product = 1;
       for (const double x : r) product *= x;
       return product;
     }},
    {"ReduceL1", [](const List& r) { return sumOf(r, [](double x) { return std::abs(x); }); }},
    {"ReduceL2", [](const List& r) { return std::sqrt(sumOf(r, [](double x) { return x * x; })); }},
    {"ReduceLogSum", [](const List& r) { return std::log(sumOf(r, [](double x) { return x; })); }},
    {"ReduceLogSumExp",
     [](const List& r) { return std::log(sumOf(r, [](double x) { return std::exp(x); })); }},
    {"ReduceSumSquare", [](const List& r) { return sumOf(r, [](double x) { return x * x; }); }}};

TEST(Reductions, EqualTheirDefinitionsOverAnyAxes) {
  for (const ReduceCase& c : kReductions) {
    Value x = noise({2, 3, 4}, 6);
    for (double& each : x.data) each = each / 2 + 1;  // positive, for the logarithms
    for (unsigned mask = 1; mask < 8; ++mask) {
      Ints axes;
      for (std::int64_t axis = 0; axis < 3; ++axis)
        if (mask >> axis & 1U) axes.push_back(axis);
      std::map<std::size_t, List> rows;
      for (std::size_t i = 0; i < 24; ++i) {
        const std::size_t normalizationAt[] = {i / 12, i / 4 % 3, i % 4};
        std::size_t key = 0;
        for (std::size_t axis = 0; axis < 3; ++axis)
          key = key * 4 + (mask >> axis & 1U ? 0 : normalizationAt[axis]);
        rows[key].push_back(x.data[i]);
      }
      List expected;
      for (const auto& [key, row] : rows) expected.push_back(c.function(row));
      const bool second = c.op == "ReduceSum";
      std::vector<Value> inputs{x};
      Attributes attributes;
      if (second) {
        inputs.push_back(constantInts(List(axes.begin(), axes.end())));
      } else {
        attributes["axes"] = axes;
      }
      const auto y = compute(c.op, inputs, attributes);
      ASSERT_TRUE(y.ok()) << y.error().message;
      expectNear((*y)[0], expected, 1e-14);
      EXPECT_EQ((*y)[0].shape.size(), 3U);
      attributes["keepdims"] = std::int64_t{0};
      EXPECT_EQ((*compute(c.op, inputs, attributes))[0].shape.size(), 3 - axes.size());
      GradientCheck(c.op, inputs, attributes).run();
    }
    GradientCheck(c.op, {x}, {}).run();
  }
}

TEST(Reductions, OfWholeNumbersAndSpecialValues) {
  const Value x = labels({2, 2}, {100, 100, -3, 4}, ElementType::int8);
  EXPECT_EQ((*compute("ReduceSum", {x, constantInts({1})}))[0].data, (List{-56, 1}));
  EXPECT_EQ((*compute("ReduceMax", {x}, {{"axes", Ints{1}}}))[0].data, (List{100, 4}));
  EXPECT_EQ((*compute("ReduceMin", {x}, {{"axes", Ints{0}}}))[0].data, (List{-3, 4}));
  EXPECT_EQ((*compute("ReduceL1", {x}, {{"axes", Ints{1}}}))[0].data, (List{-56, 7}));
  // A count beyond the largest number of the type.
  EXPECT_EQ((*compute("ReduceMean", {labels({256}, List(256, 0), ElementType::uint8)}))[0].data, (List{0}));
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const Value special{{3, 2}, {1, nan, -inf, -inf, inf, 1}};
  const auto max = (*compute("ReduceMax", {special}, {{"axes", Ints{1}}}))[0].data;
  EXPECT_TRUE(std::isnan(max[0]));
  EXPECT_EQ(max[1], -inf);
  const auto logs = (*compute("ReduceLogSumExp", {special}, {{"axes", Ints{1}}}))[0].data;
  EXPECT_TRUE(std::isnan(logs[0]));
  EXPECT_EQ(logs[1], -inf);
  EXPECT_EQ(logs[2], inf);
  GradientCheck("ReduceProd", {Value{{2, 3}, {0, 2, 3, 0, 0, 4}}}, {{"axes", Ints{1}}}).run();
  const Value ties{{3}, {2, 2, 1}}, one{{1}, {1}}, two{{1}, {2}};
  EXPECT_EQ((*compute("GradReduce", {ties, two, one},
                      {{"function", std::string("ReduceMax")}, {"axes", Ints{0}}}))[0]
                .data,
            (List{0.5, 0.5, 0}));
  // Each of two rows gets its gradient, a third of it for a mean of three.
  const Value row{{2, 1}, {3, 6}};
  EXPECT_EQ((*compute("SpreadReduced", {row}, {{"axes", Ints{1}}, {"shape", Ints{2, 3}}}))[0].data,
            (List{3, 3, 3, 6, 6, 6}));
  const auto mean =
      *compute("SpreadReduced", {row},
               {{"function", std::string("ReduceMean")}, {"axes", Ints{1}}, {"shape", Ints{2, 3}}});
  EXPECT_NEAR(mean[0].data[0], 1, 1e-12);
  EXPECT_NEAR(mean[0].data[5], 2, 1e-12);
  EXPECT_EQ(refusal("SpreadReduced", {row}, {{"axes", Ints{0}}, {"shape", Ints{2, 3}}}),
            "SpreadReduced node: input 0 is 2x1 float64; reducing gives 3 elements");
  EXPECT_EQ(refusal("GradReduce", {ties, two, noise({2}, 1)}, {{"axes", Ints{0}}}),
            "GradReduce node: input 2 is 2 float64; reducing 3 float64 gives 1 elements");
  EXPECT_EQ(refusal("ReduceMean", {ties}, {{"axes", Ints{1}}}),
            "ReduceMean node: axis 1 is not one of the 1 axes of 3 float64");
}

// --- Poolings ----------------------------------------------------------------------------------------------

struct AverageCase {
  std::string name;
  Ints input, kernel, stride, pads;
  std::int64_t ceil = 0, include = 0;
};

/// Pools one plane of up to two axes.
List averaged(const AverageCase& c, const double* plane, Shape* shape) {
  const bool two = c.input.size() == 2;
  const auto get = [&](const Ints& list, std::size_t axis, std::int64_t fallback) {
    if (!two && axis == 0) return fallback;
    return list.empty() ? fallback : list[two ? axis : 0];
  };
  std::int64_t in[2], k[2], s[2], begin[2], end[2], out[2];
  for (std::size_t a = 0; a < 2; ++a) {
    in[a] = get(c.input, a, 1);
    k[a] = get(c.kernel, a, 1);
    s[a] = get(c.stride, a, 1);
    const std::size_t axes = c.input.size();
    begin[a] = c.pads.empty() || (!two && a == 0) ? 0 : c.pads[two ? a : 0];
    end[a] = c.pads.empty() || (!two && a == 0) ? 0 : c.pads[axes + (two ? a : 0)];
    const std::int64_t room = in[a] + begin[a] + end[a] - k[a];
    out[a] = (room + (c.ceil ? s[a] - 1 : 0)) / s[a] + 1;
    if (c.ceil && (out[a] - 1) * s[a] >= in[a] + begin[a]) --out[a];
  }
  *shape = two ? Shape{out[0], out[1]} : Shape{out[1]};
  List y;
  for (std::int64_t i = 0; i < out[0]; ++i)
    for (std::int64_t j = 0; j < out[1]; ++j) {
      double sum = 0;
      int counted = 0;
      for (std::int64_t p = i * s[0] - begin[0]; p < i * s[0] - begin[0] + k[0]; ++p)
        for (std::int64_t q = j * s[1] - begin[1]; q < j * s[1] - begin[1] + k[1]; ++q) {
          const bool inside = p >= 0 && q >= 0 && p < in[0] && q < in[1];
          const bool padded = p < in[0] + end[0] && q < in[1] + end[1];
          counted += inside || (c.include && padded);
          if (inside) sum += plane[p * in[1] + q];
        }
      y.push_back(sum / counted);
    }
  return y;
}

TEST(AveragePoolOp, EqualsItsDefinition) {
  const AverageCase cases[] = {{"plain", {6, 7}, {3, 2}, {}, {}},
                               {"strided", {7, 8}, {3, 3}, {2, 3}, {}},
                               {"padded", {5, 5}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
                               {"padded_included", {5, 5}, {3, 3}, {2, 2}, {1, 1, 1, 1}, 0, 1},
                               {"ceil", {4, 5}, {3, 2}, {2, 2}, {}, 1, 0},
                               {"ceil_included", {6, 6}, {3, 3}, {2, 2}, {1, 0, 0, 1}, 1, 1},
                               {"one_axis", {9}, {3}, {2}, {1, 0}, 0, 1}};
  for (const AverageCase& c : cases) {
    Shape shape = c.input;
    shape.insert(shape.begin(), {2, 3});
    const Value x = noise(shape, 1);
    Attributes attributes{
        {"kernel_shape", c.kernel}, {"ceil_mode", c.ceil}, {"count_include_pad", c.include}};
    if (!c.stride.empty()) attributes["strides"] = c.stride;
    if (!c.pads.empty()) attributes["pads"] = c.pads;
    List expected;
    Shape out;
    for (std::int64_t p = 0; p < 6; ++p) {
      const List plane = averaged(c, x.data.data() + p * graph::elementCount(c.input), &out);
      expected.insert(expected.end(), plane.begin(), plane.end());
    }
    out.insert(out.begin(), {2, 3});
    const auto y = compute("AveragePool", {x}, attributes);
    ASSERT_TRUE(y.ok()) << c.name << y.error().message;
    EXPECT_EQ((*y)[0].shape, out) << c.name;
    expectNear((*y)[0], expected, 1e-14);
    GradientCheck("AveragePool", {x}, attributes).run();
  }
  EXPECT_EQ(refusal("AveragePool", {noise({1, 1, 4}, 1)}),
            "AveragePool node: attribute kernel_shape is missing");
  EXPECT_EQ(refusal("AveragePool", {noise({1, 1, 4}, 1)}, {{"kernel_shape", Ints{2}}, {"pads", Ints{2, 0}}}),
            "AveragePool node: on spatial axis 0 a window covers padding only (padding 2 + 0, kernel 2, "
            "input 4); give "
            "less padding");
}

TEST(GlobalPools, ReduceEveryPlane) {
  const Value x = noise({2, 3, 4, 5}, 1);
  List means, maxima, lengths, cubes;
  for (int p = 0; p < 6; ++p) {
    double sum = 0, most = -2, squares = 0, third = 0;
    for (int i = 0; i < 20; ++i) {
      const double v = x.data[static_cast<std::size_t>(p * 20 + i)];
      sum += v;
      most = std::max(most, v);
      squares += v * v;
      third += std::pow(std::abs(v), 3);
    }
    means.push_back(sum / 20);
    maxima.push_back(most);
    lengths.push_back(std::sqrt(squares));
    cubes.push_back(std::cbrt(third));
  }
  expectNear((*compute("GlobalAveragePool", {x}))[0], means, 1e-14);
  expectNear((*compute("GlobalMaxPool", {x}))[0], maxima, 0);
  expectNear((*compute("GlobalLpPool", {x}))[0], lengths, 1e-14);
  expectNear((*compute("GlobalLpPool", {x}, {{"p", std::int64_t{3}}}))[0], cubes, 1e-13);
  EXPECT_EQ((*compute("GlobalMaxPool", {x}))[0].shape, (Shape{2, 3, 1, 1}));
  for (const std::string op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) {
    GradientCheck(op, {noise({1, 2, 3, 2}, 4)}, {}).run();
    EXPECT_FALSE(refusal(op, {noise({2, 3}, 1)}).empty());
  }
}

TEST(LpPoolOp, EqualsItsDefinition) {
  const Value x = noise({1, 2, 6}, 1);
  List expected;
  for (std::size_t p = 0; p < 2; ++p)
    for (int o = 0; o < 4; ++o) {
      double sum = 0;
      for (int t = 0; t < 3; ++t) {
        const int i = o * 2 - 1 + t;
        if (i >= 0 && i < 6) sum += std::pow(std::abs(x.data[p * 6 + static_cast<std::size_t>(i)]), 3);
      }
      if (o < 3) expected.push_back(std::cbrt(sum));
    }
  const Attributes attributes{
      {"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"pads", Ints{1, 0}}, {"p", std::int64_t{3}}};
  expectNear((*compute("LpPool", {x}, attributes))[0], expected, 1e-13);
  GradientCheck("LpPool", {x}, attributes).run();
  GradientCheck("LpPool", {x}, {{"kernel_shape", Ints{2}}, {"p", std::int64_t{1}}}).run();
  EXPECT_EQ(refusal("LpPool", {x}, {{"kernel_shape", Ints{2}}, {"p", std::int64_t{0}}}),
            "LpPool node: p is 0; it must be 1 to 100");
  EXPECT_EQ(refusal("LpPool", {x}), "LpPool node: attribute kernel_shape is missing");
}

TEST(MaxPoolOfBytes, EqualsItsDefinition) {
  const Value x = labels({1, 1, 4}, {-3, 7, -128, 2}, ElementType::int8);
  EXPECT_EQ((*compute("MaxPool", {x}, {{"kernel_shape", Ints{2}}}))[0].data, (List{7, 7, 2}));
}

}  // namespace
}  // namespace pipescope::ops_test
