// The float8 types: all 256 patterns against a table, rounding against a search through that table, Cast,
// Float8Cast and products.
#include "engine/ops/core/float8.h"

#include <cmath>

#include "cast_graph.h"
#include "float8_values.h"
#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

struct Float8Type {
  ElementType type;
  const std::array<double, 128>* positive;
  bool negativeZero;
};

const Float8Type kFloat8Rows[] = {{ElementType::float8_143, &kFloat8_143, true},
                                  {ElementType::float8_143fn, &kFloat8_143fn, true},
                                  {ElementType::float8_143fnuz, &kFloat8_143fnuz, false},
                                  {ElementType::float8_152, &kFloat8_152, true},
                                  {ElementType::float8_152fnuz, &kFloat8_152fnuz, false}};

double tableValue(const Float8Type& row, unsigned bits) {
  if (bits == 0x80U) return row.negativeZero ? -0.0 : kNan;
  const double magnitude = (*row.positive)[bits & 0x7FU];
  return bits > 0x7FU ? -magnitude : magnitude;
}

/// The finite pattern that lies nearest; of two that lie equally near, the even one.
unsigned nearestPattern(const Float8Type& row, double value) {
  unsigned best = 0;
  for (unsigned bits = 1; bits < 128; ++bits) {
    const double there = (*row.positive)[bits], distance = std::fabs(there - std::fabs(value)),
                 least = std::fabs((*row.positive)[best] - std::fabs(value));
    if (!std::isfinite(there)) continue;
    if (distance < least || (distance == least && bits % 2 == 0)) best = bits;
  }
  if (best == 0 && !row.negativeZero) return 0;
  return best | (std::signbit(value) ? 0x80U : 0U);
}

TEST(Float8, EveryPatternHasTheNumberOfTheTable) {
  for (const Float8Type& row : kFloat8Rows) {
    for (unsigned bits = 0; bits < 256; ++bits) {
      const double expected = tableValue(row, bits);
      const auto actual = static_cast<double>(ops::widenedFloat8(row.type, static_cast<std::uint8_t>(bits)));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(actual)) << toString(row.type) << ' ' << bits;
        continue;
      }
      ASSERT_EQ(actual, expected) << toString(row.type) << ' ' << bits;
      ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << toString(row.type) << ' ' << bits;
      ASSERT_EQ(ops::narrowedToFloat8(row.type, static_cast<float>(expected), false), bits)
          << toString(row.type);
    }
  }
}

TEST(Float8, RoundsEveryFloat16ToTheNearestPattern) {
  for (const Float8Type& row : kFloat8Rows) {
    const auto largest = static_cast<double>(ops::float8Definition(row.type).largest);
    for (unsigned bits = 0; bits < 65536; ++bits) {
      const float value = ops::widened(ops::Float16{static_cast<std::uint16_t>(bits)});
      if (!std::isfinite(value)) continue;
      const double wide = std::clamp(static_cast<double>(value), -largest, largest);
      ASSERT_EQ(ops::narrowedToFloat8(row.type, value), nearestPattern(row, wide))
          << toString(row.type) << ' ' << value;
    }
  }
}

TEST(Float8, TakesWhatIsTooLargeToTheLargestNumberOrBeyond) {
  const struct {
    ElementType type;
    unsigned largest, beyond;
    float lastThatFits, firstBeyond;  // half the distance to the number that would follow the largest
  } cases[] = {{ElementType::float8_143, 0x77, 0x78, 247, 248},
               {ElementType::float8_143fn, 0x7E, 0x7F, 464, 465},
               {ElementType::float8_143fnuz, 0x7F, 0x80, 247, 248},
               {ElementType::float8_152, 0x7B, 0x7C, 61439, 61440},
               {ElementType::float8_152fnuz, 0x7F, 0x80, 61439, 61440}};
  for (const auto& c : cases) {
    const unsigned sign = c.beyond == 0x80 ? 0 : 0x80;  // the only NaN has no sign
    for (const float large : {c.firstBeyond, 1e30F, INFINITY}) {
      EXPECT_EQ(ops::narrowedToFloat8(c.type, large), c.largest) << toString(c.type) << ' ' << large;
      EXPECT_EQ(ops::narrowedToFloat8(c.type, -large), c.largest | 0x80U) << toString(c.type);
      EXPECT_EQ(ops::narrowedToFloat8(c.type, large, false), c.beyond) << toString(c.type) << ' ' << large;
      EXPECT_EQ(ops::narrowedToFloat8(c.type, -large, false), c.beyond | sign) << toString(c.type);
    }
    EXPECT_EQ(ops::narrowedToFloat8(c.type, c.lastThatFits, false), c.largest) << toString(c.type);
    EXPECT_TRUE(std::isnan(ops::widenedFloat8(c.type, ops::narrowedToFloat8(c.type, NAN))))
        << toString(c.type);
  }
}

TEST(Float8, FindsTheTypeOfADefinition) {
  EXPECT_EQ(ops::float8TypeOf(3, 7, 240), ElementType::float8_143);
  EXPECT_EQ(ops::float8TypeOf(3, 7, 448), ElementType::float8_143fn);
  EXPECT_EQ(ops::float8TypeOf(3, 8, 240), ElementType::float8_143fnuz);
  EXPECT_EQ(ops::float8TypeOf(2, 15, 57344), ElementType::float8_152);
  EXPECT_EQ(ops::float8TypeOf(2, 16, 57344), ElementType::float8_152fnuz);
  EXPECT_FALSE(ops::float8TypeOf(3, 8, 448));
  EXPECT_FALSE(ops::float8TypeOf(2, 7, 240));
}

/// Casts to a float8 type of ONNX and back.
std::vector<double> thereAndBack(const std::vector<double>& values, std::int64_t onnx, ElementType from,
                                 bool saturate) {
  graph::Graph graph;
  Value value{{static_cast<std::int64_t>(values.size())}, values, from};
  const auto x = graph.addTensor("x", {from, value.shape}, graph::TensorRole::input);
  graph.inputs = {x};
  const auto append = [&](const std::string& name, graph::TensorId input, const Attributes& attributes) {
    graph::Node node;
    node.op = "Cast";
    node.name = name;
    node.inputs = {input};
    node.attributes = attributes;
    return (*ops::appendNode(graph, node, {name + "/out"}, graph::TensorRole::activation,
                             ops::standardOperators()))[0];
  };
  const auto narrow = append("narrow", x, {{"to", onnx}, {"saturate", std::int64_t{saturate}}});
  graph.outputs = {append("wide", narrow, {{"to", std::int64_t{11}}})};
  const auto program = *numerics::GraphProgram::create(graph, ops::standardOperators());
  numerics::Workspace workspace = program.makeWorkspace();
  const std::vector<std::byte> bytes = encode(value, from);
  const std::vector<std::span<const std::byte>> spans{bytes};
  const numerics::Bindings bindings{spans, {}, {}, {}};
  EXPECT_TRUE(program.run(bindings, workspace).ok());
  return decode(graph.tensor(graph.outputs[0]).type, program.output(workspace, bindings, 0)).data;
}

TEST(Float8, CastTakesOnnxsTypes) {
  // ONNX's numbers of FLOAT8E4M3FN, E4M3FNUZ, E5M2 and E5M2FNUZ. 17.5 lies between 16 and 18 (or 16 and 20).
  EXPECT_EQ(thereAndBack({17.5, -0.3, 1000}, 17, ElementType::float32, true),
            (std::vector<double>{18, -0.3125, 448}));
  EXPECT_EQ(thereAndBack({17.5, -0.3, 1000}, 18, ElementType::float16, true),
            (std::vector<double>{18, -0.3125, 240}));
  EXPECT_EQ(thereAndBack({17.5, -0.3, 1e6}, 19, ElementType::float64, true),
            (std::vector<double>{16, -0.3125, 57344}));
  EXPECT_EQ(thereAndBack({17.5, -0.3, 1e6}, 20, ElementType::float64, true),
            (std::vector<double>{16, -0.3125, 57344}));
  EXPECT_EQ(thereAndBack({1e6}, 19, ElementType::float32, false), (std::vector<double>{INFINITY}));
  EXPECT_TRUE(std::isnan(thereAndBack({1000}, 17, ElementType::float32, false)[0]));
  // A double just above the middle between 16 and 18 must not be rounded twice.
  EXPECT_EQ(thereAndBack({std::nextafter(17.0, 18.0)}, 17, ElementType::float64, true),
            (std::vector<double>{18}));
  EXPECT_EQ(thereAndBack({17, 19, 449}, 17, ElementType::int64, true), (std::vector<double>{16, 20, 448}));
}

TEST(Float8, OtherOperatorsRefuseIt) {
  const Value x{{2}, {1, 2}, ElementType::float8_143fn};
  EXPECT_EQ(refusal("Relu", {x}),
            "Relu node: cannot compute in float8_143fn; there are kernels for floating-point types, so cast "
            "it to float16, bfloat16 or float32");
}

/// The patterns that Float8Cast makes, and the exponent of its scale.
std::pair<std::vector<std::uint8_t>, int> float8Cast(const std::vector<double>& values,
                                                     const Attributes& attributes) {
  const Value x{{static_cast<std::int64_t>(values.size())}, values, ElementType::float32};
  const std::size_t outputs = attributes.contains("scale") ? 1 : 2;
  const OneNode one = *oneNode("Float8Cast", {x}, attributes, outputs, ElementType::float32);
  const auto program = *numerics::GraphProgram::create(one.graph, ops::standardOperators());
  numerics::Workspace workspace = program.makeWorkspace();
  const std::vector<std::span<const std::byte>> spans(one.bytes.begin(), one.bytes.end());
  const numerics::Bindings bindings{spans, {}, {}, {}};
  EXPECT_TRUE(program.run(bindings, workspace).ok());
  std::vector<std::uint8_t> bits;
  for (const std::byte byte : program.output(workspace, bindings, 0))
    bits.push_back(static_cast<std::uint8_t>(byte));
  std::int32_t scale = 0;
  if (outputs == 2) std::memcpy(&scale, program.output(workspace, bindings, 1).data(), sizeof(scale));
  return {bits, scale};
}

TEST(Float8Cast, CurrentScalesFitTheLargestNumber) {
  const Attributes format{{"format", std::string("float8_143fn")}};
  // 448 fits as it is. 449 does not, so all is halved. 0.4 · 2¹⁰ = 409.6 fits, but 819.2 does not.
  EXPECT_EQ(float8Cast({448, 1}, format).second, 0);
  EXPECT_EQ(float8Cast({-449, 1}, format).second, -1);
  EXPECT_EQ(float8Cast({0.4, -0.1}, format).second, 10);
  EXPECT_EQ(float8Cast({0, 0}, format).second, 0);
  EXPECT_EQ(float8Cast({1e-30, 0}, format).second, 31);  // the largest scale that there is
  EXPECT_EQ(float8Cast({NAN, INFINITY, 448}, format).second, 0);
  EXPECT_EQ(float8Cast({448, 1}, format).first, (std::vector<std::uint8_t>{0x7E, 0x38}));
}

TEST(Float8Cast, FixedScalesAreTaken) {
  const Attributes format{{"format", std::string("float8_143fnuz")}, {"scale", std::int64_t{3}}};
  // 1 · 8 = 2³: exponent field 3 + 8 = 11, so the pattern is 0x58. 100 · 8 is more than 240.
  EXPECT_EQ(float8Cast({1, 100, -100, -0.0}, format).first,
            (std::vector<std::uint8_t>{0x58, 0x7F, 0xFF, 0x00}));
}

TEST(Float8Cast, RefusesWhatItCannotDo) {
  const Value x{{1}, {1}, ElementType::float32};
  EXPECT_EQ(refusal("Float8Cast", {x}, {{"format", std::string("int8")}}),
            "Float8Cast node: its format is \"int8\"; it must be float8_143, float8_143fn, float8_143fnuz, "
            "float8_152 or float8_152fnuz");
  EXPECT_EQ(refusal("Float8Cast", {x}, {{"format", std::string("float8_152")}, {"scale", std::int64_t{32}}}),
            "Float8Cast node: its scale is 2^32; the exponent must be from -32 to 31");
  EXPECT_EQ(
      refusal("Float8Cast", {Value{{1}, {1}, ElementType::int32}}, {{"format", std::string("float8_152")}}),
      "Float8Cast node: cannot compute in int32; there are kernels for float32, float16 and bfloat16");
}

/// A product of two float32 matrices whose factors are cast to float8 first.
std::vector<double> castProduct(const Value& a, const Value& b, const std::optional<Value>& bias,
                                const std::string& op, const std::string& leftType,
                                const std::string& rightType, bool fixed, Attributes attributes) {
  CastGraph graph;
  const auto cast = [&](const std::string& name, const Value& value, const std::string& type) {
    Attributes own{{"format", type}};
    if (fixed) own["scale"] = std::int64_t{1};
    auto made = graph.append("Float8Cast", name + "/cast", {graph.input(name, value)}, own, fixed ? 1 : 2);
    made.resize(2);
    return made;
  };
  const auto left = cast("a", a, leftType), right = cast("b", b, rightType);
  std::vector<TensorId> inputs{left[0], right[0]};
  if (!fixed || bias) inputs.insert(inputs.end(), {left[1], right[1]});
  if (bias) inputs.push_back(graph.input("bias", *bias));
  attributes["result"] = std::string("float32");
  attributes["accumulate"] = std::string("float32");
  if (fixed) attributes["scales"] = Ints{1, 1};
  return graph.run(graph.append(op, "product", inputs, attributes, 1)[0]);
}

/// The numbers that float8 keeps of these, found in the table. The scale is the largest power of two with
/// which all fit, or 2.
std::vector<double> kept(const std::vector<double>& values, const Float8Type& row, bool fixed) {
  double largest = 0, scale = 2;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  const auto most = static_cast<double>(ops::float8Definition(row.type).largest);
  if (!fixed) {
    for (scale = 0x1p-32; scale * 2 * largest <= most; scale *= 2) {
    }
  }
  std::vector<double> result;
  for (const double value : values)
    result.push_back(tableValue(row, nearestPattern(row, std::clamp(value * scale, -most, most))) / scale);
  return result;
}

TEST(Float8Products, MultiplyWhatTheCastsKeep) {
  const std::int64_t m = 5, k = 19, n = 7;
  Value a = noise({m, k}, 3), b = noise({k, n}, 4), bias = noise({n}, 5);
  for (double& value : a.data) value *= 37;
  // The operands enter as float32.
  for (Value* value : {&a, &b, &bias}) {
    for (double& x : value->data) x = static_cast<double>(static_cast<float>(x));
  }
  for (const Float8Type& left : kFloat8Rows) {
    for (const Float8Type& right : {kFloat8Rows[1], kFloat8Rows[4]}) {
      for (const bool fixed : {false, true}) {
        const std::vector<double> x = kept(a.data, left, fixed), y = kept(b.data, right, fixed);
        std::vector<double> expected;
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::int64_t l = 0; l < k; ++l)
              sum += x[static_cast<std::size_t>(i * k + l)] * y[static_cast<std::size_t>(l * n + j)];
            expected.push_back(sum);
          }
        }
        const auto product = [&](const std::optional<Value>& added, const char* op) {
          const std::vector<double> actual =
              castProduct(a, b, added, op, toString(left.type), toString(right.type), fixed, {});
          ASSERT_EQ(actual.size(), expected.size());
          for (std::size_t i = 0; i < expected.size(); ++i) {
            const double more = added ? bias.data[i % static_cast<std::size_t>(n)] : 0;
            ASSERT_NEAR(actual[i], expected[i] + more, 1e-5 * (1 + std::fabs(expected[i])))
                << op << ' ' << toString(left.type) << ' ' << fixed << ' ' << i;
          }
        };
        product(std::nullopt, "Float8MatMul");
        product(bias, "Float8Gemm");
      }
    }
  }
}

TEST(Float8Products, MultiplyRowsOfExperts) {
  // Three rows of the first expert and two of the second; each has a weight of 4 outputs and 6 inputs.
  const std::int64_t rows = 5, outputs = 4, inputs = 6;
  Value a = noise({rows, inputs}, 6), b = noise({2, outputs, inputs}, 7);
  for (Value* value : {&a, &b}) {
    for (double& x : value->data) x = static_cast<double>(static_cast<float>(x));
  }
  const Value counts{{2}, {3, 2}, ElementType::int64};
  const Float8Type& type = kFloat8Rows[1];
  const std::vector<double> x = kept(a.data, type, false), y = kept(b.data, type, false);
  const std::vector<double> actual =
      castProduct(a, b, counts, "Float8ExpertProduct", toString(type.type), toString(type.type), false, {});
  ASSERT_EQ(actual.size(), static_cast<std::size_t>(rows * outputs));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t weight = i < 3 ? 0 : outputs * inputs;
    for (std::int64_t j = 0; j < outputs; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < inputs; ++l)
        sum += x[static_cast<std::size_t>(i * inputs + l)] *
               y[static_cast<std::size_t>(weight + j * inputs + l)];
      EXPECT_NEAR(actual[static_cast<std::size_t>(i * outputs + j)], sum, 1e-5 * (1 + std::fabs(sum)));
    }
  }
}

TEST(Float8Products, RefuseOtherOperands) {
  const Value plain{{2, 2}, {1, 2, 3, 4}, ElementType::float32};
  const Attributes types{{"result", std::string("float16")}, {"accumulate", std::string("float32")}};
  EXPECT_EQ(refusal("Float8MatMul", {plain, plain}, types),
            "Float8MatMul node: input 0 is float32; it must be float8");
  const Value tiny{{2, 2}, {0, 0, 0, 0}, ElementType::float8_152};
  EXPECT_EQ(refusal("Float8MatMul", {tiny, tiny}, types),
            "Float8MatMul node: its scales are neither inputs nor a list of two numbers");
  EXPECT_EQ(refusal("Float8MatMul", {tiny, tiny, Value{{}, {0}, ElementType::int32}}, types),
            "Float8MatMul node: one factor has a scale as input and the other does not; give both or none");
  EXPECT_EQ(refusal("Float8MatMul", {tiny, tiny}, {{"result", std::string("int8")}}),
            "Float8MatMul node: result is \"int8\"; it must be float16 or bfloat16 or float32");
}

}  // namespace
}  // namespace pipescope::ops_test
