// Tests that the nodes of a layer normalization become one operator, and nothing else does.
#include <gmock/gmock.h>

#include "engine/numerics/session.h"
#include "model_maker.h"

namespace pipescope::onnx_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

/// Changes that a test makes to the normalization that PyTorch writes.
struct NormForm {
  Ints axes{-1};
  Ints weights{4};
  bool twice = false;        ///< the difference is computed twice, as older exporters do
  bool weighted = false;     ///< x · m + (bias − mean · m), as TensorFlow writes it
  bool products = false;     ///< squares are products, and operands stand in the other order
  bool otherFactor = false;  ///< with `weighted`: x and its mean have different factors
  double exponent = 2;
};

::onnx::ModelProto normModel(const NormForm& form) {
  return makeModel(13, [&](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 3, 4}).output("y");
    std::int64_t count = 1;
    for (const std::int64_t extent : form.weights) count *= extent;
    Floats scale, bias;
    for (std::int64_t i = 0; i < count; ++i) {
      scale.push_back(1.0F + 0.25F * static_cast<float>(i));
      bias.push_back(0.5F - 0.125F * static_cast<float>(i));
    }
    g.floats("scale", form.weights, scale).floats("bias", form.weights, bias);
    g.floats("two", {}, {static_cast<float>(form.exponent)}).floats("small", {}, {1e-3F});
    setInts(g.node("ReduceMean", {"x"}, {"mean"}), "axes", form.axes);
    g.node("Sub", {"x", "mean"}, {"difference"});
    if (form.twice) g.node("Sub", {"x", "mean"}, {"again"});
    const std::string base = form.twice ? "again" : "difference";
    if (form.products) g.node("Mul", {base, base}, {"squares"});
    if (!form.products) g.node("Pow", {base, "two"}, {"squares"});
    setInts(g.node("ReduceMean", {"squares"}, {"variance"}), "axes", form.axes);
    const auto add = [&](const std::string& a, const std::string& b, const char* op, const std::string& to) {
      g.node(op, form.products ? Names{b, a} : Names{a, b}, {to});
    };
    add("variance", "small", "Add", "sum");
    g.node("Sqrt", {"sum"}, {"deviation"});
    if (form.weighted) {
      g.floats("one", {}, {1});
      if (form.products) g.node("Div", {"one", "deviation"}, {"inverse"});
      if (!form.products) g.node("Reciprocal", {"deviation"}, {"inverse"});
      add("inverse", "scale", "Mul", "factor");
      add("x", form.otherFactor ? "inverse" : "factor", "Mul", "product");
      add("mean", "factor", "Mul", "shift");
      g.node("Sub", {"bias", "shift"}, {"rest"});
      return add("product", "rest", "Add", "y");
    }
    g.node("Div", {"difference", "deviation"}, {"normal"});
    add("normal", "scale", "Mul", "scaled");
    add("scaled", "bias", "Add", "y");
  });
}

std::vector<std::string> instanceOperators(const onnx::Instance& instance) {
  std::vector<std::string> ops;
  for (const graph::Node& node : instance.graph.nodes()) ops.push_back(node.op);
  return ops;
}

onnx::Instance normInstance(const ::onnx::ModelProto& proto) {
  const auto model = read(proto);
  EXPECT_TRUE(model.ok()) << model.error().message;
  onnx::InstantiateOptions options;
  options.microBatch = 2;
  auto instance = onnx::instantiate(*model, ops::standardOperators(), options);
  EXPECT_TRUE(instance.ok()) << instance.error().message;
  return std::move(instance).value();
}

/// The interpreter computes each node of the file.
void expectSameValues(const ::onnx::ModelProto& proto, const onnx::Instance& instance) {
  Floats values;
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<float>((i * 7) % 11) - 4.5F);
  const graph::TensorValue x = floatTensor({2, 3, 4}, values);
  const auto expected = interpret(proto, {x});
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  base::SerialExecutor executor;
  const auto session = numerics::Session::create(instance.graph, ops::standardOperators(), nullptr, executor);
  ASSERT_TRUE(session.ok()) << session.error().message;
  numerics::Results results;
  ASSERT_TRUE((*session)->infer({std::span<const std::byte>(x.bytes)}, numerics::Keep::all, results).ok());
  const auto made = results.output<float>(0);
  const Floats wanted = valuesOf<float>(expected->front());
  ASSERT_EQ(made.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(made[i], wanted[i], 2e-6F) << i;
}

TEST(LayerNormPattern, BecomesOneOperatorOfTheSameValue) {
  for (const NormForm& form :
       {NormForm{}, NormForm{.twice = true}, NormForm{.products = true}, NormForm{.axes = {2}},
        NormForm{.axes = {-2, -1}, .weights = {3, 4}}, NormForm{.twice = true, .products = true},
        NormForm{.weighted = true}, NormForm{.weighted = true, .products = true},
        NormForm{.axes = {1, 2}, .weights = {3, 4}, .twice = true, .weighted = true}}) {
    const ::onnx::ModelProto proto = normModel(form);
    const onnx::Instance instance = normInstance(proto);
    EXPECT_THAT(instanceOperators(instance), ElementsAre("LayerNormalization"));
    expectSameValues(proto, instance);
  }
}

TEST(LayerNormPattern, IsNotSeenWhereSomethingDiffers) {
  for (const NormForm& form :
       {NormForm{.exponent = 4}, NormForm{.axes = {1}}, NormForm{.weights = {3, 4}}, NormForm{.weights = {1}},
        NormForm{.axes = {0, 2}}, NormForm{.axes = {-2, -1}}, NormForm{.weighted = true, .exponent = 4},
        NormForm{.axes = {1}, .weighted = true}, NormForm{.weights = {1}, .weighted = true},
        NormForm{.weighted = true, .otherFactor = true}}) {
    const ::onnx::ModelProto proto = normModel(form);
    const onnx::Instance instance = normInstance(proto);
    EXPECT_THAT(instanceOperators(instance), Not(Contains("LayerNormalization")));
    if (form.exponent == 2) expectSameValues(proto, instance);
  }
}

}  // namespace
}  // namespace pipescope::onnx_test
