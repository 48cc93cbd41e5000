// Tests that ranks whose keys and values go around compute together what the undivided model computes:
// fused attention, its ring and its gradient, executed by all ranks.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/compile/attention/fused_attention.h"
#include "engine/compile/attention/ring_attention.h"
#include "tests/unit/sharding/mesh_proof.h"

namespace pipescope::compile {
namespace {

constexpr std::int64_t kWords = 16;

/// Positions of each rank: neighbours, or an early part and a late one.
std::vector<std::vector<std::int64_t>> positionsOfRanks(std::int64_t positions, std::int64_t ranks,
                                                        bool paired) {
  std::vector<std::vector<std::int64_t>> all(static_cast<std::size_t>(ranks));
  const std::int64_t parts = paired ? 2 * ranks : ranks, length = positions / parts;
  for (std::int64_t p = 0; p < positions; ++p) {
    const std::int64_t part = p / length, owner = paired ? std::min(part, parts - 1 - part) : part;
    all[static_cast<std::size_t>(owner)].push_back(p);
  }
  return all;
}

/// The tokens of `samples` samples in the order in which ranks hold them, so that equal parts are theirs.
Bytes inOrderOfRanks(const Bytes& tokens, std::int64_t samples,
                     const std::vector<std::vector<std::int64_t>>& positions) {
  const auto length = static_cast<std::int64_t>(positions.size() * positions[0].size()),
             size = static_cast<std::int64_t>(tokens.size()) / samples / length;
  Bytes ordered;
  for (std::int64_t b = 0; b < samples; ++b) {
    for (const auto& part : positions) {
      for (const std::int64_t position : part) {
        const auto begin = tokens.begin() + (b * length + position) * size;
        ordered.insert(ordered.end(), begin, begin + size);
      }
    }
  }
  return ordered;
}

struct RingCase {
  std::int64_t ranks = 2, positions = 8;
  bool ring = true, paired = false, skips = true;
};

/// Trains a decoder undivided, and by ranks with fused attention. Compares the loss and every gradient.
void proveFused(const graph::Graph& model, const RingCase& of, unsigned seed, const std::string& what) {
  const ops::OperatorRegistry& operators = ops::standardOperators();
  const std::optional<Divided> divided =
      dividedBy(model, {{.ranks = of.ranks, .axis = MeshAxis::context, .positions = of.positions}}, what);
  ASSERT_TRUE(divided);
  const auto fused = fuseAttention(
      divided->graph, {.skipsMasked = of.skips, .paired = of.paired, .ring = of.ring}, operators);
  ASSERT_TRUE(fused.ok()) << what << ": " << fused.error().message;
  ASSERT_TRUE(*fused) << what << ": nothing is fused";
  const auto one = addGradients(model, operators);
  auto other = addGradients(**fused, operators);
  ASSERT_TRUE(one.ok() && other.ok()) << what;
  auto expanded = expandRings(*other, operators);
  ASSERT_TRUE(expanded.ok()) << what << ": " << expanded.error().message;
  const base::Status valid = ops::checkShapes(*expanded, operators);
  ASSERT_TRUE(valid.ok()) << what << ": " << valid.error().message;
  std::int64_t sends = 0, attentions = 0;
  for (const graph::Node& node : expanded->nodes()) {
    sends += node.op == "RankRing" ? 1 : 0;
    attentions += node.op == "FusedAttention" ? 1 : 0;
    const bool gathers = node.op == "RankGather" && node.pass == model::Pass::forward;
    EXPECT_FALSE(of.ring && gathers) << node.name;
  }
  ASSERT_GT(attentions, 0) << what;
  EXPECT_EQ(sends, of.ring ? attentions / of.ranks * 3 * (of.ranks - 1) : 0) << what;

  const auto positions = positionsOfRanks(of.positions, of.ranks, of.paired);
  RankMachine alone(*one, 1), together(*expanded, RankAxes{{"context", of.ranks}});
  together.setPositions(positions);
  for (const auto& [name, value] : valuesOf(model, seed, kWords)) {
    const graph::Tensor& tensor = *tensorNamed(model, name);
    alone.set(tensorNamed(*one, name)->id, {value});
    std::vector<Bytes> parts(static_cast<std::size_t>(of.ranks), value);
    const DividedAxis axis = divided->divisions[0].of(tensor.id);
    if (axis != kWhole) {
      const Bytes ordered = inOrderOfRanks(value, tensor.type.elements() / of.positions, positions);
      const std::size_t size = value.size() / static_cast<std::size_t>(tensor.type.elements());
      for (std::int64_t r = 0; r < of.ranks; ++r)
        parts[static_cast<std::size_t>(r)] = partOf(ordered, tensor.type.shape, size, axis, of.ranks, r,
                                                    blocksOf(divided->axes[0], tensor.type.shape, axis));
    }
    together.set(tensorNamed(*expanded, name)->id, std::move(parts));
  }
  alone.run();
  together.run();
  if (::testing::Test::HasFatalFailure()) return;
  for (std::int64_t r = 0; r < of.ranks; ++r)
    expectNear(numbersOf(alone.of(*one->loss)), numbersOf(together.of(*expanded->loss, r)), what + ", loss");
  for (const auto& [parameter, gradient] : one->parameterGradients) {
    const std::string& name = one->tensor(parameter).name;
    const auto found = expanded->parameterGradients.find(tensorNamed(*expanded, name)->id);
    ASSERT_NE(found, expanded->parameterGradients.end()) << what << ", " << name;
    expectNear(numbersOf(alone.of(gradient)),
               summedOver(*divided, meshOf(divided->axes), together, found->second, name, 0, of.ranks),
               what + ", gradient of " + name);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

graph::Graph drawnModel(Draw& draw, std::int64_t positions, const std::string& position) {
  const std::int64_t heads = draw.pick({2, 4});
  return modelOf("decoder",
                 {{"layers", draw.pick({1, 2})},
                  {"hidden", heads * 2},
                  {"heads", heads},
                  {"key_heads", draw.coin() ? std::int64_t{0} : heads / 2},
                  {"feed_forward", std::int64_t{8}},
                  {"sequence", positions},
                  {"vocabulary", kWords},
                  {"gated", draw.coin()},
                  {"norm", std::string(draw.coin() ? "rms" : "layer")},
                  {"position", position},
                  {"parallel", draw.coin()},
                  {"attention_bias", draw.coin()}},
                 draw.pick({1, 2}));
}

TEST(RingRanks, ComputeWhatTheModelDoes) {
  for (unsigned i = 0; i < 40; ++i) {
    Draw draw(i);
    RingCase of{.ranks = draw.pick({2, 3, 4}), .ring = i % 4 != 0, .skips = draw.coin()};
    of.positions = of.ranks * draw.pick({2, 3});
    // Without a ring a kernel that skips nothing reads the model's mask, which this machine does not.
    of.skips = of.skips || !of.ring;
    const graph::Graph model = drawnModel(draw, of.positions,
                                          draw.coin()   ? "rotary"
                                          : draw.coin() ? "none"
                                                        : "learned");
    if (HasFailure()) return;
    proveFused(model, of, i, "draw " + std::to_string(i));
    if (HasFailure()) return;
  }
}

/// Each rank has an early and a late part of the positions. Without embeddings of positions the model is the
/// same for all orders of its tokens but for the mask, which the kernels make.
TEST(RingRanks, ComputeWithPairedPositions) {
  for (unsigned i = 0; i < 12; ++i) {
    Draw draw(100 + i);
    RingCase of{.ranks = draw.pick({2, 3, 4}), .ring = draw.coin(), .paired = true};
    of.positions = 2 * of.ranks * draw.pick({1, 2});
    const graph::Graph model = drawnModel(draw, of.positions, "none");
    if (HasFailure()) return;
    proveFused(model, of, i, "draw " + std::to_string(i));
    if (HasFailure()) return;
  }
}

/// The graph of a rank: queries of its own positions, and keys and values that ranks gather.
class GatheredAttention {
 public:
  graph::Graph graph;
  graph::TensorId keys, values, queries;

  explicit GatheredAttention(bool gathersValues = true) {
    const graph::TensorId x =
        graph.addTensor("x", {graph::ElementType::float64, {1, kOwn, kSize}}, graph::TensorRole::input);
    graph.inputs = {x};
    const auto product = [&](const std::string& name) {
      return node("MatMul", name,
                  {x, graph.addParameter("w" + name, {graph::ElementType::float64, {kSize, kSize}}, {})});
    };
    queries = product("query");
    const graph::TensorId turned =
        node("Transpose", "turn", {product("key")}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
    keys = gather("keys", turned, 2);
    values = product("value");
    // Each rank needs the values of all positions. It has made a part of them and gathers the others, or it
    // makes all of them by itself.
    values = gathersValues ? gather("values", values, 1)
                           : node("Concat", "values", {values, values}, {{"axis", std::int64_t{1}}});
  }
  graph::TensorId attention(const std::string& name) {
    const graph::TensorId scores = node("MatMul", name + "/scores", {queries, keys});
    const graph::TensorId weights =
        node("Softmax", name + "/softmax", {scores}, {{"axis", std::int64_t{-1}}});
    return node("MatMul", name + "/context", {weights, values});
  }
  graph::TensorId node(const std::string& op, const std::string& name, std::vector<graph::TensorId> inputs,
                       graph::Attributes attributes = {}) {
    graph::Node made;
    made.op = op;
    made.name = name;
    made.inputs = std::move(inputs);
    made.attributes = std::move(attributes);
    auto outputs = ops::appendNode(graph, std::move(made), {name + "/out"}, graph::TensorRole::activation,
                                   ops::standardOperators());
    EXPECT_TRUE(outputs.ok()) << outputs.error().message;
    return outputs->front();
  }
  graph::TensorId gather(const std::string& name, graph::TensorId tensor, std::int64_t axis) {
    return node("RankGather", name, {tensor},
                {{"axis", axis},
                 {"ranks", kRanks},
                 {"mesh_axis", std::string("context")},
                 {"sums", std::int64_t{1}}});
  }
  /// The mean square of what the attentions give, as the loss.
  void addLoss(graph::TensorId y) {
    graph.outputs = {y};
    const graph::TensorId square = node("Mul", "square", {y, y});
    graph.loss = node("ReduceMean", "loss", {square}, {{"keepdims", std::int64_t{0}}});
  }
  std::int64_t gathersIn(const graph::Graph& of) const {
    return std::ranges::count_if(of.nodes(), [](const graph::Node& each) {
      return each.op == "RankGather" && each.pass == model::Pass::forward;
    });
  }

  static constexpr std::int64_t kOwn = 3, kSize = 2, kRanks = 2;
};

TEST(RingRanks, NeedBothFactorsOfAnAttention) {
  GatheredAttention model(false);
  model.graph.outputs = {model.attention("layer")};
  const auto refused = fuseAttention(model.graph, {.ring = true}, ops::standardOperators());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.error().message,
      "Ranks gather only one of the factors of layer/scores, so that no ring is possible: choose gather "
      "or heads for execution.context_exchange.");
  const auto gathered = fuseAttention(model.graph, {}, ops::standardOperators());
  ASSERT_TRUE(gathered.ok() && *gathered);
  EXPECT_EQ(model.gathersIn(**gathered), 1);
}

/// Two attentions share gathered keys and values: each has a ring of its own, and nothing is gathered. If
/// somebody else reads the gathered keys, they are gathered for it. Both compute what the gathers compute.
TEST(RingRanks, KeepAGatherThatSomebodyElseReads) {
  const ops::OperatorRegistry& operators = ops::standardOperators();
  for (const bool readByOthers : {false, true}) {
    GatheredAttention model;
    graph::TensorId y = model.node("Add", "sum", {model.attention("one"), model.attention("two")});
    if (readByOthers) {
      const graph::TensorId all =
          model.node("ReduceMean", "mean", {model.keys},
                     {{"keepdims", std::int64_t{0}}, {"axes", std::vector<std::int64_t>{0, 1, 2}}});
      y = model.node("Add", "shifted", {y, all});
    }
    model.addLoss(y);
    const auto fused = fuseAttention(model.graph, {.ring = true}, operators);
    ASSERT_TRUE(fused.ok() && *fused) << fused.error().message;
    EXPECT_EQ(model.gathersIn(**fused), readByOthers ? 1 : 0);
    const auto gathered = addGradients(model.graph, operators);
    auto trained = addGradients(**fused, operators);
    ASSERT_TRUE(gathered.ok() && trained.ok());
    const auto ring = expandRings(*trained, operators);
    ASSERT_TRUE(ring.ok()) << ring.error().message;
    const RankAxes axes{{"context", GatheredAttention::kRanks}};
    RankMachine one(*gathered, axes), other(*ring, axes);
    auto values = valuesOf(model.graph, 5, 2);
    for (const auto& [name, value] : values) {
      std::vector<Bytes> ofRanks(GatheredAttention::kRanks, value);
      if (name == "x") ofRanks[1] = valuesOf(model.graph, 6, 2).at(name);
      one.set(tensorNamed(*gathered, name)->id, ofRanks);
      other.set(tensorNamed(*ring, name)->id, ofRanks);
    }
    one.run();
    other.run();
    if (HasFailure()) return;
    for (std::int64_t r = 0; r < GatheredAttention::kRanks; ++r) {
      expectNear(numbersOf(one.of(gathered->outputs[0], r)), numbersOf(other.of(ring->outputs[0], r)),
                 "output");
      ASSERT_EQ(gathered->parameterGradients.size(), 3u);
      for (const auto& [parameter, gradient] : gathered->parameterGradients) {
        const std::string& name = gathered->tensor(parameter).name;
        expectNear(numbersOf(one.of(gradient, r)),
                   numbersOf(other.of(ring->parameterGradients.at(tensorNamed(*ring, name)->id), r)), name);
      }
    }
  }
}

}  // namespace
}  // namespace pipescope::compile
