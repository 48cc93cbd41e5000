// Tests that the products of a trained layer reach devices in one order, with the weights on the right,
// however the model writes them. The expected geometry is worked out by hand.
#include <gtest/gtest.h>

#include "engine/compile/gradients.h"
#include "engine/compile/ir_builder.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

using graph::ElementType;
using graph::TensorId;
using graph::TensorRole;
using ops::Contraction;

/// A layer of 12 features to 5 results for 7 samples, [7,12]·[12,5], and before it another one, so that the
/// gradient of its input is wanted.
class TrainedLayer {
 public:
  explicit TrainedLayer(bool weightsOnLeft) {
    const TensorId labels =
        graph_.addTensor("labels", {ElementType::int32, {weightsOnLeft ? 5 : 7}}, TensorRole::input);
    const TensorId x = graph_.addTensor(
        "x", {ElementType::float32, weightsOnLeft ? graph::Shape{12, 7} : graph::Shape{7, 12}},
        TensorRole::input);
    graph_.inputs = {x, labels};
    const TensorId before = add("Relu", "before", {add("Add", "shifted", {x, parameter("shift", {1})})});
    const TensorId y = weightsOnLeft ? add("MatMul", "layer", {parameter("weight", {5, 12}), before})
                                     : add("MatMul", "layer", {before, parameter("weight", {12, 5})});
    graph_.loss = add("SoftmaxCrossEntropyLoss", "loss", {y, labels});
  }

  /// The products of the layer by phase.
  std::map<Contraction::Phase, Contraction> products() {
    auto trained = addGradients(graph_, ops::standardOperators());
    EXPECT_TRUE(trained.ok()) << (trained.ok() ? "" : trained.error().message);
    IrOptions options;
    options.stashEntries = {0};
    options.optimizer.states = [](const graph::TensorType&) { return std::vector<OptimizerCost::State>(); };
    options.optimizer.work = [](const graph::TensorType& type) {
      return std::vector<ops::Work>{{ops::Map{ops::MapFunction::add, type.elements(), 2}, 1, ""}};
    };
    auto ir = buildIr(*trained, {{{"A"}, 0}}, options, ops::standardOperators());
    EXPECT_TRUE(ir.ok()) << (ir.ok() ? "" : ir.error().message);
    std::map<Contraction::Phase, Contraction> found;
    for (const PassIr& pass : ir->stages.front().passes) {
      for (const IrOperator& op : pass.operators) {
        for (const ops::Work& work : op.work) {
          if (const auto* product = std::get_if<Contraction>(&work.item)) found[product->phase] = *product;
        }
      }
    }
    return found;
  }

 private:
  TensorId parameter(const std::string& name, graph::Shape shape) {
    return graph_.addParameter(name, {ElementType::float32, std::move(shape)}, graph::Initializer{});
  }
  TensorId add(const std::string& op, const std::string& name, std::vector<TensorId> inputs) {
    graph::Node node;
    node.op = op;
    node.name = name;
    node.block = "A";
    node.inputs = std::move(inputs);
    auto made =
        ops::appendNode(graph_, std::move(node), {name}, TensorRole::activation, ops::standardOperators());
    PIPESCOPE_CHECK(made.ok(), made.error().message);
    return made->front();
  }

  graph::Graph graph_;
};

TEST(TrainedProducts, HaveTheirWeightsOnTheRight) {
  for (const bool weightsOnLeft : {false, true}) {
    const auto products = TrainedLayer(weightsOnLeft).products();
    ASSERT_EQ(products.size(), 3u) << weightsOnLeft;
    for (const auto& [phase, product] : products) {
      EXPECT_TRUE(product.trained);
      EXPECT_EQ(product.field, std::vector<std::int64_t>{7}) << weightsOnLeft << static_cast<int>(phase);
      EXPECT_EQ(product.output, std::vector<std::int64_t>{7});
      EXPECT_EQ(product.inputChannels, 12);
      EXPECT_EQ(product.outputChannels, 5);
    }
  }
}

TEST(TrainedProducts, TurningOverChangesTheGradientsPlaces) {
  Contraction product;
  product.field = product.output = {7};
  product.kernel = product.stride = product.dilation = {1};
  product.padding = {0, 0};
  product.inputChannels = 12;
  product.outputChannels = 5;
  product.phase = Contraction::Phase::inputGradient;
  const Contraction turned = ops::transposedProduct(product);
  EXPECT_EQ(turned.field.front(), 5);
  EXPECT_EQ(turned.output.front(), 5);
  EXPECT_EQ(turned.outputChannels, 7);
  EXPECT_EQ(turned.phase, Contraction::Phase::weightGradient);
  EXPECT_EQ(ops::transposedProduct(turned).phase, Contraction::Phase::inputGradient);
  Contraction convolution = product;
  convolution.kernel = {3};
  EXPECT_EQ(ops::transposedProduct(convolution).outputChannels, 5);
}

}  // namespace
}  // namespace pipescope::compile
