#include "engine/graph/validate.h"

#include <gtest/gtest.h>

namespace pipescope::graph {
namespace {

constexpr ElementType kFloat = ElementType::float32;

Node makeNode(std::string name, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
              model::Pass pass = model::Pass::forward) {
  Node node;
  node.op = "Relu";
  node.name = std::move(name);
  node.pass = pass;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

std::string validateRefusal(const Graph& graph) {
  const base::Status status = validate(graph);
  return status.ok() ? "" : status.error().message;
}

/// x → relu → y
struct Small {
  Graph graph;
  TensorId x = graph.addTensor("x", {kFloat, {2, 3}}, TensorRole::input);
  TensorId y = graph.addTensor("y", {kFloat, {2, 3}}, TensorRole::activation);
  NodeId relu = graph.addNode(makeNode("relu", {x}, {y}));
};

TEST(Validate, TakesAGoodGraph) {
  Small small;
  small.graph.inputs = {small.x};
  small.graph.outputs = {small.y};
  EXPECT_EQ(validateRefusal(small.graph), "");
  EXPECT_EQ(small.graph.tensor(small.y).producer, small.relu);
}

TEST(Validate, RefusesNamesThatAreNotUnique) {
  Small small;
  small.graph.addTensor("x", {kFloat, {1}}, TensorRole::input);
  EXPECT_EQ(validateRefusal(small.graph), "two tensors are called x; give each its own name");
  Small nodes;
  const TensorId z = nodes.graph.addTensor("z", {kFloat, {2, 3}}, TensorRole::activation);
  nodes.graph.addNode(makeNode("relu", {nodes.y}, {z}));
  EXPECT_EQ(validateRefusal(nodes.graph), "two nodes are called relu; give each its own name");
}

TEST(Validate, RefusesMissingNames) {
  Small small;
  small.graph.addTensor("", {kFloat, {1}}, TensorRole::input);
  EXPECT_EQ(validateRefusal(small.graph), "tensor 2 has no name");
  Small nodes;
  const TensorId z = nodes.graph.addTensor("z", {kFloat, {2, 3}}, TensorRole::activation);
  nodes.graph.addNode(makeNode("", {nodes.y}, {z}));
  EXPECT_EQ(validateRefusal(nodes.graph), "node 1 (Relu) has no name");
}

TEST(Validate, RefusesExtentsThatCannotBe) {
  Small negative;
  negative.graph.addTensor("n", {kFloat, {2, -1}}, TensorRole::input);
  EXPECT_EQ(validateRefusal(negative.graph),
            "tensor n has the negative extent -1; give every extent as 0 or more");
  Small empty;
  empty.graph.addTensor("e", {kFloat, {2, 0}}, TensorRole::input);
  EXPECT_TRUE(validate(empty.graph).ok());
  Small large;
  large.graph.addTensor("l", {kFloat, {4000000000, 4000000000}}, TensorRole::input);
  EXPECT_EQ(validateRefusal(large.graph),
            "tensor l (4000000000x4000000000 float32) is too large to address; check its extents");
}

TEST(Validate, TensorsAreSmallerThanTwoToThe62Bytes) {
  constexpr std::int64_t k31 = std::int64_t{1} << 31, k59 = std::int64_t{1} << 59;
  const auto fits = [](ElementType element, const std::vector<std::int64_t>& shape) {
    Small small;
    small.graph.addTensor("l", {element, shape}, TensorRole::input);
    return validate(small.graph).ok();
  };
  EXPECT_TRUE(fits(ElementType::int8, {(std::int64_t{1} << 62) - 1}));
  EXPECT_FALSE(fits(ElementType::int8, {std::int64_t{1} << 62}));
  EXPECT_TRUE(fits(ElementType::int8, {k31, k31 - 1, 1}));
  EXPECT_FALSE(fits(ElementType::int8, {k31, k31}));
  EXPECT_TRUE(fits(ElementType::float64, {k59 - 1}));
  EXPECT_FALSE(fits(ElementType::float64, {k59}));
}

TEST(Validate, RefusesTensorsThatNobodyOrTooManyMake) {
  Small nobody;
  nobody.graph.addTensor("z", {kFloat, {1}}, TensorRole::activation);
  EXPECT_EQ(validateRefusal(nobody.graph), "no node makes tensor z");
  Small input;
  input.graph.addNode(makeNode("again", {input.y}, {input.x}));
  EXPECT_EQ(validateRefusal(input.graph), "tensor x is an input or a weight, yet a node writes it");
  Small twice;
  twice.graph.addNode(makeNode("again", {twice.x}, {twice.y}));
  EXPECT_EQ(validateRefusal(twice.graph), "tensor y is made twice, by nodes relu and again");
}

TEST(Validate, RefusesToReadWhatIsNotMadeYet) {
  Small small;
  const TensorId late = small.graph.addTensor("late", {kFloat, {2, 3}}, TensorRole::activation);
  const TensorId z = small.graph.addTensor("z", {kFloat, {2, 3}}, TensorRole::activation);
  small.graph.addNode(makeNode("early", {late}, {z}));
  small.graph.addNode(makeNode("maker", {z}, {late}));
  EXPECT_EQ(validateRefusal(small.graph), "node early reads late before a node has made it");
  Small own;
  const TensorId itself = own.graph.addTensor("itself", {kFloat, {2, 3}}, TensorRole::activation);
  own.graph.addNode(makeNode("circle", {itself}, {itself}));
  EXPECT_EQ(validateRefusal(own.graph), "node circle reads itself before a node has made it");
}

TEST(Validate, RefusesForwardAfterBackward) {
  Small small;
  const TensorId g = small.graph.addTensor("g", {kFloat, {2, 3}}, TensorRole::gradient);
  const TensorId z = small.graph.addTensor("z", {kFloat, {2, 3}}, TensorRole::activation);
  small.graph.addNode(makeNode("back", {small.y}, {g}, model::Pass::backward));
  small.graph.addNode(makeNode("forth", {g}, {z}));
  EXPECT_EQ(validateRefusal(small.graph), "forward node forth reads g, which the backward pass makes");
}

TEST(Validate, RefusesWrongEnds) {
  Small input;
  input.graph.inputs = {input.y};
  EXPECT_EQ(validateRefusal(input.graph), "y is listed as an input of the graph, but is none");
  Small loss;
  loss.graph.loss = loss.y;
  EXPECT_EQ(validateRefusal(loss.graph),
            "the loss y is 2x3 float32; it must be one number: reduce it to its mean or sum");
  Small gradient;
  const TensorId w = gradient.graph.addParameter("w", {kFloat, {3}}, {});
  gradient.graph.parameterGradients[w] = gradient.y;
  EXPECT_EQ(validateRefusal(gradient.graph), "gradient y is 2x3 float32, but w is 3 float32");
}

TEST(Graph, HoldsConstantsAndInitializers) {
  Graph graph;
  const TensorId c = graph.addConstant("c", {ElementType::int8, {2}}, {std::byte{1}, std::byte{2}});
  const TensorId w = graph.addParameter("w", {kFloat, {3}}, {Initializer::Kind::uniform, 0.5});
  EXPECT_EQ(graph.constantValue(c)->size(), 2U);
  EXPECT_EQ(graph.constantValue(w), nullptr);
  EXPECT_EQ(graph.constantValue(TensorId()), nullptr);
  EXPECT_EQ(graph.constantValue(TensorId(2)), nullptr) << "a tensor that the graph has not";
  EXPECT_EQ(graph.initializer(w).bound, 0.5);
  EXPECT_EQ(graph.tensor(c).role, TensorRole::constant);
}

TEST(Graph, AttributesFallBack) {
  Node node;
  node.attributes = {
      {"i", std::int64_t{3}}, {"f", 0.5}, {"s", "text"}, {"l", std::vector<std::int64_t>{1, 2}}};
  EXPECT_EQ(intAttribute(node, "i", 7), 3);
  EXPECT_EQ(intAttribute(node, "missing", 7), 7);
  EXPECT_EQ(floatAttribute(node, "f", 1), 0.5);
  EXPECT_EQ(stringAttribute(node, "s", ""), "text");
  EXPECT_EQ(intsAttribute(node, "l", {}), (std::vector<std::int64_t>{1, 2}));
}

TEST(TensorType, CountsAndNames) {
  EXPECT_EQ(toString(TensorType{kFloat, {40, 10, 12, 12}}), "40x10x12x12 float32");
  EXPECT_EQ(toString(TensorType{ElementType::int64, {}}), "int64");
  EXPECT_EQ((TensorType{ElementType::float16, {3, 4}}).bytes().count, 24);
  EXPECT_EQ((TensorType{ElementType::float64, {}}).bytes().count, 8);
  EXPECT_EQ((TensorType{ElementType::boolean, {5}}).bytes().count, 5);
}

TEST(TensorType, BytesAreThoseOfTheirBits) {
  const std::vector<std::pair<ElementType, int>> bits = {
      {ElementType::float64, 64},       {ElementType::int64, 64},     {ElementType::uint64, 64},
      {ElementType::float32, 32},       {ElementType::int32, 32},     {ElementType::uint32, 32},
      {ElementType::float16, 16},       {ElementType::bfloat16, 16},  {ElementType::int16, 16},
      {ElementType::uint16, 16},        {ElementType::int8, 8},       {ElementType::uint8, 8},
      {ElementType::boolean, 8},        {ElementType::float8_143, 8}, {ElementType::float8_143fn, 8},
      {ElementType::float8_143fnuz, 8}, {ElementType::float8_152, 8}, {ElementType::float8_152fnuz, 8},
      {ElementType::float4_121, 4}};
  for (const auto& [type, each] : bits)
    for (const std::int64_t elements : {0, 1, 2, 3, 8})
      EXPECT_EQ(bytesOf(type, elements), (elements * each + 7) / 8) << toString(type) << " " << elements;
}

}  // namespace
}  // namespace pipescope::graph
