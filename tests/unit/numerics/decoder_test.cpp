// Decoding one token after cached ones gives the same result as reading all tokens at once.
#include <cmath>

#include "engine/builders/builder.h"
#include "engine/numerics/session.h"
#include "engine/ops/standard_operators.h"
#include "mnist_model.h"

namespace pipescope::numerics_test {
namespace {

using builders::Setting;
using Settings = std::map<std::string, Setting>;

std::unique_ptr<numerics::Session> decoder(Settings settings, std::int64_t batch, base::Executor& executor,
                                           graph::Graph& graph) {
  auto built = builders::buildModel({"decoder", std::move(settings), batch, false}, ops::standardOperators());
  PIPESCOPE_CHECK(built.ok(), built.error().message);
  graph = *built;
  return session(graph, nullptr, executor);
}

TEST(Decoder, DecodesAsItReads) {
  constexpr std::int64_t kBatch = 2, kLength = 5;
  const Settings common{{"layers", std::int64_t{2}},        {"hidden", std::int64_t{24}},
                        {"heads", std::int64_t{6}},         {"key_heads", std::int64_t{2}},
                        {"feed_forward", std::int64_t{40}}, {"vocabulary", std::int64_t{17}},
                        {"cache_at", std::string("host")}};
  const std::pair<const char*, Settings> variants[] = {
      {"llama", {{"norm", std::string("rms")}, {"gated", true}, {"activation", std::string("silu")}}},
      {"gpt-j", {{"parallel", true}, {"rotary_size", std::int64_t{2}}, {"feed_forward_bias", true}}},
      {"gpt-2", {{"position", std::string("learned")}, {"attention_bias", true}, {"tie_embeddings", true}}},
      {"multi-query", {{"key_heads", std::int64_t{1}}, {"parallel", true}, {"shared_norm", false}}}};
  base::SerialExecutor executor;
  for (const auto& [name, own] : variants) {
    Settings whole = common, before = common, after = common;
    for (Settings* each : {&whole, &before, &after}) {
      for (const auto& [key, value] : own) (*each)[key] = value;
    }
    whole["sequence"] = kLength;
    before["sequence"] = kLength - 1;
    after["phase"] = std::string("decode");
    after["cache"] = kLength - 1;
    after["sequence"] = std::int64_t{1};
    if (std::string(name) == "gpt-2") before["sequence"] = kLength - 1;
    graph::Graph wholeGraph, beforeGraph, afterGraph;
    const auto all = decoder(whole, kBatch, executor, wholeGraph),
               prompt = decoder(before, kBatch, executor, beforeGraph),
               token = decoder(after, kBatch, executor, afterGraph);
    const std::vector<std::int32_t> tokens{3, 1, 16, 8, 5, 0, 2, 9, 9, 4};
    const std::vector<std::int32_t> firsts{3, 1, 16, 8, 0, 2, 9, 9}, lasts{5, 4};
    if (std::string(name) == "gpt-2") {
      // The table of positions is as long as the sample. The shorter prompt reads the same first rows.
      const auto rows = all->parameters().floats(all->parameters().find("embeddings/positions/weight"));
      for (numerics::Session* other : {prompt.get(), token.get()}) {
        const auto mine = other->parameters().floats(other->parameters().find("embeddings/positions/weight"));
        std::copy_n(rows.begin(), std::min(mine.size(), rows.size()), mine.begin());
      }
    }
    numerics::Results expected, cache, actual;
    ASSERT_TRUE(all->infer({numerics::rowsOf(std::span(tokens))}, numerics::Keep::all, expected).ok());
    ASSERT_TRUE(prompt->infer({numerics::rowsOf(std::span(firsts))}, numerics::Keep::all, cache).ok());
    // After the scores, the outputs are the keys and values of each layer, in the order of the caches.
    numerics::Rows rows{numerics::rowsOf(std::span(lasts))};
    ASSERT_EQ(cache.outputs.size(), 1U + 4);
    for (std::size_t i = 1; i < cache.outputs.size(); ++i) rows.push_back(cache.outputs[i]);
    const base::Status status = token->infer(rows, numerics::Keep::all, actual);
    ASSERT_TRUE(status.ok()) << name << status.error().message;
    ASSERT_EQ(actual.output<float>(0).size(), 2U * 17);
    double largest = 0;
    for (std::size_t i = 0; i < 34; ++i) {
      EXPECT_NEAR(actual.output<float>(0)[i], expected.output<float>(0)[i], 2e-5) << name << " " << i;
      largest = std::max(largest, static_cast<double>(std::abs(expected.output<float>(0)[i])));
    }
    EXPECT_GT(largest, 1e-3) << "the scores must say something";
  }
}

TEST(Decoder, KeepsItsCacheOnTheDeviceWithoutValues) {
  const auto graph = builders::buildModel(
      {"decoder",
       {{"phase", std::string("decode")}, {"cache", std::int64_t{7}}, {"vocabulary", std::int64_t{5}}},
       1,
       false},
      ops::standardOperators());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  base::SerialExecutor executor;
  const auto made = numerics::Session::create(*graph, ops::standardOperators(), nullptr, executor);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(
      made.error().message,
      "constant decoder/layer0/attention/key_cache has no value; without one the model cannot be computed");
}

/// Parts of a batch have the same weights, and samples do not see each other.
TEST(Decoder, ASplitBatchGivesTheSameScores) {
  Settings whole{{"layers", std::int64_t{2}},
                 {"hidden", std::int64_t{24}},
                 {"heads", std::int64_t{6}},
                 {"feed_forward", std::int64_t{40}},
                 {"gated", true},
                 {"norm", std::string("rms")},
                 {"vocabulary", std::int64_t{17}},
                 {"sequence", std::int64_t{4}}};
  base::SerialExecutor executor;
  const std::vector<std::int32_t> tokens{3, 1, 16, 8, 0, 2, 9, 9, 5, 5, 1, 0};
  for (const bool parallel : {false, true}) {
    whole["parallel"] = parallel;
    Settings split = whole;
    split["batch_split"] = std::int64_t{2};  // two samples and one
    graph::Graph wholeGraph, splitGraph;
    const auto expected = decoder(whole, 3, executor, wholeGraph);
    const auto actual = decoder(split, 3, executor, splitGraph);
    EXPECT_EQ(actual->parameters().count(), expected->parameters().count());
    numerics::Results first, second;
    ASSERT_TRUE(expected->infer({numerics::rowsOf(std::span(tokens))}, numerics::Keep::all, first).ok());
    ASSERT_TRUE(actual->infer({numerics::rowsOf(std::span(tokens))}, numerics::Keep::all, second).ok());
    ASSERT_EQ(first.output<float>(0).size(), 3U * 17);
    for (std::size_t i = 0; i < 51; ++i)
      EXPECT_FLOAT_EQ(second.output<float>(0)[i], first.output<float>(0)[i]) << i;
  }
}

TEST(Decoder, SeesNoLaterTokens) {
  base::SerialExecutor executor;
  const auto graph = builders::buildModel({"decoder",
                                           {{"layers", std::int64_t{1}},
                                            {"hidden", std::int64_t{12}},
                                            {"heads", std::int64_t{3}},
                                            {"feed_forward", std::int64_t{12}},
                                            {"vocabulary", std::int64_t{9}},
                                            {"sequence", std::int64_t{4}}},
                                           1,
                                           true},
                                          ops::standardOperators());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  graph::Graph scores = *graph;
  for (const graph::Node& node : scores.nodes()) {
    if (node.name == "head/tokens") scores.outputs = node.outputs;
  }
  scores.loss.reset();
  scores.inputs.resize(1);
  graph::Graph forward;  // without the loss node, whose labels are then no input
  const auto copy = [&](const graph::Graph& from) {
    std::map<graph::TensorId, graph::TensorId> ids;
    for (const graph::Tensor& tensor : from.tensors()) {
      if (tensor.name == "labels" || tensor.name == "head/loss/out") continue;
      if (tensor.role == graph::TensorRole::parameter) {
        ids[tensor.id] = forward.addParameter(tensor.name, tensor.type, from.initializer(tensor.id));
      } else if (const auto* value = from.constant(tensor.id)) {
        ids[tensor.id] = forward.shareConstant(tensor.name, tensor.type, *value);
      } else {
        ids[tensor.id] = forward.addTensor(tensor.name, tensor.type, tensor.role);
      }
    }
    for (graph::Node node : from.nodes()) {
      if (node.name == "head/loss") continue;
      for (auto* list : {&node.inputs, &node.outputs}) {
        for (graph::TensorId& id : *list) id = ids.at(id);
      }
      forward.addNode(node);
    }
    forward.inputs = {ids.at(from.inputs[0])};
    forward.outputs = {ids.at(from.outputs[0])};
  };
  copy(scores);
  const auto made = session(forward, nullptr, executor);
  const auto run = [&](std::vector<std::int32_t> tokens) {
    numerics::Results results;
    const base::Status status =
        made->infer({numerics::rowsOf(std::span<const std::int32_t>(tokens))}, numerics::Keep::all, results);
    PIPESCOPE_CHECK(status.ok(), status.error().message);
    return std::vector<float>(results.output<float>(0).begin(), results.output<float>(0).end());
  };
  const std::vector<float> one = run({1, 2, 3, 4}), other = run({1, 2, 8, 7});
  EXPECT_TRUE(std::equal(one.begin(), one.begin() + 18, other.begin()))
      << "the first two positions see themselves";
  EXPECT_FALSE(std::equal(one.begin() + 18, one.begin() + 27, other.begin() + 18));
}

}  // namespace
}  // namespace pipescope::numerics_test
