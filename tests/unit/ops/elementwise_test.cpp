// Elementwise operators, compared with the C library and with loops of their definitions.
#include <cmath>
#include <limits>

#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

constexpr double kElementwiseInfinity = std::numeric_limits<double>::infinity();

using Function = std::function<double(double)>;

Value spread(Shape shape, unsigned seed, double low, double high) {
  Value value = noise(std::move(shape), seed);
  for (double& x : value.data) x = low + (x + 1) / 2 * (high - low);
  return value;
}

struct UnaryCase {
  std::string op;
  double low, high;
  Function function;
  Attributes attributes;
  bool differentiable = true;

  friend void PrintTo(const UnaryCase& one, std::ostream* out) { *out << one.op; }
};

class Unary : public ::testing::TestWithParam<UnaryCase> {};

TEST_P(Unary, EqualsItsFormula) {
  const UnaryCase& c = GetParam();
  const Value x = spread({3, 37}, 4, c.low, c.high);
  std::vector<double> expected;
  for (const double each : x.data) expected.push_back(c.function(each));
  const std::pair<ElementType, double> tolerances[] = {{ElementType::float64, 1e-13},
                                                       {ElementType::float32, 2e-6},
                                                       {ElementType::float16, 2e-3},
                                                       {ElementType::bfloat16, 2e-2}};
  for (const auto& [type, tolerance] : tolerances) {
    std::vector<double> wanted = expected;
    if (type == ElementType::float16 || type == ElementType::bfloat16) {
      const Value seen = decode({type, x.shape}, encode(x, type));
      for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = c.function(seen.data[i]);
      // A jump may lie between a number and its rounding, so functions with jumps are left out here.
      if (!c.differentiable) continue;
    }
    const auto y = compute(c.op, {x}, c.attributes, 1, type);
    ASSERT_TRUE(y.ok()) << y.error().message;
    expectNear((*y)[0], wanted, tolerance);
  }
}

TEST_P(Unary, HasTheGradientsOfItsDifferences) {
  const UnaryCase& c = GetParam();
  if (c.differentiable) GradientCheck(c.op, {spread({2, 9}, 5, c.low, c.high)}, c.attributes).run();
}

TEST_P(Unary, KeepsNan) {
  for (const ElementType type : {ElementType::float64, ElementType::float32}) {
    const auto y = compute(GetParam().op, {Value{{9}, std::vector<double>(9, std::nan(""))}},
                           GetParam().attributes, 1, type);
    for (const double each : (*y)[0].data) EXPECT_TRUE(std::isnan(each));
  }
}

double gelu(double x) {
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}
double tanhGelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

INSTANTIATE_TEST_SUITE_P(
    Functions, Unary,
    testing::Values(
        UnaryCase{"Exp", -5, 5, [](double x) { return std::exp(x); }, {}},
        UnaryCase{"Log", 0.1, 20, [](double x) { return std::log(x); }, {}},
        UnaryCase{"Sqrt", 0.1, 20, [](double x) { return std::sqrt(x); }, {}},
        UnaryCase{"Reciprocal", 0.3, 5, [](double x) { return 1 / x; }, {}},
        UnaryCase{"Erf", -3, 3, [](double x) { return std::erf(x); }, {}},
        UnaryCase{"Tanh", -4, 4, [](double x) { return std::tanh(x); }, {}},
        UnaryCase{"Sigmoid", -6, 6, [](double x) { return 1 / (1 + std::exp(-x)); }, {}},
        UnaryCase{"Gelu", -4, 4, gelu, {}},
        UnaryCase{"Gelu", -4, 4, tanhGelu, {{"approximate", std::string("tanh")}}},
        UnaryCase{"Sin", -3, 3, [](double x) { return std::sin(x); }, {}},
        UnaryCase{"Cos", -3, 3, [](double x) { return std::cos(x); }, {}},
        UnaryCase{"Tan", -1, 1, [](double x) { return std::tan(x); }, {}},
        UnaryCase{"Asin", -0.8, 0.8, [](double x) { return std::asin(x); }, {}},
        UnaryCase{"Acos", -0.8, 0.8, [](double x) { return std::acos(x); }, {}},
        UnaryCase{"Atan", -3, 3, [](double x) { return std::atan(x); }, {}},
        UnaryCase{"Sinh", -2, 2, [](double x) { return std::sinh(x); }, {}},
        UnaryCase{"Cosh", -2, 2, [](double x) { return std::cosh(x); }, {}},
        UnaryCase{"Asinh", -2, 2, [](double x) { return std::asinh(x); }, {}},
        UnaryCase{"Acosh", 1.5, 5, [](double x) { return std::acosh(x); }, {}},
        UnaryCase{"Atanh", -0.8, 0.8, [](double x) { return std::atanh(x); }, {}},
        UnaryCase{"Abs", -2, 2, [](double x) { return std::abs(x); }, {}},
        UnaryCase{"Neg", -2, 2, [](double x) { return -x; }, {}},
        UnaryCase{"Sign", -2, 2, [](double x) { return x > 0   ? 1.0
                                                       : x < 0 ? -1.0
                                                               : x; }, {}, false},
        UnaryCase{"Floor", -4, 4, [](double x) { return std::floor(x); }, {}, false},
        UnaryCase{"Ceil", -4, 4, [](double x) { return std::ceil(x); }, {}, false},
        UnaryCase{"Round", -4, 4, [](double x) { return std::nearbyint(x); }, {}, false},
        UnaryCase{"LeakyRelu", -2, 2, [](double x) { return x < 0 ? 0.01 * x : x; }, {}},
        UnaryCase{"LeakyRelu", -2, 2, [](double x) { return x < 0 ? 0.3 * x : x; }, {{"alpha", 0.3}}},
        UnaryCase{"Elu", -2, 2, [](double x) { return x < 0 ? std::expm1(x) : x; }, {}},
        UnaryCase{"Elu", -2, 2, [](double x) { return x < 0 ? 2 * std::expm1(x) : x; }, {{"alpha", 2.0}}},
        UnaryCase{"Selu",
                  -2,
                  2,
                  [](double x) {
                    return 1.05070102214813232421875 *
                           (x > 0 ? x : 1.67326319217681884765625 * std::expm1(x));
                  },
                  {}},
        UnaryCase{"Selu",
                  -2,
                  2,
                  [](double x) { return 3 * (x > 0 ? x : 2 * std::expm1(x)); },
                  {{"alpha", 2.0}, {"gamma", 3.0}}},
        UnaryCase{"Celu",
                  -2,
                  2,
                  [](double x) { return std::max(x, 0.0) + std::min(0.0, 2 * std::expm1(x / 2)); },
                  {{"alpha", 2.0}}},
        UnaryCase{"HardSigmoid", -4, 4, [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }, {}},
        UnaryCase{"HardSigmoid",
                  -4,
                  4,
                  [](double x) { return std::clamp(0.4 * x + 0.6, 0.0, 1.0); },
                  {{"alpha", 0.4}, {"beta", 0.6}}},
        UnaryCase{"HardSwish", -5, 5, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }, {}},
        UnaryCase{"ThresholdedRelu", -2, 3, [](double x) { return x > 1 ? x : 0; }, {}, false},
        UnaryCase{
            "ThresholdedRelu", -2, 3, [](double x) { return x > 0.5 ? x : 0; }, {{"alpha", 0.5}}, false},
        UnaryCase{"Softplus", -5, 5, [](double x) { return std::log1p(std::exp(x)); }, {}},
        UnaryCase{"Softsign", -3, 3, [](double x) { return x / (1 + std::abs(x)); }, {}},
        UnaryCase{"Shrink",
                  -2,
                  2,
                  [](double x) { return x < -0.7  ? x + 0.2
                                        : x > 0.7 ? x - 0.2
                                                  : 0; },
                  {{"lambd", 0.7}, {"bias", 0.2}},
                  false}),
    [](const auto& each) { return each.param.op + std::to_string(each.index); });

TEST(UnaryOps, RefuseOtherTypes) {
  EXPECT_EQ(refusal("Exp", {labels({2}, {1, 2})}),
            "Exp node: cannot compute in int64; there are kernels for floating-point types");
  EXPECT_EQ(refusal("Gelu", {noise({2}, 1)}, {{"approximate", std::string("erf")}}),
            "Gelu node: approximate is erf; it must be none or tanh");
  EXPECT_EQ(refusal("GradExp", {noise({2}, 1), noise({3}, 1)}),
            "GradExp node: input 0 is 2 float64 and input 1 is 3 float64; they must be alike");
}

TEST(RoundOp, TiesGoToEven) {
  const std::vector<double> x{0.5, 1.5,     2.5,           -0.5, -1.5,
                              3.7, 8388609, -2147483648.0, 1e30, kElementwiseInfinity};
  for (const ElementType type : {ElementType::float64, ElementType::float32}) {
    const auto y = compute("Round", {Value{{10}, x}}, {}, 1, type);
    const std::vector<double> expected{0,
                                       2,
                                       2,
                                       -0.0,
                                       -2,
                                       4,
                                       8388609,
                                       -2147483648.0,
                                       type == ElementType::float32 ? static_cast<double>(1e30F) : 1e30,
                                       kElementwiseInfinity};
    EXPECT_EQ((*y)[0].data, expected);
    EXPECT_TRUE(std::signbit((*y)[0].data[3]));
  }
}

TEST(SoftplusOp, DoesNotOverflow) {
  const auto y =
      compute("Softplus", {Value{{4}, {1000, -1000, kElementwiseInfinity, -kElementwiseInfinity}}});
  EXPECT_EQ((*y)[0].data, (std::vector<double>{1000, 0, kElementwiseInfinity, 0}));
}

// --- Broadcasting ------------------------------------------------------------------------------------

/// The element of an operand for a flat index of the result.
double under(const Value& value, const Shape& result, std::int64_t flat) {
  std::int64_t at = 0, step = 1;
  for (std::size_t back = 0; back < result.size(); ++back) {
    const std::int64_t index = flat % result[result.size() - 1 - back];
    flat /= result[result.size() - 1 - back];
    if (back >= value.shape.size()) continue;
    const std::int64_t extent = value.shape[value.shape.size() - 1 - back];
    at += (extent == 1 ? 0 : index) * step;
    step *= extent;
  }
  return value.data[static_cast<std::size_t>(at)];
}

struct PairCase {
  Shape a, b, result;
};
const PairCase kPairs[] = {{{4, 5}, {4, 5}, {4, 5}},
                           {{4, 5}, {5}, {4, 5}},
                           {{5}, {4, 5}, {4, 5}},
                           {{4, 5}, {4, 1}, {4, 5}},
                           {{4, 1}, {4, 5}, {4, 5}},
                           {{4, 5}, {}, {4, 5}},
                           {{}, {4, 5}, {4, 5}},
                           {{}, {}, {}},
                           {{1, 1}, {1}, {1, 1}},
                           {{2, 3, 1, 5}, {3, 4, 1}, {2, 3, 4, 5}},
                           {{2, 1, 4, 5}, {1, 3, 1, 1}, {2, 3, 4, 5}},
                           {{2, 3, 4, 5}, {1, 3, 1, 1}, {2, 3, 4, 5}},
                           {{3, 1}, {1, 4}, {3, 4}}};

using Pair = std::function<double(double, double)>;

std::vector<double> applied(const Value& a, const Value& b, const Shape& result, const Pair& f) {
  std::vector<double> y;
  for (std::int64_t i = 0; i < graph::elementCount(result); ++i)
    y.push_back(f(under(a, result, i), under(b, result, i)));
  return y;
}

TEST(Arithmetic, BroadcastsAsNumpy) {
  const std::pair<std::string, Pair> operators[] = {
      {"Add", [](double x, double y) { return x + y; }},
      {"Sub", [](double x, double y) { return x - y; }},
      {"Mul", [](double x, double y) { return x * y; }},
      {"Div", [](double x, double y) { return x / y; }},
      {"Pow", [](double x, double y) { return std::pow(x, y); }},
      {"Max", [](double x, double y) { return std::max(x, y); }},
      {"Min", [](double x, double y) { return std::min(x, y); }},
      {"Mean", [](double x, double y) { return (x + y) / 2; }}};
  for (const auto& [op, f] : operators) {
    for (const PairCase& c : kPairs) {
      const Value a = spread(c.a, 1, 0.3, 2), b = spread(c.b, 2, 0.4, 2);
      const auto y = compute(op, {a, b});
      ASSERT_TRUE(y.ok()) << y.error().message;
      EXPECT_EQ((*y)[0].shape, c.result) << op;
      expectNear((*y)[0], applied(a, b, c.result, f), 1e-15);
      GradientCheck(op, {a, b}, {}).run(2e-7);
    }
  }
}

TEST(Arithmetic, WholeNumbersBroadcastAsNumpy) {
  const auto whole = [](const Shape& shape, double first) {
    std::vector<double> data;
    for (std::int64_t i = 0; i < graph::elementCount(shape); ++i)
      data.push_back(first + 3 * static_cast<double>(i));
    return labels(shape, std::move(data), ElementType::int32);
  };
  const std::pair<std::string, Pair> operators[] = {
      {"Add", [](double x, double y) { return x + y; }},
      {"Sub", [](double x, double y) { return x - y; }},
      {"Div", [](double x, double y) { return std::trunc(x / y); }},
      {"Max", [](double x, double y) { return std::max(x, y); }},
      {"Less", [](double x, double y) { return x < y ? 1.0 : 0.0; }},
      {"Equal", [](double x, double y) { return x == y ? 1.0 : 0.0; }}};
  for (const auto& [op, f] : operators) {
    for (const PairCase& c : kPairs) {
      const Value a = whole(c.a, -20), b = whole(c.b, -2);
      const auto y = compute(op, {a, b});
      ASSERT_TRUE(y.ok()) << y.error().message;
      EXPECT_EQ((*y)[0].shape, c.result) << op;
      EXPECT_EQ((*y)[0].data, applied(a, b, c.result, f)) << op;
    }
  }
}

TEST(Arithmetic, RefusesShapesThatDoNotSpread) {
  EXPECT_EQ(refusal("Add", {noise({2, 3}, 1), noise({2}, 1)}),
            "Add node: input 1 is 2 float64, which does not spread over 3 of the inputs before it on axis 1");
  EXPECT_EQ(refusal("Add", {noise({2}, 1), labels({2}, {1, 2})}),
            "Add node: input 0 is float64 and input 1 is int64; give both one element type");
  EXPECT_EQ(refusal("Add", {noise(Shape(33, 1), 1), noise({1}, 1)}),
            "Add node: input 0 has 33 axes; it may have 32");
  EXPECT_EQ(refusal("Add", {labels({1}, {1}, ElementType::boolean), labels({1}, {1}, ElementType::boolean)}),
            "Add node: cannot compute in bool; there are kernels for numbers");
}

TEST(Arithmetic, WholeNumbersWrapAndDivideTowardsZero) {
  const auto whole = [](std::vector<double> data, ElementType type) {
    const auto n = static_cast<std::int64_t>(data.size());
    return labels({n}, std::move(data), type);
  };
  const auto run = [&](const std::string& op, std::vector<double> a, std::vector<double> b,
                       ElementType type) {
    const auto y = compute(op, {whole(std::move(a), type), whole(std::move(b), type)});
    EXPECT_TRUE(y.ok()) << y.error().message;
    return y.ok() ? (*y)[0].data : std::vector<double>();
  };
  using List = std::vector<double>;
  EXPECT_EQ(run("Add", {200, 1}, {100, 2}, ElementType::uint8), (List{44, 3}));
  EXPECT_EQ(run("Sub", {1, 5}, {2, 3}, ElementType::uint16), (List{65535, 2}));
  EXPECT_EQ(run("Mul", {65535, -3}, {65535, 7}, ElementType::int32), (List{-131071, -21}));
  EXPECT_EQ(run("Add", {2147483647}, {1}, ElementType::int32), (List{-2147483648.0}));
  EXPECT_EQ(run("Div", {-7, 7, -128}, {2, -2, -1}, ElementType::int8), (List{-3, -3, -128}));
  EXPECT_EQ(run("Mod", {-7, 7, -7, 7, -128}, {3, -3, -3, 3, -1}, ElementType::int8), (List{2, -2, -1, 1, 0}));
  EXPECT_EQ(run("Max", {1, -5}, {-1, 3}, ElementType::int16), (List{1, 3}));
  EXPECT_EQ(run("Pow", {2, -3, 5}, {10, 3, 0}, ElementType::int64), (List{1024, -27, 1}));
  EXPECT_EQ(refusal("Div", {whole({1}, ElementType::int32), whole({0}, ElementType::int32)}),
            "Div node: a whole number is divided by zero");
  EXPECT_EQ(refusal("Mod", {whole({1}, ElementType::int32), whole({0}, ElementType::int32)}),
            "Mod node: a whole number is divided by zero");
}

TEST(ModOp, OfRealNumbersFollowsTheDividend) {
  const auto y = compute("Mod", {Value{{4}, {-4.3, 7.2, 5, 8}}, Value{{4}, {2.1, -3.4, 8, -3}}},
                         {{"fmod", std::int64_t{1}}});
  expectNear((*y)[0], {std::fmod(-4.3, 2.1), std::fmod(7.2, -3.4), 5, 2}, 1e-15);
  EXPECT_EQ(refusal("Mod", {noise({1}, 1), noise({1}, 1)}),
            "Mod node: its inputs are 1 float64; floating-point numbers need fmod 1");
}

TEST(PowOp, TakesExponentsOfOtherTypes) {
  const auto whole = compute("Pow", {labels({3}, {1, 2, 3}, ElementType::int32), Value{{3}, {4, 0.5, 2}}});
  EXPECT_EQ((*whole)[0].data, (std::vector<double>{1, 1, 9}));
  const auto real = compute("Pow", {Value{{3}, {1.5, 2, 4}}, labels({1}, {3}, ElementType::uint8)}, {}, 1,
                            ElementType::float32);
  EXPECT_EQ((*real)[0].data, (std::vector<double>{3.375, 8, 64}));
  for (const double exponent : {2.0, 3.0, 0.5, 1.0, -1.0, 0.0, 1.7, -2.0}) {
    const Value x = spread({5}, 3, 0.2, 3);
    const auto y = compute("Pow", {x, Value{{}, {exponent}}});
    std::vector<double> expected;
    for (const double each : x.data) expected.push_back(std::pow(each, exponent));
    expectNear((*y)[0], expected, 1e-15);
    GradientCheck("Pow", {x, Value{{}, {exponent}}}, {}).run(2e-7);
  }
  const auto edge = compute("Pow", {Value{{2}, {-kElementwiseInfinity, -0.0}}, Value{{}, {0.5}}});
  EXPECT_EQ((*edge)[0].data, (std::vector<double>{kElementwiseInfinity, 0}));
  EXPECT_EQ(refusal("Pow", {labels({1}, {1}, ElementType::uint8), noise({1}, 1)}),
            "Pow node: cannot compute in uint8; there are kernels for int32, int64 and floating-point types");
}

TEST(VariadicOps, TakeManyInputsAndShareTies) {
  const Value a = noise({2, 3}, 1), b = noise({3}, 2), c = noise({2, 1}, 3);
  for (const std::string op : {"Sum", "Mean", "Max", "Min"}) GradientCheck(op, {a, b, c}, {}).run();
  GradientCheck("Max", {a}, {}).run();
  GradientCheck("Mean", {a}, {}).run();
  const auto nan = compute("Max", {Value{{2}, {std::nan(""), 1}}, Value{{2}, {1, std::nan("")}}});
  EXPECT_TRUE(std::isnan((*nan)[0].data[0]) && std::isnan((*nan)[0].data[1]));
  const Value y{{2}, {3, 2}}, dy{{2}, {1, 1}}, first{{2}, {3, 2}}, second{{2}, {3, 1}};
  const auto shared = compute("GradExtremum", {y, dy, first, second}, {{"index", std::int64_t{0}}});
  EXPECT_EQ((*shared)[0].data, (std::vector<double>{0.5, 1}));
  EXPECT_EQ(refusal("GradExtremum", {y, dy, first}, {{"index", std::int64_t{1}}}),
            "GradExtremum node: index 1 is not one of its 1 inputs");
  EXPECT_EQ(refusal("GradExtremum", {y, dy, noise({2, 2}, 1)}, {{"index", std::int64_t{0}}}),
            "GradExtremum node: its inputs do not spread over 2 float64");
}

TEST(Comparisons, GiveBools) {
  const Value a{{5}, {1, 2, 3, std::nan(""), -0.0}}, b{{5}, {2, 2, 2, 1, 0}};
  const auto bools = [&](const std::string& op) {
    const auto y = compute(op, {a, b});
    EXPECT_EQ((*y)[0].element, ElementType::boolean);
    return (*y)[0].data;
  };
  using List = std::vector<double>;
  EXPECT_EQ(bools("Equal"), (List{0, 1, 0, 0, 1}));
  EXPECT_EQ(bools("Less"), (List{1, 0, 0, 0, 0}));
  EXPECT_EQ(bools("LessOrEqual"), (List{1, 1, 0, 0, 1}));
  EXPECT_EQ(bools("Greater"), (List{0, 0, 1, 0, 0}));
  EXPECT_EQ(bools("GreaterOrEqual"), (List{0, 1, 1, 0, 1}));
  const auto spreadOut = compute("Greater", {labels({2, 1}, {5, 200}, ElementType::uint8),
                                             labels({3}, {4, 5, 201}, ElementType::uint8)});
  EXPECT_EQ((*spreadOut)[0].data, (List{1, 0, 0, 1, 1, 0}));
  const auto truth = compute(
      "Equal", {labels({2}, {1, 0}, ElementType::boolean), labels({2}, {1, 1}, ElementType::boolean)});
  EXPECT_EQ((*truth)[0].data, (List{1, 0}));
  const Value special{{4}, {kElementwiseInfinity, -kElementwiseInfinity, std::nan(""), 1}};
  EXPECT_EQ((*compute("IsNaN", {special}))[0].data, (List{0, 0, 1, 0}));
  EXPECT_EQ((*compute("IsInf", {special}))[0].data, (List{1, 1, 0, 0}));
  EXPECT_EQ((*compute("IsInf", {special}, {{"detect_negative", std::int64_t{0}}}))[0].data,
            (List{1, 0, 0, 0}));
  EXPECT_EQ((*compute("IsInf", {special}, {{"detect_positive", std::int64_t{0}}}))[0].data,
            (List{0, 1, 0, 0}));
  EXPECT_EQ(refusal("IsNaN", {labels({1}, {1})}),
            "IsNaN node: cannot compute in int64; there are kernels for floating-point types");
}

TEST(Logic, CombinesBoolsAndShiftsBits) {
  const auto flags = [](std::vector<double> data) {
    return labels({4}, std::move(data), ElementType::boolean);
  };
  const Value a = flags({0, 0, 1, 1}), b = flags({0, 1, 0, 1});
  using List = std::vector<double>;
  EXPECT_EQ((*compute("And", {a, b}))[0].data, (List{0, 0, 0, 1}));
  EXPECT_EQ((*compute("Or", {a, b}))[0].data, (List{0, 1, 1, 1}));
  EXPECT_EQ((*compute("Xor", {a, b}))[0].data, (List{0, 1, 1, 0}));
  EXPECT_EQ((*compute("Not", {a}))[0].data, (List{1, 1, 0, 0}));
  EXPECT_EQ(refusal("Neg", {labels({2}, {1, 2}, ElementType::uint16)}),
            "Neg node: its input is uint16; numbers without a sign have no negative");
  EXPECT_EQ(refusal("And", {noise({1}, 1), noise({1}, 1)}),
            "And node: cannot compute in float64; there are kernels for bool");
  EXPECT_EQ(refusal("Not", {noise({1}, 1)}),
            "Not node: cannot compute in float64; there are kernels for bool");
  const Value bits = labels({3}, {16, 129, 1}, ElementType::uint8),
              by = labels({3}, {1, 1, 8}, ElementType::uint8);
  EXPECT_EQ((*compute("BitShift", {bits, by}, {{"direction", std::string("LEFT")}}))[0].data,
            (List{32, 2, 0}));
  EXPECT_EQ((*compute("BitShift", {bits, by}, {{"direction", std::string("RIGHT")}}))[0].data,
            (List{8, 64, 0}));
  EXPECT_EQ(refusal("BitShift", {bits, by}), "BitShift node: direction is ''; it must be LEFT or RIGHT");
  EXPECT_EQ(refusal("BitShift", {labels({1}, {1}), labels({1}, {1})}, {{"direction", std::string("LEFT")}}),
            "BitShift node: cannot compute in int64; there are kernels for unsigned whole numbers");
}

TEST(WhereOp, ChoosesByConditionAndSpreads) {
  const Value condition = labels({2, 1}, {1, 0}, ElementType::boolean);
  const Value a = noise({3}, 1), b = noise({1, 1}, 2);
  const auto y = compute("Where", {condition, a, b});
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_EQ((*y)[0].shape, (Shape{2, 3}));
  EXPECT_EQ((*y)[0].data,
            (std::vector<double>{a.data[0], a.data[1], a.data[2], b.data[0], b.data[0], b.data[0]}));
  GradientCheck("Where", {condition, a, b}, {}).run();
  EXPECT_EQ(refusal("Where", {noise({2}, 1), a, b}),
            "Where node: its condition is 2 float64; it must be bool");
  EXPECT_EQ(refusal("GradWhere", {labels({2}, {1, 1}, ElementType::boolean), noise({1}, 1)}),
            "GradWhere node: its condition 2 bool does not spread over 1 float64");
}

TEST(ClipOp, LimitsAndKeepsNan) {
  const Value x{{5}, {-3, 0.5, 9, std::nan(""), 2}};
  const Value low{{}, {-1}}, high{{}, {2}};
  const auto y = compute("Clip", {x, low, high});
  EXPECT_EQ((*y)[0].data[0], -1);
  EXPECT_EQ((*y)[0].data[2], 2);
  EXPECT_TRUE(std::isnan((*y)[0].data[3]));
  EXPECT_EQ((*compute("Clip", {x, absent(), high}))[0].data[0], -3);
  EXPECT_EQ(
      (*compute("Clip", {labels({2}, {5, -7}, ElementType::int8), labels({}, {-2}, ElementType::int8)}))[0]
          .data,
      (std::vector<double>{5, -2}));
  const Value constLow{{}, {-0.5}, ElementType::float64, Value::Role::constant},
      constHigh{{}, {0.4}, ElementType::float64, Value::Role::constant};
  GradientCheck("Clip", {noise({20}, 3), constLow, constHigh}, {}).run();
  GradientCheck("Clip", {noise({20}, 3), absent(), constHigh}, {}).run();
  EXPECT_EQ(refusal("Clip", {x, noise({2}, 1)}),
            "Clip node: its limit (input 1) is 2 float64; it must be one float64");
}

TEST(PReluOp, SpreadsItsSlope) {
  const Value x = noise({2, 3, 4}, 1), slope = noise({3, 1}, 2);
  const auto y = compute("PRelu", {x, slope});
  expectNear((*y)[0], applied(x, slope, x.shape, [](double v, double s) { return v < 0 ? s * v : v; }),
             1e-15);
  GradientCheck("PRelu", {x, slope}, {}).run();
  EXPECT_EQ(refusal("PRelu", {noise({3}, 1), noise({2, 3}, 1)}),
            "PRelu node: its slope is 2x3 float64; it must spread over 3 float64");
}

TEST(CumSumOp, RunsAlongItsAxis) {
  const Value x{{2, 3}, {1, 2, 3, 4, 5, 6}};
  const auto run = [&](double axis, Attributes attributes) {
    return (*compute("CumSum", {x, labels({}, {axis}, ElementType::int32)}, attributes))[0].data;
  };
  using List = std::vector<double>;
  EXPECT_EQ(run(1, {}), (List{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(run(-2, {}), (List{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(run(1, {{"exclusive", std::int64_t{1}}}), (List{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(run(1, {{"reverse", std::int64_t{1}}}), (List{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(run(1, {{"exclusive", std::int64_t{1}}, {"reverse", std::int64_t{1}}}),
            (List{5, 3, 0, 11, 6, 0}));
  for (const std::int64_t exclusive : {0, 1})
    for (const std::int64_t reverse : {0, 1})
      GradientCheck("CumSum", {noise({2, 3}, 1), constantInts({1})},
                    {{"exclusive", exclusive}, {"reverse", reverse}})
          .run();
  EXPECT_EQ(refusal("CumSum", {x, labels({}, {2})}),
            "CumSum node: axis 2 is not one of the 2 axes of its input");
  EXPECT_EQ(refusal("CumSum", {x, noise({}, 1)}),
            "CumSum node: its axis (input 1) is float64; it must be one int32 or int64");
}

TEST(ArgOps, FindTheFirstOrLastExtremum) {
  const Value x{{2, 4}, {1, 5, 5, 2, 0, -1, -1, std::nan("")}};
  const auto run = [&](const std::string& op, Attributes attributes) {
    return (*compute(op, {x}, attributes))[0].data;
  };
  using List = std::vector<double>;
  EXPECT_EQ(run("ArgMax", {{"axis", std::int64_t{1}}}), (List{1, 3}));
  EXPECT_EQ(run("ArgMax", {{"axis", std::int64_t{1}}, {"select_last_index", std::int64_t{1}}}), (List{2, 3}));
  EXPECT_EQ(run("ArgMin", {}), (List{1, 1, 1, 1}));
  const auto flat = compute("ArgMax", {x}, {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}});
  EXPECT_EQ((*flat)[0].shape, (Shape{2}));
}

TEST(CastOp, ConvertsBetweenAllTypes) {
  const auto to = [](const Value& x, std::int64_t type) {
    return (*compute("Cast", {x}, {{"to", type}}))[0];
  };
  using List = std::vector<double>;
  const Value x{{6}, {-1.7, 2.9, 300, std::nan(""), kElementwiseInfinity, 0}};
  EXPECT_EQ(to(x, 6).data, (List{-1, 2, 300, 0, 2147483647, 0}));
  EXPECT_EQ(to(x, 2).data, (List{0, 2, 255, 0, 255, 0}));
  EXPECT_EQ(to(x, 9).data, (List{1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(to(labels({3}, {257, -1, 128}), 3).data, (List{1, -1, -128}));
  EXPECT_EQ(to(labels({2}, {1, 0}, ElementType::boolean), 1).data, (List{1, 0}));
  // Rounded once: 1 + 2⁻¹¹ + 2⁻⁴⁰ lies above the tie between 1 and 1 + 2⁻¹⁰, but its float32 is the tie.
  EXPECT_EQ(to(Value{{1}, {1 + 0x1p-11 + 0x1p-40}}, 10).data, (List{1 + 0x1p-10}));
  EXPECT_EQ(to(Value{{1}, {1 + 0x1p-8 + 0x1p-40}}, 16).data, (List{1 + 0x1p-7}));
  EXPECT_EQ((*compute("CastLike", {x, labels({1}, {0}, ElementType::int16)}))[0].element, ElementType::int16);
  GradientCheck("Cast", {noise({5}, 1)}, {{"to", std::int64_t{11}}}).run();
  EXPECT_EQ(refusal("Cast", {x}, {{"to", std::int64_t{8}}}),
            "Cast node: cannot cast to ONNX's data type 8 (string); it must be a number or bool");
  EXPECT_EQ(refusal("Cast", {x}),
            "Cast node: cannot cast to ONNX's data type 0; it must be a number or bool");
}

TEST(DropoutOp, ReplaysItsMaskAndScales) {
  const Value x = spread({1000}, 1, 1, 2);
  const Value ratio{{}, {0.25}};
  const Value on = labels({}, {1}, ElementType::boolean), off = labels({}, {0}, ElementType::boolean);
  const auto y = compute("Dropout", {x, ratio, on}, {}, 2);
  ASSERT_TRUE(y.ok()) << y.error().message;
  int kept = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const bool stays = (*y)[1].data[i] != 0;
    kept += stays;
    EXPECT_NEAR((*y)[0].data[i], stays ? x.data[i] / 0.75 : 0, 1e-12);
  }
  EXPECT_NEAR(kept / 1000.0, 0.75, 0.05);
  EXPECT_EQ((*compute("Dropout", {x, ratio, on}))[0].data, (*y)[0].data);
  EXPECT_NE((*compute("Dropout", {x, ratio, on}, {{"seed", std::int64_t{5}}}))[0].data, (*y)[0].data);
  EXPECT_EQ((*compute("GradDropout", {x, ratio, on}, {{"sequence", std::string("node")}}))[0].data,
            (*y)[0].data);
  EXPECT_EQ((*compute("Dropout", {x, ratio, off}))[0].data, x.data);
  EXPECT_EQ((*compute("Dropout", {x}))[0].data, x.data);
  EXPECT_EQ((*compute("Dropout", {x, Value{{}, {0.0}}, on}, {}, 2))[1].data, std::vector<double>(1000, 1));
  const Value constant{{}, {0.5}, ElementType::float64, Value::Role::constant};
  GradientCheck("Dropout", {noise({20}, 3), constant, on}, {}).run();
  EXPECT_EQ(refusal("Dropout", {x, Value{{}, {1.0}}, on}),
            "Dropout node: its ratio is 1; it must be 0 or more and less than 1");
  EXPECT_EQ(refusal("Dropout", {x, labels({}, {1})}),
            "Dropout node: its ratio is int64; it must be one floating-point number");
  EXPECT_EQ(refusal("Dropout", {x, ratio, labels({}, {1})}),
            "Dropout node: its training mode is int64; it must be one bool");
}

}  // namespace
}  // namespace pipescope::ops_test
