#pragma once
// Runs one operator on values that are given as doubles, in float64 or float32, and differentiates it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "engine/compile/gradients.h"
#include "engine/numerics/graph_program.h"
#include "engine/ops/core/half.h"
#include "engine/ops/core/operator.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::ops_test {

using graph::Attributes;
using graph::ElementType;
using graph::Shape;
using graph::TensorId;
using Ints = std::vector<std::int64_t>;

/// The values of a tensor; the element type float64 stands for the type under test.
struct Value {
  Shape shape;
  std::vector<double> data;
  ElementType element = ElementType::float64;
  enum class Role { input, constant, absent } role = Role::input;
};

inline Value absent() {
  return {{}, {}, ElementType::float64, Value::Role::absent};
}
inline Value labels(Shape shape, std::vector<double> data, ElementType element = ElementType::int64) {
  return {std::move(shape), std::move(data), element};
}
inline Value constantInts(std::vector<double> data) {
  const auto count = static_cast<std::int64_t>(data.size());
  return {{count}, std::move(data), ElementType::int64, Value::Role::constant};
}

/// Different values in (−1, 1), another sequence for each seed.
inline Value noise(Shape shape, unsigned seed) {
  Value value{std::move(shape), {}};
  std::uint32_t state = seed * 2654435761U + 12345U;
  for (std::int64_t i = 0; i < graph::elementCount(value.shape); ++i) {
    state = state * 1664525U + 1013904223U;
    value.data.push_back(static_cast<double>(state >> 8) / 8388608.0 - 1.0);
  }
  return value;
}

template <class Half>
Half halfOf(double x) {
  Half half;
  ops::narrow(static_cast<float>(x), half);
  return half;
}

inline std::vector<std::byte> encode(const Value& value, ElementType element) {
  std::vector<std::byte> bytes;
  const auto append = [&bytes](auto number) {
    const auto raw = std::as_bytes(std::span(&number, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  for (const double x : value.data) {
    if (element == ElementType::float64) append(x);
    if (element == ElementType::float32) append(static_cast<float>(x));
    if (element == ElementType::int64) append(static_cast<std::int64_t>(x));
    if (element == ElementType::int32) append(static_cast<std::int32_t>(x));
    if (element == ElementType::int16) append(static_cast<std::int16_t>(x));
    if (element == ElementType::int8) append(static_cast<std::int8_t>(x));
    if (element == ElementType::uint64) append(static_cast<std::uint64_t>(x));
    if (element == ElementType::uint32) append(static_cast<std::uint32_t>(x));
    if (element == ElementType::uint16) append(static_cast<std::uint16_t>(x));
    if (element == ElementType::uint8) append(static_cast<std::uint8_t>(x));
    if (element == ElementType::boolean) append(x != 0);
    if (element == ElementType::float16) append(halfOf<ops::Float16>(x));
    if (element == ElementType::bfloat16) append(halfOf<ops::BFloat16>(x));
  }
  return bytes;
}

inline Value decode(const graph::TensorType& type, std::span<const std::byte> bytes) {
  Value value{type.shape, {}, type.element};
  const auto read = [&](auto zero) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(zero)) {
      std::memcpy(&zero, bytes.data() + at, sizeof(zero));
      if constexpr (requires { ops::widened(zero); } && std::is_class_v<decltype(zero)>) {
        value.data.push_back(static_cast<double>(ops::widened(zero)));
      } else {
        value.data.push_back(static_cast<double>(zero));
      }
    }
  };
  if (type.element == ElementType::float64) read(0.0);
  if (type.element == ElementType::float32) read(0.0F);
  if (type.element == ElementType::int64) read(std::int64_t{0});
  if (type.element == ElementType::int32) read(std::int32_t{0});
  if (type.element == ElementType::int16) read(std::int16_t{0});
  if (type.element == ElementType::int8) read(std::int8_t{0});
  if (type.element == ElementType::uint64) read(std::uint64_t{0});
  if (type.element == ElementType::uint32) read(std::uint32_t{0});
  if (type.element == ElementType::uint16) read(std::uint16_t{0});
  if (type.element == ElementType::uint8) read(std::uint8_t{0});
  if (type.element == ElementType::boolean) read(std::uint8_t{0});
  if (type.element == ElementType::float16) read(ops::Float16{});
  if (type.element == ElementType::bfloat16) read(ops::BFloat16{});
  return value;
}

inline ElementType elementOf(const Value& value, ElementType real) {
  return value.element == ElementType::float64 ? real : value.element;
}

/// A graph with one node "node", inputs in0, in1 … and outputs out0 …
struct OneNode {
  graph::Graph graph;
  std::vector<std::vector<std::byte>> bytes;  ///< ids of the graph's inputs
};

inline base::Result<OneNode> oneNode(const std::string& op, const std::vector<Value>& inputs,
                                     const Attributes& attributes, std::size_t outputs, ElementType real,
                                     graph::TensorRole role = graph::TensorRole::input) {
  OneNode result;
  graph::Node node;
  node.op = op;
  node.name = "node";
  node.attributes = attributes;
  for (const Value& value : inputs) {
    const std::string name = "in" + std::to_string(node.inputs.size());
    const ElementType element = elementOf(value, real);
    if (value.role == Value::Role::absent) {
      node.inputs.emplace_back();
    } else if (value.role == Value::Role::constant) {
      node.inputs.push_back(result.graph.addConstant(name, {element, value.shape}, encode(value, element)));
    } else if (role == graph::TensorRole::parameter && element == real) {
      node.inputs.push_back(result.graph.addParameter(name, {element, value.shape}, {}));
    } else {
      node.inputs.push_back(result.graph.addTensor(name, {element, value.shape}, graph::TensorRole::input));
      result.graph.inputs.push_back(node.inputs.back());
      result.bytes.push_back(encode(value, element));
    }
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) names.push_back("out" + std::to_string(i));
  PIPESCOPE_ASSIGN(
      result.graph.outputs,
      ops::appendNode(result.graph, node, names, graph::TensorRole::activation, ops::standardOperators()));
  return result;
}

/// All outputs of the operator.
inline base::Result<std::vector<Value>> compute(const std::string& op, const std::vector<Value>& inputs,
                                                const Attributes& attributes = {}, std::size_t outputs = 1,
                                                ElementType real = ElementType::float64) {
  PIPESCOPE_ASSIGN(const OneNode one, oneNode(op, inputs, attributes, outputs, real));
  PIPESCOPE_ASSIGN(const numerics::GraphProgram program,
                   numerics::GraphProgram::create(one.graph, ops::standardOperators()));
  numerics::Workspace workspace = program.makeWorkspace();
  const std::vector<std::span<const std::byte>> spans(one.bytes.begin(), one.bytes.end());
  const numerics::Bindings bindings{spans, {}, {}, {}};
  PIPESCOPE_TRY(program.run(bindings, workspace));
  std::vector<Value> results;
  for (std::size_t i = 0; i < outputs; ++i) {
    results.push_back(
        decode(one.graph.tensor(one.graph.outputs[i]).type, program.output(workspace, bindings, i)));
  }
  return results;
}

/// The sentence with which the operator is refused; empty if it is accepted.
inline std::string refusal(const std::string& op, const std::vector<Value>& inputs,
                           const Attributes& attributes = {}, std::size_t outputs = 1,
                           ElementType real = ElementType::float64) {
  const auto result = compute(op, inputs, attributes, outputs, real);
  return result.ok() ? "" : result.error().message;
}

inline void expectNear(const Value& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.data.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(actual.data[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
  }
}

/// Compares the gradients of Σ r·output by every floating-point input, for pseudo-random r, with central
/// differences in double precision. The output is one of `outputs`, by default the first.
class GradientCheck {
 public:
  GradientCheck(std::string op, std::vector<Value> inputs, Attributes attributes, std::size_t outputs = 1,
                std::size_t output = 0)
      : op_(std::move(op)),
        inputs_(std::move(inputs)),
        attributes_(std::move(attributes)),
        outputs_(outputs),
        output_(output) {}

  void run(double tolerance = 1e-7) {
    const graph::Graph graph = build();
    auto program = numerics::GraphProgram::create(graph, ops::standardOperators());
    ASSERT_TRUE(program.ok()) << program.error().message;
    std::vector<std::vector<double>> gradients;
    evaluate(graph, *program, &gradients);
    ASSERT_EQ(gradients.size(), weights_.size());
    for (std::size_t w = 0; w < weights_.size(); ++w) {
      for (std::size_t i = 0; i < weights_[w].size(); ++i) {
        constexpr double kStep = 1e-5;
        const double at = weights_[w][i];
        weights_[w][i] = at + kStep;
        const double above = evaluate(graph, *program, nullptr);
        weights_[w][i] = at - kStep;
        const double below = evaluate(graph, *program, nullptr);
        weights_[w][i] = at;
        const double expected = (above - below) / (2 * kStep);
        ASSERT_NEAR(gradients[w][i], expected, tolerance * (1 + std::abs(expected)))
            << op_ << " weight " << w << " element " << i;
      }
    }
  }

 private:
  graph::Graph build() {
    auto one =
        oneNode(op_, inputs_, attributes_, outputs_, ElementType::float64, graph::TensorRole::parameter);
    PIPESCOPE_CHECK(one.ok(), one.error().message);
    graph::Graph graph = std::move(one->graph);
    inputBytes_ = std::move(one->bytes);
    for (const Value& value : inputs_) {
      if (value.role == Value::Role::input && value.element == ElementType::float64)
        weights_.push_back(value.data);
    }
    graph.outputs = {graph.outputs[output_]};
    std::vector<TensorId> totals;
    for (const TensorId out : std::vector<TensorId>(graph.outputs)) {
      const std::string own = totals.empty() ? "" : std::to_string(totals.size());
      const std::int64_t n = graph.tensor(out).type.elements();
      const Value factors = noise({n, 1}, 99 + static_cast<unsigned>(totals.size()));
      const TensorId r =
          graph.addConstant("r" + own, {ElementType::float64, {n, 1}}, encode(factors, ElementType::float64));
      append(graph, "Reshape", "flat" + own, {out}, {{"shape", Ints{1, n}}});
      append(graph, "Gemm", "product" + own, {graph.outputs[0], r}, {});
      totals.push_back(graph.outputs[0]);
    }
    if (totals.size() > 1) append(graph, "Sum", "total", totals, {});
    graph.loss = graph.outputs[0];
    auto withGradients = compile::addGradients(graph, ops::standardOperators());
    PIPESCOPE_CHECK(withGradients.ok(), withGradients.error().message);
    return *withGradients;
  }
  static void append(graph::Graph& graph, const std::string& op, const std::string& name,
                     std::vector<TensorId> inputs, Attributes attributes) {
    graph::Node node;
    node.op = op;
    node.name = name;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    auto outputs = ops::appendNode(graph, node, {name + "/out"}, graph::TensorRole::activation,
                                   ops::standardOperators());
    PIPESCOPE_CHECK(outputs.ok(), outputs.error().message);
    graph.outputs = *outputs;
  }
  double evaluate(const graph::Graph& graph, const numerics::GraphProgram& program,
                  std::vector<std::vector<double>>* gradients) {
    std::vector<std::span<const std::byte>> weights;
    for (const std::vector<double>& values : weights_) weights.push_back(std::as_bytes(std::span(values)));
    std::vector<std::vector<double>> buffers;
    for (const TensorId id : program.gradients()) {
      buffers.emplace_back(static_cast<std::size_t>(graph.tensor(id).type.elements()), std::nan(""));
    }
    std::vector<std::span<std::byte>> spans;
    for (std::vector<double>& buffer : buffers) spans.push_back(std::as_writable_bytes(std::span(buffer)));
    const std::vector<std::span<const std::byte>> inputs(inputBytes_.begin(), inputBytes_.end());
    numerics::Workspace workspace = program.makeWorkspace();
    const numerics::Bindings bindings{inputs, weights, spans, {}};
    const base::Status status = program.run(bindings, workspace);
    PIPESCOPE_CHECK(status.ok(), status.error().message);
    if (gradients) *gradients = buffers;
    return numerics::valuesOf<double>(program.loss(workspace, bindings))[0];
  }

  std::string op_;
  std::vector<Value> inputs_;
  Attributes attributes_;
  std::size_t outputs_ = 1, output_ = 0;
  std::vector<std::vector<std::byte>> inputBytes_;
  std::vector<std::vector<double>> weights_;
};

}  // namespace pipescope::ops_test
