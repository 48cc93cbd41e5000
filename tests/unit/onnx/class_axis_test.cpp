// Tests where scores have their classes, by what makes them.
#include "engine/onnx/class_axis.h"

#include "model_maker.h"

namespace pipescope::onnx_test {
namespace {

/// The axis of classes of a model's first output.
std::size_t axisOf(const std::function<void(GraphMaker&)>& fill) {
  const auto model = read(makeModel(17, fill));
  EXPECT_TRUE(model.ok()) << model.error().message;
  onnx::InstantiateOptions options;
  options.microBatch = 2;
  const auto instance = onnx::instantiate(*model, ops::standardOperators(), options);
  EXPECT_TRUE(instance.ok()) << instance.error().message;
  return onnx::classAxis(instance->graph, instance->graph.outputs[0]);
}

void addWeight(GraphMaker& g, const std::string& name, const Ints& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  Floats values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  g.floats(name, shape, values);
}

TEST(ClassAxis, IsTheLastOneBehindAProduct) {
  EXPECT_EQ(axisOf([](GraphMaker& g) {
              g.input("x", Proto::FLOAT, {-1, 5, 3}).output("y");
              addWeight(g, "w", {3, 5});
              g.floats("b", {5}, {1, 2, 3, 4, 5});
              g.node("MatMul", {"x", "w"}, {"product"});
              g.node("Add", {"b", "product"}, {"sum"});
              g.node("Identity", {"sum"}, {"y"});
            }),
            2u);
}

TEST(ClassAxis, FollowsTranspositionsAndReshapes) {
  const auto transposed = [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 4, 3}).output("y");
    addWeight(g, "w", {3, 5});
    g.node("MatMul", {"x", "w"}, {"product"});
    setInts(g.node("Transpose", {"product"}, {"y"}), "perm", {0, 2, 1});
  };
  EXPECT_EQ(axisOf(transposed), 1u);
  const auto unflattened = [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 4, 3}).output("y");
    addWeight(g, "w", {3, 5});
    g.ints("rows", {2}, {-1, 3}).ints("positions", {3}, {-1, 4, 5});
    g.node("Reshape", {"x", "rows"}, {"flat"});
    g.node("MatMul", {"flat", "w"}, {"product"});
    g.node("Reshape", {"product", "positions"}, {"y"});
  };
  EXPECT_EQ(axisOf(unflattened), 2u);
}

TEST(ClassAxis, IsTheSecondOneBehindAConvolution) {
  EXPECT_EQ(axisOf([](GraphMaker& g) {
              g.input("x", Proto::FLOAT, {-1, 3, 5}).output("y");
              addWeight(g, "w", {5, 3, 1});
              g.node("Conv", {"x", "w"}, {"scores"});
              g.node("Relu", {"scores"}, {"y"});
            }),
            1u);
}

TEST(ClassAxis, IsTheAxisOfASoftmax) {
  for (const std::int64_t axis : {-1, 1, 2}) {
    EXPECT_EQ(axisOf([axis](GraphMaker& g) {
                g.input("x", Proto::FLOAT, {-1, 4, 4}).output("y");
                setInt(g.node("LogSoftmax", {"x"}, {"y"}), "axis", axis);
              }),
              axis == 1 ? 1u : 2u);
  }
}

TEST(ClassAxis, WithoutASignTokensDecide) {
  const auto unknown = [](int type) {
    return [type](GraphMaker& g) {
      g.input("x", Proto::FLOAT, {-1, 4, 5}).input("ids", type, {-1, 4}).output("y").output("z");
      g.node("CumSum", {"x", "axis"}, {"y"});
      g.node("Neg", {"ids"}, {"z"});
      g.ints("axis", {}, {1});
    };
  };
  EXPECT_EQ(axisOf(unknown(Proto::INT64)), 2u);
  EXPECT_EQ(axisOf(unknown(Proto::FLOAT)), 1u);
}

}  // namespace
}  // namespace pipescope::onnx_test
