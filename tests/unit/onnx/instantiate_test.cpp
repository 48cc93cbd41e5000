#include "engine/onnx/instantiate.h"

#include <gmock/gmock.h>

#include "engine/onnx/blocks.h"
#include "engine/onnx/loss.h"
#include "engine/onnx/own_loss.h"
#include "engine/ops/standard_operators.h"
#include "model_maker.h"

namespace pipescope::onnx_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

base::Result<onnx::Instance> instantiate(const ::onnx::ModelProto& proto,
                                         const onnx::InstantiateOptions& options = {}) {
  PIPESCOPE_ASSIGN(const onnx::Model model, read(proto));
  return onnx::instantiate(model, ops::standardOperators(), options);
}

std::string instantiateRefusal(const ::onnx::ModelProto& proto,
                               const onnx::InstantiateOptions& options = {}) {
  const auto instance = instantiate(proto, options);
  return instance.ok() ? "" : instance.error().message;
}

std::vector<std::string> operatorsOf(const graph::Graph& graph) {
  std::vector<std::string> ops;
  for (const graph::Node& node : graph.nodes()) ops.push_back(node.op);
  return ops;
}

/// Reshape(x, [Shape(x)[0], -1]) as exporters write it.
::onnx::ModelProto flattening() {
  return makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 3, 4}).output("y");
    g.ints("zero", {1}, {0}).ints("rest", {1}, {-1});
    g.node("Relu", {"x"}, {"r"});
    g.node("Shape", {"r"}, {"s"});
    g.node("Gather", {"s", "zero"}, {"b"});
    setInt(g.node("Concat", {"b", "rest"}, {"t"}), "axis", 0);
    g.node("Reshape", {"r", "t"}, {"y"});
    g.node("Neg", {"x"}, {"unused"});
  });
}

TEST(Instantiate, FoldsShapesAndDropsDeadNodes) {
  onnx::InstantiateOptions options;
  options.microBatch = 5;
  const auto instance = instantiate(flattening(), options);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  EXPECT_THAT(operatorsOf(instance->graph), ElementsAre("Relu", "Reshape"));
  EXPECT_EQ(instance->graph.tensor(instance->graph.outputs[0]).type.shape, (Ints{5, 12}));
}

TEST(Instantiate, AsksForOpenExtents) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, -2}).output("y");
    g.node("Relu", {"x"}, {"y"});
  });
  EXPECT_THAT(instantiateRefusal(model),
              HasSubstr("axis 1 of the input x is open: give the extent in model.assume, as n2 = 128."));
  onnx::InstantiateOptions options;
  options.microBatch = 4;
  options.assumed = {{"n2", {7}}};
  const auto instance = instantiate(model, options);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  EXPECT_EQ(instance->graph.tensor(instance->graph.inputs[0]).type.shape, (Ints{4, 7}));
  options.assumed = {{"n2", {7}}, {"n3", {7}}};
  EXPECT_THAT(instantiateRefusal(model, options),
              HasSubstr("model.assume gives n3, but neither an open extent of an input nor a value of the "
                        "model has that name; did you mean"));
  options.assumed = {{"n2", {0}}};
  EXPECT_THAT(instantiateRefusal(model, options),
              HasSubstr("would have the extent 0; it must be at least 1"));
  ::onnx::ModelProto untyped = model;
  untyped.mutable_graph()->mutable_input(0)->clear_type();
  EXPECT_THAT(instantiateRefusal(untyped), HasSubstr("does not say of what type the input x is"));
}

TEST(Instantiate, NamesNodesWhoseShapeDependsOnData) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {3}).output("y", Proto::INT64);
    g.node("NonZero", {"x"}, {"y"}, "where");
  });
  EXPECT_THAT(instantiateRefusal(model), HasSubstr("NonZero where"));
}

TEST(Instantiate, TakesAssumedValues) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {4, 3}).input("shape", Proto::INT64, {2}).output("y");
    g.node("Identity", {"shape"}, {"target"});
    g.node("Reshape", {"x", "target"}, {"y"}, "fold");
  });
  EXPECT_THAT(instantiateRefusal(model), HasSubstr("Reshape fold"));
  onnx::InstantiateOptions options;
  options.assumed = {{"target", {6, 2}}};
  const auto instance = instantiate(model, options);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  EXPECT_EQ(instance->graph.tensor(instance->graph.outputs[0]).type.shape, (Ints{6, 2}));
}

::onnx::ModelProto dense() {
  return makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 2}).output("y");
    g.floats("w", {2, 3}, {1, 2, 3, 4, 5, 6})
        .floats("b", {3}, {0, 1, 0})
        .floats("s", {}, {2})
        .floats("top", {}, {6});
    g.node("MatMul", {"x", "w"}, {"m"}, "encoder/layer.0/matmul");
    g.node("Add", {"m", "b"}, {"a"}, "encoder/layer.0/add");
    g.node("Mul", {"a", "s"}, {"c"}, "encoder/layer.1/mul");
    g.node("Clip", {"c", "", "top"}, {"y"}, "head/clip");
  });
}

TEST(Instantiate, WeightsAreParametersScalarsAndFrozenOnesConstants) {
  const auto instance = instantiate(dense());
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  EXPECT_EQ(instance->weightOf, (std::map<std::string, std::string>{{"b", "b"}, {"w", "w"}}));
  onnx::InstantiateOptions options;
  options.frozen = {"w*"};
  EXPECT_EQ(instantiate(dense(), options)->weightOf, (std::map<std::string, std::string>{{"b", "b"}}));
}

::onnx::ModelProto normalised() {
  return makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 3}).output("y");
    g.floats("one", {3}, {1, 1, 1})
        .floats("zero", {3}, {0, 0, 0})
        .floats("mean", {3}, {0, 0, 0})
        .floats("var", {3}, {1, 1, 1});
    auto& node = g.node("BatchNormalization", {"x", "one", "zero", "mean", "var"}, {"n", "m", "v"}, "bn");
    setInt(node, "training_mode", 1);
    setFloat(node, "momentum", 0.75F);
    g.floats("ratio", {}, {0.5F});
    g.node("Constant", {}, {"on"});
    auto* attribute = g->mutable_node(1)->add_attribute();
    attribute->set_name("value");
    attribute->set_type(::onnx::AttributeProto::TENSOR);
    attribute->mutable_t()->set_data_type(Proto::BOOL);
    attribute->mutable_t()->add_int32_data(1);
    g.node("Dropout", {"n", "ratio", "on"}, {"y"}, "drop");
  });
}

TEST(Instantiate, TrainingKeepsStatisticsAndDropout) {
  onnx::InstantiateOptions options;
  options.training = true;
  options.microBatch = 4;
  const auto instance = instantiate(normalised(), options);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  EXPECT_THAT(operatorsOf(instance->graph), ElementsAre("BatchNormalization", "Dropout"));
  ASSERT_EQ(instance->graph.stateUpdates.size(), 2U);
  EXPECT_EQ(instance->graph.tensor(instance->graph.stateUpdates[0].parameter).name, "mean");
  EXPECT_EQ(instance->graph.stateUpdates[1].keep, 0.75);
}

TEST(Instantiate, InferenceTurnsThemOff) {
  const auto instance = instantiate(normalised());
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  EXPECT_THAT(operatorsOf(instance->graph), ElementsAre("BatchNormalization"));
  EXPECT_EQ(graph::intAttribute(instance->graph.nodes()[0], "training_mode", 0), 0);
  EXPECT_TRUE(instance->graph.stateUpdates.empty());
  EXPECT_TRUE(instance->weightOf.contains("mean"));
}

TEST(Instantiate, AnUnbiasedVarianceIsThatOfASample) {
  ::onnx::ModelProto model = normalised();
  setInt(*model.mutable_graph()->mutable_node(0), "unbiased", 1);
  onnx::InstantiateOptions options;
  options.training = true;
  options.microBatch = 4;
  const auto instance = instantiate(model, options);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  EXPECT_EQ(instance->graph.stateUpdates[0].scale, 1);
  EXPECT_DOUBLE_EQ(instance->graph.stateUpdates[1].scale, 4.0 / 3);
  EXPECT_FALSE(instance->graph.nodes()[0].attributes.contains("unbiased"));
}

/// y = x + mean, and mean ← y[0] as PyTorch's buffers are exported. `value` is the new value.
::onnx::ModelProto assigning(const std::string& old, const std::string& value) {
  return makeModel(17, [&](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2, 3}).output("y").output("moved");
    g.floats("mean", {3}, {1, 2, 3}).ints("first", {}, {0});
    g.node("StopGradient", {"mean"}, {"seen"}).set_domain("pipescope");
    g.node("Identity", {"seen"}, {"copy"});
    g.node("Add", {"x", "copy"}, {"y"});
    setInt(g.node("Gather", {"y", "first"}, {"row"}), "axis", 0);
    g.node("AssignState", {old, value}, {"moved"}).set_domain("pipescope");
  });
}

TEST(Instantiate, AnAssignedStateIsNoOutput) {
  onnx::InstantiateOptions options;
  options.training = true;
  const auto instance = instantiate(assigning("copy", "row"), options);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  const graph::Graph& graph = instance->graph;
  ASSERT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(graph.tensor(graph.outputs[0]).name, "y");
  ASSERT_EQ(graph.stateUpdates.size(), 1U);
  EXPECT_EQ(graph.tensor(graph.stateUpdates[0].parameter).name, "mean");
  EXPECT_EQ(graph.tensor(graph.stateUpdates[0].result).name, "moved");
  EXPECT_EQ(graph.stateUpdates[0].keep, 0);
}

TEST(Instantiate, OnlyWeightsCanBeAssigned) {
  onnx::InstantiateOptions options;
  options.training = true;
  EXPECT_THAT(instantiateRefusal(assigning("y", "y"), options),
              HasSubstr("AssignState make_moved: y is no weight of the model that can be assigned"));
  EXPECT_THAT(instantiateRefusal(assigning("copy", "y"), options),
              HasSubstr("the new value is 2x3 float32, but the old one is 3 float32; they must be equal"));
}

/// Two norms in a row. Equal values are stored once, as exporters do.
::onnx::ModelProto sharedZeros(std::int64_t trainingMode) {
  return makeModel(17, [trainingMode](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 3}).output("y");
    g.floats("ones", {3}, {1, 1, 1}).floats("zeros", {3}, {0, 0, 0});
    setInt(g.node("BatchNormalization", {"x", "ones", "zeros", "zeros", "ones"}, {"n"}, "first"),
           "training_mode", trainingMode);
    setInt(g.node("BatchNormalization", {"n", "ones", "zeros", "zeros", "ones"}, {"y"}, "second"),
           "training_mode", trainingMode);
  });
}

TEST(Instantiate, SharedZerosAreTrainedAsBiasAndKeptAsMean) {
  onnx::InstantiateOptions options;
  options.training = true;
  const auto instance = instantiate(sharedZeros(0), options);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  for (const graph::Node& node : instance->graph.nodes()) {
    EXPECT_EQ(instance->graph.tensor(node.inputs[2]).name, "zeros");
    EXPECT_EQ(instance->graph.tensor(node.inputs[2]).role, graph::TensorRole::parameter);
    EXPECT_EQ(instance->graph.tensor(node.inputs[3]).role, graph::TensorRole::constant);
    EXPECT_EQ(instance->graph.tensor(node.inputs[4]).role, graph::TensorRole::constant);
  }
  EXPECT_EQ(instance->weightOf, (std::map<std::string, std::string>{{"ones", "ones"}, {"zeros", "zeros"}}));
}

/// PyTorch exports two layers with equal biases with one initializer, which the second layer reads through
/// Identity.
::onnx::ModelProto deduplicated(const Floats& shared) {
  return makeModel(17, [&](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 2}).output("y");
    g.floats("a.bias", {2}, shared).floats("w", {2, 2}, {1, 2, 3, 4});
    g.node("Identity", {"a.bias"}, {"b.bias"}, "Identity_0");
    g.node("Gemm", {"x", "w", "a.bias"}, {"h"}, "a");
    g.node("Gemm", {"h", "w", "b.bias"}, {"y"}, "b");
  });
}

TEST(Instantiate, WeightsOfOneNumberBehindAnIdentityAreNotTied) {
  onnx::InstantiateOptions options;
  options.training = true;
  const auto apart = instantiate(deduplicated({0, 0}), options);
  ASSERT_TRUE(apart.ok()) << apart.error().message;
  EXPECT_THAT(operatorsOf(apart->graph), ElementsAre("Gemm", "Gemm"));
  EXPECT_EQ(apart->weightOf.at("a.bias"), "a.bias");
  EXPECT_EQ(apart->weightOf.at("b.bias"), "b.bias");
  EXPECT_EQ(apart->graph.tensor(apart->graph.nodes()[1].inputs[2]).name, "b.bias");
  const auto tied = instantiate(deduplicated({0.25F, -1}), options);
  ASSERT_TRUE(tied.ok()) << tied.error().message;
  EXPECT_FALSE(tied->weightOf.contains("b.bias"));
  options.untied = true;
  const auto inference = instantiate(deduplicated({0.25F, -1}), options);
  ASSERT_TRUE(inference.ok()) << inference.error().message;
  EXPECT_TRUE(inference->weightOf.contains("b.bias"));
}

TEST(Instantiate, RefusesToMoveStatisticsThatAreShared) {
  ::onnx::ModelProto model = sharedZeros(1);
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    node.add_output(node.name() + "_mean");
    node.add_output(node.name() + "_variance");
  }
  onnx::InstantiateOptions options;
  options.training = true;
  options.microBatch = 4;
  EXPECT_THAT(instantiateRefusal(model, options),
              HasSubstr("zeros is a running statistic of BatchNormalization first and is also read "
                        "by first"));
}

TEST(Instantiate, UnrollsLoopsAndChoosesBranches) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("y").output("all");
    g.ints("trips", {}, {3}).floats("step", {2}, {1, 2});
    auto& node = g.node("Loop", {"trips", "", "x"}, {"y", "all"}, "loop");
    GraphMaker body = setGraph(node, "body");
    body.input("i", Proto::INT64, {}).input("on", Proto::BOOL, {}).input("v", Proto::FLOAT, {2});
    body.output("on", Proto::BOOL).output("next").output("next");
    body.node("Add", {"v", "step"}, {"next"}, "add");
  });
  const auto instance = instantiate(model);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  EXPECT_EQ(std::ranges::count(operatorsOf(instance->graph), "Add"), 3);
  EXPECT_EQ(instance->graph.tensor(instance->graph.outputs[1]).type.shape, (Ints{3, 2}));
  EXPECT_EQ(instance->graph.nodes()[1].name, "loop/1/add");
}

TEST(Instantiate, NamesLoopsAndBranchesThatDependOnData) {
  const auto branch = makeModel(17, [](GraphMaker& g) {
    g.input("c", Proto::BOOL, {}).input("x", Proto::FLOAT, {2}).output("y");
    auto& node = g.node("If", {"c"}, {"y"}, "choose");
    setGraph(node, "then_branch").output("x");
    setGraph(node, "else_branch").output("x");
  });
  EXPECT_THAT(instantiateRefusal(branch),
              HasSubstr("If choose: its condition depends on the data; a model on emulated devices needs it "
                        "fixed. Give c in model.assume, as c = 1, or compute"));
  onnx::InstantiateOptions chosen;
  chosen.assumed = {{"c", {1}}};
  EXPECT_TRUE(instantiate(branch, chosen).ok());
  const auto loop = makeModel(17, [](GraphMaker& g) {
    g.input("trips", Proto::INT64, {}).input("x", Proto::FLOAT, {2}).output("y");
    auto& node = g.node("Loop", {"trips", "", "x"}, {"y"}, "loop");
    GraphMaker body = setGraph(node, "body");
    body.input("i", Proto::INT64, {}).input("on", Proto::BOOL, {}).input("v", Proto::FLOAT, {2});
    body.output("on", Proto::BOOL).output("v");
  });
  EXPECT_THAT(instantiateRefusal(loop),
              HasSubstr("Loop loop: its trip count depends on the data: give trips in model.assume, as "
                        "trips = 4, or compute the model with `pipescope infer`."));
  onnx::InstantiateOptions options;
  options.assumed = {{"trips", {2}}};
  const auto instance = instantiate(loop, options);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  EXPECT_EQ(instance->graph.inputs.size(), 1U);
}

/// All open extents are named at once, also those without a symbol, and inputs of other ranks share symbols.
TEST(Instantiate, AsksForAllOpenExtentsAtOnce) {
  auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 3, -2, -3}).input("u", Proto::FLOAT, {-1, 1, 1, -4}).output("y");
    g.node("Add", {"x", "u"}, {"y"});
  });
  model.mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(3)
      ->clear_dim_param();
  EXPECT_THAT(
      instantiateRefusal(model),
      HasSubstr("axis 2 of the input x, axis 3 of the input x, axis 3 of the input u are open: give the "
                "extents in model.assume, as n2 = 128, n3 = 128, u_axis_3 = 128."));
  onnx::InstantiateOptions options;
  options.assumed = {{"n2", {7}}, {"n3", {5}}, {"u_axis_3", {5}}};
  const auto instance = instantiate(model, options);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  EXPECT_EQ(instance->graph.tensor(instance->graph.outputs[0]).type.shape, (Ints{1, 3, 7, 5}));
}

/// A refused node says which value may be given; a name that nothing has is refused first.
TEST(Instantiate, SaysHowToFixShapesThatDependOnData) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {8, 2}).output("y").ints("one", {1}, {1}).ints("two", {1}, {2});
    auto& most = g.node("ReduceMax", {"x"}, {"most"});
    setInt(most, "keepdims", 0);
    setInt(g.node("Cast", {"most"}, {"whole"}), "to", Proto::INT64);
    g.node("Reshape", {"whole", "one"}, {"rows"});
    setInt(g.node("Concat", {"rows", "two"}, {"shape"}), "axis", 0);
    g.node("Reshape", {"x", "shape"}, {"y"}, "arrange");
  });
  EXPECT_THAT(instantiateRefusal(model),
              HasSubstr("is computed while the model runs; it must be a constant of the graph: give shape in "
                        "model.assume, as shape = [4, 128], or compute the model with `pipescope infer`"));
  onnx::InstantiateOptions options;
  options.assumed = {{"shapes", {8, 2}}};
  EXPECT_THAT(instantiateRefusal(model, options), HasSubstr("gives shapes, but neither"));
  options.assumed = {{"most", {8}}};
  EXPECT_THAT(instantiateRefusal(model, options),
              HasSubstr("only whole numbers and truth values can be given"));
  for (const auto& [name, value] : std::map<std::string, Ints>{{"shape", {4, 4}}, {"whole", {8}}}) {
    options.assumed = {{name, value}};
    const auto instance = instantiate(model, options);
    ASSERT_TRUE(instance.ok()) << name << instance.error().message;
    EXPECT_EQ(instance->graph.tensor(instance->graph.outputs[0]).type.shape,
              name == "shape" ? (Ints{4, 4}) : (Ints{8, 2}));
  }
  const auto found = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {8}).output("y");
    g.node("NonZero", {"x"}, {"y"}, "find");
  });
  EXPECT_THAT(instantiateRefusal(found),
              HasSubstr("which is computed while the model runs; `pipescope infer` computes such models"));
}

TEST(Instantiate, UnrollingIsBounded) {
  const auto model = [](int nodes) {
    return makeModel(17, [nodes](GraphMaker& g) {
      g.input("x", Proto::FLOAT, {2}).output("y").ints("trips", {}, {std::int64_t{1} << 50});
      auto& node = g.node("Loop", {"trips", "", "x"}, {"y"}, "loop");
      GraphMaker body = setGraph(node, "body");
      body.input("i", Proto::INT64, {}).input("on", Proto::BOOL, {}).input("v0", Proto::FLOAT, {2});
      body.output("on", Proto::BOOL).output("v" + std::to_string(nodes));
      for (int i = 0; i < nodes; ++i)
        body.node("Relu", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
    });
  };
  onnx::InstantiateOptions options;
  options.maxNodes = 500;
  EXPECT_THAT(instantiateRefusal(model(2), options),
              HasSubstr("more than 500 nodes once its loops are unrolled"));
  EXPECT_THAT(instantiateRefusal(model(0), options),
              HasSubstr("the loop would be unrolled more than 500 times"));
}

std::vector<std::string> blocksOf(const std::vector<onnx::BlockRule>& rules) {
  const auto blocks = onnx::assignBlocks(instantiate(dense())->graph, rules);
  EXPECT_TRUE(blocks.ok()) << blocks.error().message;
  std::vector<std::string> names;
  if (blocks.ok()) {
    for (const graph::Node& node : blocks->nodes()) names.push_back(node.block);
  }
  return names;
}

TEST(Blocks, ByPatternPrefixAndEveryLayer) {
  EXPECT_THAT(blocksOf({}), ElementsAre("model", "model", "model", "model"));
  EXPECT_THAT(blocksOf({{"A", {"*matmul"}, "", "", 1}, {"B", {"*/mul", "head/*"}, "", "", 1}}),
              ElementsAre("A", "A", "B", "B"));
  EXPECT_THAT(blocksOf({{"front", {}, "encoder/layer.0", "", 1}, {"back", {}, "head", "", 1}}),
              ElementsAre("front", "front", "front", "back"));
  EXPECT_THAT(blocksOf({{"L", {}, "", "encoder/layer.*", 1}}), ElementsAre("L0", "L0", "L1", "L1"));
  EXPECT_THAT(blocksOf({{"L", {}, "", "encoder/layer.*", 2}, {"H", {}, "head", "", 1}}),
              ElementsAre("L0", "L0", "L0", "H"));
}

TEST(Blocks, NodesWithoutRuleBeforeAllGoWithTheirReaders) {
  EXPECT_THAT(blocksOf({{"A", {"*/add"}, "", "", 1}, {"B", {"head/clip"}, "", "", 1}}),
              ElementsAre("A", "A", "A", "B"));
}

TEST(Blocks, RulesMustSayOneThingAndFitSomeNode) {
  const graph::Graph graph = instantiate(dense())->graph;
  EXPECT_THAT(onnx::assignBlocks(graph, {{"A", {}, "decoder", "", 1}}).error().message,
              HasSubstr("block A contains no node"));
  EXPECT_THAT(onnx::assignBlocks(graph, {{"A", {}, "", "", 1}}).error().message,
              HasSubstr("block A has none of the keys"));
  EXPECT_THAT(onnx::assignBlocks(graph, {{"A", {"*"}, "head", "", 1}}).error().message,
              HasSubstr("block A has several of the keys nodes, prefix and matching"));
  EXPECT_THAT(onnx::assignBlocks(graph, {{"", {"*"}, "", "", 1}}).error().message, HasSubstr("has no name"));
}

TEST(Blocks, NamesMayBeginWithASlash) {
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {2}).output("d");
    g.node("Neg", {"x"}, {"a"}, "/layers.0/Neg");
    g.node("Abs", {"a"}, {"b"}, "/layers.1/Abs");
    g.node("Exp", {"b"}, {"c"}, "/head/Exp");
    g.node("Neg", {"c"}, {"d"}, "/head/Neg");
  });
  for (const std::string slash : {"", "/"}) {
    const auto blocks = onnx::assignBlocks(instantiate(model)->graph, {{"L", {}, "", slash + "layers.*", 1},
                                                                       {"E", {slash + "*/Exp"}, "", "", 1},
                                                                       {"H", {}, slash + "head", "", 1}});
    ASSERT_TRUE(blocks.ok()) << blocks.error().message;
    std::vector<std::string> names;
    for (const graph::Node& node : blocks->nodes()) names.push_back(node.block);
    EXPECT_THAT(names, ElementsAre("L0", "L1", "E", "H"));
  }
}

TEST(Blocks, Patterns) {
  EXPECT_TRUE(onnx::matches("a*c", "abbc"));
  EXPECT_TRUE(onnx::matches("*", ""));
  EXPECT_TRUE(onnx::matches("a?c*", "abc"));
  EXPECT_FALSE(onnx::matches("a*c", "abcd"));
  EXPECT_FALSE(onnx::matches("", "a"));
  EXPECT_FALSE(onnx::matches(std::string(40, '*') + "b", std::string(5000, 'a')));
}

TEST(Instantiate, AMaskOfInfinitiesIsNoWeight) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto model = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 2}).output("y");
    g.floats("mask", {2}, {0, -kInfinity}).floats("low", {2}, {0, -3.4e38F}).floats("bias", {2}, {0, -10000});
    g.node("Add", {"x", "mask"}, {"a"});
    g.node("Add", {"a", "low"}, {"b"});
    g.node("Add", {"b", "bias"}, {"y"});
  });
  const auto instance = instantiate(model);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  std::vector<std::string> trained;
  for (const graph::Tensor& tensor : instance->graph.tensors()) {
    if (tensor.role == graph::TensorRole::parameter) trained.push_back(tensor.name);
  }
  EXPECT_THAT(trained, ElementsAre("bias"));
}

base::Result<onnx::Instance> withLoss(const ::onnx::ModelProto& proto, const std::string& loss,
                                      bool training = true) {
  PIPESCOPE_ASSIGN(const onnx::Model model, read(proto));
  onnx::TrainingModelOptions options;
  options.loss = loss;
  options.instantiate.training = training;
  options.instantiate.microBatch = 2;
  return onnx::instantiateWithLoss(model, ops::standardOperators(), options);
}

TEST(Loss, IsPutBehindTheFirstOutput) {
  for (const char* loss : {"cross_entropy", "nll", "mse", "bce"}) {
    const auto instance = withLoss(dense(), loss);
    ASSERT_TRUE(instance.ok()) << loss << ": " << instance.error().message;
    ASSERT_TRUE(instance->graph.loss);
    EXPECT_EQ(instance->graph.inputs.size(), 2U);
    const graph::Tensor& labels = instance->graph.tensor(instance->graph.inputs[1]);
    const bool numbers = std::string(loss) == "mse" || std::string(loss) == "bce";
    EXPECT_EQ(labels.type.element, numbers ? graph::ElementType::float32 : graph::ElementType::int32);
    EXPECT_EQ(labels.type.elements(), numbers ? 6 : 2);
  }
}

TEST(Loss, OfTheModelItselfIsFound) {
  const auto own = makeModel(17, [](GraphMaker& g) {
    g.input("labels", Proto::INT64, {-1}).input("x", Proto::FLOAT, {-1, 3}).output("loss");
    g.floats("b", {3}, {0, 1, 2});
    g.node("Add", {"x", "b"}, {"scores"});
    g.node("SoftmaxCrossEntropyLoss", {"scores", "labels"}, {"loss"});
  });
  const auto training = withLoss(own, "model");
  ASSERT_TRUE(training.ok()) << training.error().message;
  EXPECT_EQ(training->graph.tensor(training->graph.outputs[0]).name, "scores");
  EXPECT_EQ(training->graph.tensor(*training->graph.loss).name, "loss");
  EXPECT_EQ(training->graph.tensor(training->graph.inputs.back()).type.element, graph::ElementType::int32);
  const auto inference = withLoss(own, "model", false);
  ASSERT_TRUE(inference.ok()) << inference.error().message;
  EXPECT_EQ(inference->graph.inputs.size(), 1U);
  EXPECT_THAT(operatorsOf(inference->graph), ElementsAre("Add"));
}

TEST(Loss, OfOtherOperatorsIsAnOutputOfOneNumber) {
  const auto own = [](bool declared) {
    return makeModel(17, [declared](GraphMaker& g) {
      g.input("target", Proto::FLOAT, {-1, 3}).input("x", Proto::FLOAT, {-1, 3});
      g.output("loss", Proto::FLOAT, {}, declared).output("scores", Proto::FLOAT, {-1, 3}, true);
      g.floats("b", {3}, {0, 1, 2});
      g.node("Add", {"x", "b"}, {"scores"});
      g.node("Sub", {"scores", "target"}, {"difference"});
      g.node("Mul", {"difference", "difference"}, {"square"});
      setInt(g.node("ReduceMean", {"square"}, {"loss"}), "keepdims", 0);
    });
  };
  const auto training = withLoss(own(true), "model");
  ASSERT_TRUE(training.ok()) << training.error().message;
  EXPECT_EQ(training->graph.tensor(training->graph.outputs[0]).name, "scores");
  EXPECT_EQ(training->graph.tensor(*training->graph.loss).name, "loss");
  EXPECT_EQ(training->graph.tensor(training->graph.inputs.back()).name, "target");
  const auto inference = withLoss(own(true), "model", false);
  ASSERT_TRUE(inference.ok()) << inference.error().message;
  ASSERT_EQ(inference->graph.inputs.size(), 1U);
  EXPECT_EQ(inference->graph.tensor(inference->graph.inputs[0]).name, "x");
  EXPECT_THAT(operatorsOf(inference->graph), ElementsAre("Add"));
  EXPECT_THAT(withLoss(own(false), "model").error().message, HasSubstr("declared as one float32"));
}

/// A model whose only output is its loss trains on that loss, and infers the scores by an Add alone.
void expectScoresAndLoss(const ::onnx::ModelProto& own) {
  const auto model = read(own);
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE(onnx::hasOwnLoss(*model));
  const auto training = withLoss(own, "model");
  ASSERT_TRUE(training.ok()) << training.error().message;
  EXPECT_EQ(training->graph.tensor(training->graph.outputs[0]).name, "scores");
  EXPECT_EQ(training->graph.tensor(*training->graph.loss).name, "loss");
  const auto inference = withLoss(own, "model", false);
  ASSERT_TRUE(inference.ok()) << inference.error().message;
  EXPECT_THAT(operatorsOf(inference->graph), ElementsAre("Add"));
}

TEST(Loss, MayBeTheOnlyOutputAndTheSumOfTwo) {
  const auto own = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 3})
        .input("first", Proto::INT64, {-1})
        .input("second", Proto::INT64, {-1});
    g.output("loss", Proto::FLOAT, {}, true);
    g.floats("b", {3}, {0, 1, 2});
    g.node("Add", {"x", "b"}, {"scores"});
    g.node("SoftmaxCrossEntropyLoss", {"scores", "first"}, {"one"});
    g.node("SoftmaxCrossEntropyLoss", {"scores", "second"}, {"two"});
    g.node("Add", {"one", "two"}, {"loss"});
  });
  expectScoresAndLoss(own);
  const auto plain = read(dense());
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(onnx::hasOwnLoss(*plain));
}

TEST(Loss, OfPlainOperatorsMayBeTheOnlyOutput) {
  // A mask of rows comes after the labels, and the labels' shape is that of the samples.
  for (const bool masked : {false, true}) {
    const auto own = makeModel(17, [masked](GraphMaker& g) {
      if (masked) g.input("mask", Proto::FLOAT, {-1, 1});
      g.input("labels", Proto::INT64, {-1}).input("x", Proto::FLOAT, {-1, 3});
      g.output("loss", Proto::FLOAT, {}, true);
      g.floats("b", {3}, {0, 1, 2}).ints("column", {2}, {-1, 1});
      g.node("Reshape", {"labels", "column"}, {"rows"});
      g.node("Add", {"x", "b"}, {"scores"});
      g.node("ReduceLogSumExp", {"scores"}, {"sums"});
      g.node("GatherElements", {"scores", "rows"}, {"chosen"});
      g.node("Sub", {"sums", "chosen"}, {masked ? "all" : "each"});
      if (masked) g.node("Mul", {"all", "mask"}, {"each"});
      setInt(g.node("ReduceMean", {"each"}, {"loss"}), "keepdims", 0);
    });
    expectScoresAndLoss(own);
  }
}

TEST(Loss, Refusals) {
  EXPECT_THAT(withLoss(dense(), "model").error().message, HasSubstr("it has no loss of its own"));
  // The mean square of weights − labels: nothing is predicted from a sample.
  const auto lonely = makeModel(17, [](GraphMaker& g) {
    g.input("labels", Proto::FLOAT, {5, 3}).output("loss", Proto::FLOAT, {}, true);
    g.floats("w", {3}, {0, 1, 2});
    g.node("Sub", {"w", "labels"}, {"difference"});
    g.node("Mul", {"difference", "difference"}, {"square"});
    setInt(g.node("ReduceMean", {"square"}, {"loss"}), "keepdims", 0);
  });
  EXPECT_THAT(withLoss(lonely, "model").error().message,
              HasSubstr("its output loss is computed from its only input, labels."));
  EXPECT_THAT(withLoss(lonely, "cross_entropy").error().message,
              HasSubstr("its first output is one float32, so it scores no classes. If it is the loss, set "
                        "training.loss to \"model\""));
  EXPECT_THAT(withLoss(dense(), "hinge").error().message, HasSubstr("the loss hinge is not known"));
  const auto flat = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1}).output("y");
    g.node("Relu", {"x"}, {"y"});
  });
  EXPECT_THAT(withLoss(flat, "cross_entropy").error().message,
              HasSubstr("a loss of classes needs an axis of classes"));
  const auto whole =
      makeModel(17, [](GraphMaker& g) { g.input("x", Proto::INT64, {-1}).output("x", Proto::INT64); });
  const auto nothing = makeModel(17, [](GraphMaker& g) { g.input("x", Proto::FLOAT, {-1, 3}); });
  EXPECT_THAT(withLoss(nothing, "mse").error().message, HasSubstr("has no outputs"));
  EXPECT_THAT(withLoss(whole, "mse").error().message, HasSubstr("this loss is for float32"));
  const auto inner = makeModel(17, [](GraphMaker& g) {
    g.input("x", Proto::FLOAT, {-1, 3}).output("loss").ints("labels", {2}, {0, 1});
    g.node("SoftmaxCrossEntropyLoss", {"x", "labels"}, {"loss"}, "ce");
  });
  EXPECT_THAT(withLoss(inner, "model").error().message, HasSubstr("does not read its labels from an input"));
}

}  // namespace
}  // namespace pipescope::onnx_test
