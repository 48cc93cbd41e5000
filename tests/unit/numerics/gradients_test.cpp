#include "engine/compile/gradients.h"

#include <cstring>

#include "engine/ops/standard_operators.h"
#include "mnist_model.h"

namespace pipescope::numerics_test {
namespace {

using graph::ElementType;
using graph::TensorId;
using graph::TensorRole;

std::string gradientsRefusal(const graph::Graph& forward) {
  const auto result = compile::addGradients(forward, ops::standardOperators());
  return result.ok() ? "" : result.error().message;
}

TensorId appendGradients(graph::Graph& graph, const std::string& op, const std::string& name,
                         std::vector<TensorId> inputs, graph::Attributes attributes = {},
                         const std::string& block = "B1") {
  graph::Node node;
  node.op = op;
  node.name = name;
  node.block = block;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  auto outputs =
      ops::appendNode(graph, node, {name + "/out"}, TensorRole::activation, ops::standardOperators());
  PIPESCOPE_CHECK(outputs.ok(), outputs.error().message);
  return (*outputs)[0];
}

TEST(Gradients, OfTheTutorialsNetwork) {
  const graph::Graph forward = mnistForward(4, true), graph = mnistTraining(4);
  const std::vector<std::pair<std::string, std::string>> expected{
      {"loss/grad_input", "B4"},           {"layer4/linear/grad_input", "B4"},
      {"layer4/linear/grad_weight", "B4"}, {"layer4/linear/grad_bias", "B4"},
      {"layer3/relu/grad_input", "B3"},    {"layer3/linear/grad_input", "B3"},
      {"layer3/linear/grad_weight", "B3"}, {"layer3/linear/grad_bias", "B3"},
      {"layer3/flatten/grad_input", "B3"}, {"layer2/relu/grad_input", "B2"},
      {"layer2/pool/grad_input", "B2"},    {"layer2/conv/grad_input", "B2"},
      {"layer2/conv/grad_weight", "B2"},   {"layer2/conv/grad_bias", "B2"},
      {"layer1/relu/grad_input", "B1"},    {"layer1/pool/grad_input", "B1"},
      {"layer1/conv/grad_weight", "B1"},   {"layer1/conv/grad_bias", "B1"}};
  std::vector<std::pair<std::string, std::string>> actual;
  for (const graph::Node& node : graph.nodes()) {
    if (node.pass == model::Pass::forward) continue;
    EXPECT_EQ(node.pass, model::Pass::backward);
    EXPECT_GE(node.id.value, static_cast<std::int64_t>(forward.nodes().size()));
    EXPECT_EQ(graph.tensor(node.outputs[0]).role, TensorRole::gradient);
    EXPECT_EQ(graph.tensor(node.outputs[0]).name, node.name);
    actual.emplace_back(node.name, node.block);
  }
  EXPECT_EQ(actual, expected) << "the first convolution needs no input gradient";
  EXPECT_EQ(graph.parameterGradients.size(), 8U);
  for (const auto& [parameter, gradient] : graph.parameterGradients) {
    EXPECT_EQ(graph.tensor(parameter).type, graph.tensor(gradient).type);
  }
  EXPECT_TRUE(ops::checkShapes(graph, ops::standardOperators()).ok());
}

TEST(Gradients, AddUpWhereATensorFansOut) {
  // loss = Σ of (x·w + x·w). The product has two readers, and the weight is used in two blocks.
  graph::Graph graph;
  const TensorId x = graph.addTensor("x", {ElementType::float64, {1, 2}}, TensorRole::input);
  graph.inputs = {x};
  const TensorId w = graph.addParameter("w", {ElementType::float64, {2, 2}}, {});
  const TensorId v = graph.addConstant("v", {ElementType::float64, {2, 1}}, std::vector<std::byte>(16));
  const TensorId first = appendGradients(graph, "Gemm", "first", {x, w}, {}, "B1");
  const TensorId second = appendGradients(graph, "Gemm", "second", {first, w}, {}, "B2");
  const TensorId sum = appendGradients(graph, "Sum", "sum", {first, second}, {}, "B2");
  graph.loss = appendGradients(graph, "Gemm", "loss", {sum, v}, {}, "B2");
  const auto result = compile::addGradients(graph, ops::standardOperators());
  ASSERT_TRUE(result.ok()) << result.error().message;
  std::vector<std::string> names;
  for (std::size_t i = graph.nodes().size(); i < result->nodes().size(); ++i) {
    names.push_back(result->nodes()[i].block + " " + result->nodes()[i].name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"B2 loss/grad_input", "B2 second/grad_input", "B2 second/grad_weight",
                                      "B1 first/out/grad_sum", "B1 first/grad_weight", "B1 w/grad_sum"}));
  EXPECT_EQ(result->tensor(result->parameterGradients.at(w)).name, "w/grad_sum");
}

TEST(Gradients, LeaveOutWhatTheLossDoesNotSee) {
  graph::Graph graph;
  const TensorId x = graph.addTensor("x", {ElementType::float32, {1, 2}}, TensorRole::input);
  const TensorId w = graph.addParameter("w", {ElementType::float32, {2, 1}}, {});
  const TensorId unused = graph.addParameter("unused", {ElementType::float32, {2, 1}}, {});
  appendGradients(graph, "Gemm", "aside", {x, unused});
  graph.loss = appendGradients(graph, "Gemm", "loss", {x, w});
  const auto result = compile::addGradients(graph, ops::standardOperators());
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->parameterGradients.contains(w));
  EXPECT_FALSE(result->parameterGradients.contains(unused));
  EXPECT_EQ(result->nodes().size(), 3U);
}

TEST(Gradients, StartFromOneInEveryFloatingType) {
  const std::map<ElementType, std::vector<std::uint8_t>> bits{
      {ElementType::float32, {0, 0, 0x80, 0x3F}},
      {ElementType::float64, {0, 0, 0, 0, 0, 0, 0xF0, 0x3F}},
      {ElementType::float16, {0, 0x3C}},
      {ElementType::bfloat16, {0x80, 0x3F}}};
  for (const auto& [element, expected] : bits) {
    graph::Graph graph;
    const TensorId x = graph.addTensor("x", {element, {1, 2}}, TensorRole::input);
    const TensorId w = graph.addParameter("w", {element, {2, 1}}, {});
    graph.loss = appendGradients(graph, "Gemm", "loss", {x, w});
    const auto result = compile::addGradients(graph, ops::standardOperators());
    ASSERT_TRUE(result.ok()) << result.error().message;
    const std::vector<std::byte>* one = nullptr;
    for (const graph::Tensor& tensor : result->tensors()) {
      if (tensor.name == "loss/out/grad") one = result->constantValue(tensor.id);
    }
    ASSERT_NE(one, nullptr);
    ASSERT_EQ(one->size(), expected.size());
    EXPECT_EQ(std::memcmp(one->data(), expected.data(), expected.size()), 0);
  }
}

TEST(Gradients, RefuseWhatCannotBeTrained) {
  EXPECT_EQ(
      gradientsRefusal(mnistForward(4, false)),
      "the model has no loss, so it cannot be trained; add a loss layer such as cross_entropy at its end");
  graph::Graph large;
  large.loss = large.addParameter("w", {ElementType::float32, {2}}, {});
  EXPECT_EQ(gradientsRefusal(large), "the loss w is 2 float32; it must be one floating-point number");
  graph::Graph whole;
  whole.loss = whole.addParameter("w", {ElementType::int64, {1}}, {});
  EXPECT_EQ(gradientsRefusal(whole), "the loss w is 1 int64; it must be one floating-point number");
}

}  // namespace
}  // namespace pipescope::numerics_test
