// The registry, the Work that operators list, and random numbers.
#include <algorithm>

#include "engine/compile/gradients.h"
#include "engine/ops/core/random.h"
#include "engine/ops/standard_operators.h"
#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

using ops::Work;

std::vector<Work> workOf(const std::string& op, const std::vector<Value>& inputs,
                         const Attributes& attributes = {}) {
  const auto one = oneNode(op, inputs, attributes, 1, ElementType::float32);
  return *ops::workOf(one->graph, one->graph.nodes().back(), ops::standardOperators());
}

const ops::Contraction& contraction(const Work& work) {
  return std::get<ops::Contraction>(work.item);
}

TEST(Registry, KnowsTheOperatorsOfThisFolder) {
  const std::vector<std::string> types = ops::standardOperators().types();
  for (const char* type : {"Conv", "Flatten", "Gemm", "GradConvInput", "GradConvWeight", "GradMaxPool",
                           "GradRelu", "GradSoftmaxCrossEntropyLoss", "MaxPool", "ReduceSum", "Relu",
                           "Reshape", "SoftmaxCrossEntropyLoss", "Sum"}) {
    EXPECT_NE(std::ranges::find(types, type), types.end()) << type;
    EXPECT_NE(ops::standardOperators().find(type)->kernel, nullptr) << type;
  }
}

TEST(Registry, ListsWhatThereIsWhenAskedForMore) {
  const std::string sentence = refusal("Conv3", {noise({1}, 1)});
  EXPECT_EQ(sentence.rfind("node node is of the operator Conv3, which is not known; known are Abs, ", 0), 0U)
      << sentence;
}

TEST(Registry, ChecksShapesThatTheGraphClaims) {
  graph::Graph graph;
  graph::Node node;
  node.op = "Relu";
  node.name = "relu";
  node.inputs = {graph.addTensor("x", {ElementType::float32, {2, 3}}, graph::TensorRole::input)};
  node.outputs = {graph.addTensor("y", {ElementType::float32, {3, 2}}, graph::TensorRole::activation)};
  graph.addNode(node);
  EXPECT_EQ(ops::checkShapes(graph, ops::standardOperators()).error().message,
            "Relu relu makes y as 2x3 float32, but the graph says 3x2 float32");
}

TEST(WorkOfOperators, ConvolutionAndItsGradients) {
  // The second convolution of the MNIST network with a micro-batch of 40: 40·20·8·8·10·25 multiply-adds in
  // each of three products.
  const Value x = noise({40, 10, 12, 12}, 1), w = noise({20, 10, 5, 5}, 1), dy = noise({40, 20, 8, 8}, 1);
  const std::vector<Work> forward = workOf("Conv", {x, w, noise({20}, 1)});
  ASSERT_EQ(forward.size(), 2U);
  EXPECT_EQ(contraction(forward[0]).multiplyAdds(), 12'800'000);
  EXPECT_EQ(contraction(forward[0]).phase, ops::Contraction::Phase::forward);
  EXPECT_EQ(std::get<ops::Map>(forward[1].item).elements, 40 * 20 * 8 * 8);
  const std::vector<Work> input = workOf("GradConvInput", {dy, w}, {{"input_shape", x.shape}});
  EXPECT_EQ(contraction(input[0]).multiplyAdds(), 12'800'000);
  EXPECT_EQ(contraction(input[0]).phase, ops::Contraction::Phase::inputGradient);
  const std::vector<Work> weight = workOf("GradConvWeight", {x, dy}, {{"weight_shape", w.shape}});
  EXPECT_EQ(contraction(weight[0]).multiplyAdds(), 12'800'000);
  EXPECT_EQ(contraction(weight[0]).phase, ops::Contraction::Phase::weightGradient);
  const std::vector<Work> bias = workOf("ReduceSum", {dy}, {{"axes", Ints{0, 2, 3}}});
  EXPECT_EQ(std::get<ops::Reduce>(bias[0].item).outputs, 20);
  EXPECT_EQ(std::get<ops::Reduce>(bias[0].item).depth, 40 * 64);
}

TEST(WorkOfOperators, GradientsOfGemmNameTheProductThatTheyBelongTo) {
  // [3,5]·[5,7] with each way to store its factors. All three products have its geometry.
  for (const bool transA : {false, true}) {
    for (const bool transB : {false, true}) {
      graph::Graph model;
      const auto parameter = [&](const char* name, graph::Shape shape, bool transposed) {
        if (transposed) std::swap(shape[0], shape[1]);
        return model.addTensor(name, {ElementType::float32, shape}, graph::TensorRole::parameter);
      };
      const graph::TensorId a = parameter("a", {3, 5}, transA), b = parameter("b", {5, 7}, transB);
      graph::Node gemm;
      gemm.op = gemm.name = "Gemm";
      gemm.inputs = {a, b};
      gemm.attributes = {{"transA", std::int64_t{transA}}, {"transB", std::int64_t{transB}}};
      graph::Node sum;
      sum.op = sum.name = "ReduceSum";
      sum.attributes = {{"keepdims", std::int64_t{0}}};
      const auto& registry = ops::standardOperators();
      sum.inputs = *ops::appendNode(model, gemm, {"y"}, graph::TensorRole::activation, registry);
      model.loss = ops::appendNode(model, sum, {"loss"}, graph::TensorRole::activation, registry)->at(0);
      const auto graph = compile::addGradients(model, registry);
      ASSERT_TRUE(graph.ok()) << graph.error().message;
      std::vector<ops::Contraction::Phase> phases;
      for (const graph::Node& node : graph->nodes()) {
        if (node.op != "Gemm") continue;
        const ops::Contraction product = contraction((*ops::workOf(*graph, node, registry))[0]);
        EXPECT_EQ(product.field, Ints{3});
        EXPECT_EQ(product.inputChannels, 5);
        EXPECT_EQ(product.outputChannels, 7);
        phases.push_back(product.phase);
      }
      using Phase = ops::Contraction::Phase;
      EXPECT_EQ(phases, (std::vector{Phase::forward, Phase::inputGradient, Phase::weightGradient}));
    }
  }
}

TEST(WorkOfOperators, ConvolutionKeepsItsGeometry) {
  const Work work = workOf("Conv", {noise({1, 4, 9, 8}, 1), noise({6, 2, 3, 2}, 1)},
                           {{"group", std::int64_t{2}},
                            {"strides", Ints{2, 1}},
                            {"dilations", Ints{1, 3}},
                            {"pads", Ints{1, 0, 2, 3}}})[0];
  const ops::Contraction& c = contraction(work);
  EXPECT_EQ(c.groups, 2);
  EXPECT_EQ(c.inputChannels, 2);
  EXPECT_EQ(c.outputChannels, 3);
  EXPECT_EQ(c.field, (Ints{9, 8}));
  EXPECT_EQ(c.kernel, (Ints{3, 2}));
  EXPECT_EQ(c.output, (Ints{5, 8}));
  EXPECT_EQ(c.stride, (Ints{2, 1}));
  EXPECT_EQ(c.dilation, (Ints{1, 3}));
  EXPECT_EQ(c.padding, (Ints{1, 0, 2, 3}));
}

TEST(WorkOfOperators, ProductsPoolsAndMaps) {
  const std::vector<Work> gemm = workOf("Gemm", {noise({40, 320}, 1), noise({256, 320}, 1), noise({256}, 1)},
                                        {{"transB", std::int64_t{1}}});
  ASSERT_EQ(gemm.size(), 2U);
  EXPECT_EQ(contraction(gemm[0]).multiplyAdds(), 40 * 320 * 256);
  EXPECT_EQ(contraction(gemm[0]).field, Ints{40});
  const Attributes scaled{{"alpha", 0.5}, {"beta", 2.0}};
  EXPECT_EQ(workOf("Gemm", {noise({2, 3}, 1), noise({3, 4}, 1), noise({4}, 1)}, scaled).size(), 4U);
  const Attributes window{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  const ops::Pool pool = std::get<ops::Pool>(workOf("MaxPool", {noise({40, 10, 24, 24}, 1)}, window)[0].item);
  EXPECT_EQ(pool.output, (Ints{12, 12}));
  EXPECT_FALSE(pool.backward);
  const Value pooled = noise({1, 1, 2, 2}, 1);
  EXPECT_TRUE(
      std::get<ops::Pool>(workOf("GradMaxPool", {noise({1, 1, 4, 4}, 1), pooled, pooled}, window)[0].item)
          .backward);
  EXPECT_EQ(std::get<ops::Map>(workOf("Relu", {noise({7, 3}, 1)})[0].item).elements, 21);
  EXPECT_EQ(std::get<ops::Map>(workOf("GradRelu", {pooled, pooled})[0].item).operands, 2);
  EXPECT_TRUE(workOf("Flatten", {pooled}).empty());
  EXPECT_TRUE(workOf("Reshape", {pooled}, {{"shape", Ints{4}}}).empty());
  EXPECT_EQ(workOf("Sum", {pooled, pooled, pooled})[0].repeat, 2);
  EXPECT_TRUE(workOf("Sum", {pooled}).empty());
  EXPECT_FALSE(workOf("SoftmaxCrossEntropyLoss", {noise({40, 10}, 1), labels({40}, {})}).empty());
  EXPECT_FALSE(
      workOf("GradSoftmaxCrossEntropyLoss", {absent(), noise({40, 10}, 1), labels({40}, {})}).empty());
}

TEST(RandomSequence, GivesAnyPartWithoutTheRest) {
  const ops::RandomSequence sequence({.seed = 7}, "layer1/conv/weight");
  std::vector<float> whole(1000), part(300);
  sequence.uniform(whole, 0.25F);
  sequence.uniform(part, 0.25F, 101);
  EXPECT_EQ(part, std::vector<float>(whole.begin() + 101, whole.begin() + 401));
}

TEST(RandomSequence, IsUniformWithinItsBound) {
  std::vector<float> values(100000);
  ops::RandomSequence({.seed = 7}, "w").uniform(values, 0.5F);
  double sum = 0, squares = 0;
  for (const float v : values) {
    EXPECT_TRUE(v >= -0.5F && v < 0.5F);
    sum += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.005);
  EXPECT_NEAR(squares / 1e5, 1.0 / 12, 0.001);
}

TEST(RandomSequence, DiffersByEverythingItIsKeyedBy) {
  const auto first = [](ops::RunIdentity identity, const char* name) {
    return ops::RandomSequence(identity, name).block(0);
  };
  const auto reference = first({1, 0, 0, 0}, "w");
  EXPECT_EQ(first({1, 0, 0, 0}, "w"), reference);
  EXPECT_NE(first({2, 0, 0, 0}, "w"), reference);
  EXPECT_NE(first({1, 1, 0, 0}, "w"), reference);
  EXPECT_NE(first({1, 0, 1, 0}, "w"), reference);
  EXPECT_NE(first({1, 0, 0, 1}, "w"), reference);
  EXPECT_NE(first({1, 0, 0, 0}, "v"), reference);
}

}  // namespace
}  // namespace pipescope::ops_test
