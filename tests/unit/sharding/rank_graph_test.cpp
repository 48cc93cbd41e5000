// Tests that the ranks of a divided model compute together what the undivided model computes: losses, outputs
// and the gradient of every weight. The graphs of all ranks run with their collectives in one process.
#include "engine/compile/sharding/rank_graph.h"

#include <gtest/gtest.h>

#include "engine/compile/gradients.h"
#include "engine/compile/sharding/gathered_again.h"
#include "engine/compile/sharding/padded_vocabulary.h"
#include "tests/unit/sharding/sharding_models.h"

namespace pipescope::compile {
namespace {

using namespace sharding_test;

struct Proof {
  std::int64_t divided = 0;  ///< weights of which each rank has a part
  std::map<std::string, std::int64_t> exchanged;
};

/// Runs the model undivided and by its ranks, and compares.
Proof prove(const graph::Graph& forward, const DivisionOptions& options, unsigned seed,
            std::int64_t vocabulary, const std::string& what) {
  Proof proof;
  const ops::OperatorRegistry& operators = ops::standardOperators();
  const auto division = divideGraph(forward, options);
  EXPECT_TRUE(division.ok()) << what << ": " << division.error().message;
  if (!division.ok()) return proof;
  const auto ofRank = graphOfRank(forward, *division, operators);
  EXPECT_TRUE(ofRank.ok()) << what << ": " << ofRank.error().message;
  if (!ofRank.ok()) return proof;
  const base::Status valid = ops::checkShapes(*ofRank, operators);
  EXPECT_TRUE(valid.ok()) << what << ": " << valid.error().message;
  graph::Graph whole = forward, rank = *ofRank;
  if (forward.loss) {
    auto one = addGradients(forward, operators), other = addGradients(*ofRank, operators);
    EXPECT_TRUE(one.ok() && other.ok()) << what << (other.ok() ? "" : ": " + other.error().message);
    if (!one.ok() || !other.ok()) return proof;
    whole = std::move(*one);
    rank = std::move(*other);
    if (options.sequence) {
      auto again = gatherAgain(rank, operators);
      EXPECT_TRUE(again.ok()) << what << ": " << again.error().message;
      if (!again.ok()) return proof;
      rank = std::move(*again);
    }
  }
  RankMachine alone(whole, 1), together(rank, options.ranks);
  const auto values = valuesOf(forward, seed, vocabulary);
  for (const auto& [name, bytes] : values) {
    const graph::Tensor &one = *tensorNamed(whole, name), &other = *tensorNamed(rank, name);
    alone.set(one.id, {bytes});
    const DividedAxis axis = division->of(tensorNamed(forward, name)->id);
    std::vector<Bytes> parts;
    for (std::int64_t r = 0; r < options.ranks; ++r)
      parts.push_back(
          axis == kWhole ? bytes : sharding_test::partOf(bytes, one.type.shape, 8, axis, options.ranks, r));
    together.set(other.id, std::move(parts));
    proof.divided += axis == kWhole ? 0 : 1;
  }
  alone.run();
  together.run();
  if (::testing::Test::HasFatalFailure()) return proof;
  proof.exchanged = together.exchanged();
  for (std::size_t i = 0; i < whole.outputs.size(); ++i)
    for (std::int64_t r = 0; r < options.ranks; ++r)
      expectNear(numbersOf(alone.of(whole.outputs[i])), numbersOf(together.of(rank.outputs[i], r)),
                 what + ", output");
  if (!forward.loss) return proof;
  for (std::int64_t r = 0; r < options.ranks; ++r)
    expectNear(numbersOf(alone.of(*whole.loss)), numbersOf(together.of(*rank.loss, r)), what + ", loss");
  EXPECT_EQ(whole.parameterGradients.size(), rank.parameterGradients.size()) << what;
  for (const auto& [parameter, gradient] : whole.parameterGradients) {
    const std::string& name = whole.tensor(parameter).name;
    const graph::Tensor& other = *tensorNamed(rank, name);
    const DividedAxis axis = division->of(tensorNamed(forward, name)->id);
    const auto found = rank.parameterGradients.find(other.id);
    EXPECT_NE(found, rank.parameterGradients.end()) << what << ", " << name;
    if (found == rank.parameterGradients.end()) continue;
    for (std::int64_t r = 0; r < options.ranks; ++r) {
      const Bytes& all = alone.of(gradient);
      const Bytes wanted = axis == kWhole ? all
                                          : sharding_test::partOf(all, whole.tensor(parameter).type.shape, 8,
                                                                  axis, options.ranks, r);
      expectNear(numbersOf(wanted), numbersOf(together.of(found->second, r)), what + ", gradient of " + name);
      if (::testing::Test::HasFatalFailure()) return proof;
    }
  }
  return proof;
}

/// A plain layer of Megatron-LM exchanges two sums of b·s·h forward and two backward (parallelism, §1); with
/// sequence parallelism as many bytes as gathers and scatters, and two gathers more backward.
TEST(RankGraph, ExchangesWhatMegatronDoes) {
  constexpr std::int64_t kBatch = 4, kTokens = 4, kWidth = 16, kLayers = 2, kVocabulary = 24;
  const Settings settings{{"layers", kLayers},
                          {"hidden", kWidth},
                          {"heads", std::int64_t{4}},
                          {"feed_forward", std::int64_t{32}},
                          {"sequence", kTokens},
                          {"vocabulary", kVocabulary},
                          {"position", std::string("none")}};
  const graph::Graph model = modelOf("decoder", settings, kBatch);
  constexpr std::int64_t kTensor = kBatch * kTokens * kWidth * 8, kRows = kBatch * kTokens * 8;
  const Proof plain = prove(model, {.ranks = 4, .leastTableRows = 1}, 1, kVocabulary, "plain");
  // Embedding and head: one sum each of b·s·h; the loss: two sums and a largest value of b·s.
  EXPECT_EQ(plain.exchanged.at("RankSum"), (4 * kLayers + 2) * kTensor + 2 * kRows);
  EXPECT_EQ(plain.exchanged.at("RankMax"), kRows);
  EXPECT_FALSE(plain.exchanged.contains("RankGather"));
  const Proof sequence =
      prove(model, {.ranks = 4, .sequence = true, .leastTableRows = 1}, 1, kVocabulary, "sequence");
  EXPECT_EQ(sequence.exchanged.at("RankScatterSum"), (4 * kLayers + 2) * kTensor);
  // The gathers before the products, again for the gradients of weights (2 a layer, and 1 of the head), and
  // those of the gradients of scattered sums.
  EXPECT_EQ(sequence.exchanged.at("RankGather"), (4 * kLayers + 2 + 2 * kLayers + 1) * kTensor);
}

/// Weights of products lie in pairs, by columns and by rows; embedding and head by vocabulary.
TEST(RankGraph, DividesTheWeightsOfADecoder) {
  const graph::Graph model = modelOf("decoder",
                                     {{"layers", std::int64_t{1}},
                                      {"hidden", std::int64_t{16}},
                                      {"heads", std::int64_t{4}},
                                      {"key_heads", std::int64_t{2}},
                                      {"feed_forward", std::int64_t{32}},
                                      {"gated", true},
                                      {"norm", std::string("rms")},
                                      {"activation", std::string("silu")},
                                      {"sequence", std::int64_t{4}},
                                      {"vocabulary", std::int64_t{24}}},
                                     2);
  const auto division = divideGraph(model, {.ranks = 2, .leastTableRows = 1});
  ASSERT_TRUE(division.ok());
  std::map<std::string, DividedAxis> found;
  for (const graph::Tensor& tensor : model.tensors())
    if (tensor.role == graph::TensorRole::parameter) found[tensor.name] = division->of(tensor.id);
  for (const auto& [name, axis] : found) {
    const auto is = [&name = name](const char* part) { return name.find(part) != std::string::npos; };
    // Stored as outputs × inputs, so axis 0 is columns of the product and axis 1 rows.
    const DividedAxis wanted = is("norm") || is("positions")                                     ? kWhole
                               : is("attention/output/weight") || is("feed_forward/down/weight") ? 1
                               : is("attention/output/bias") || is("feed_forward/down/bias")     ? kWhole
                                                                                                 : 0;
    EXPECT_EQ(axis, wanted) << name;
  }
  EXPECT_TRUE(division->gathering.empty());
}

/// Tensors that do not divide stay whole, and are right.
TEST(RankGraph, LeavesWholeWhatDoesNotDivide) {
  const graph::Graph model = modelOf("decoder",
                                     {{"layers", std::int64_t{1}},
                                      {"hidden", std::int64_t{12}},
                                      {"heads", std::int64_t{3}},
                                      {"feed_forward", std::int64_t{16}},
                                      {"sequence", std::int64_t{3}},
                                      {"vocabulary", std::int64_t{25}}},
                                     1);
  const Proof proof = prove(model, {.ranks = 4, .leastTableRows = 1}, 3, 25, "three heads on four ranks");
  EXPECT_EQ(proof.divided, 2) << "the two weights of the feed-forward part";
}

/// Each rank keeps the keys and values of its own heads, and the ranks decode together what one would.
TEST(RankGraph, DividesTheCacheOfADecoder) {
  for (const char* at : {"device", "host"}) {
    const graph::Graph model = modelOf("decoder",
                                       {{"layers", std::int64_t{2}},
                                        {"hidden", std::int64_t{16}},
                                        {"heads", std::int64_t{8}},
                                        {"key_heads", std::int64_t{4}},
                                        {"feed_forward", std::int64_t{8}},
                                        {"phase", std::string("decode")},
                                        {"cache", std::int64_t{5}},
                                        {"cache_at", std::string(at)},
                                        {"vocabulary", std::int64_t{24}}},
                                       3, false);
    const auto division = divideGraph(model, {.ranks = 4, .leastTableRows = 1});
    ASSERT_TRUE(division.ok());
    int caches = 0;
    for (const graph::Tensor& tensor : model.tensors()) {
      if (tensor.producer.valid() || tensor.name.find("cache") == std::string::npos ||
          model.constant(tensor.id) != nullptr)
        continue;
      ++caches;
      EXPECT_EQ(division->of(tensor.id), 1) << tensor.name << ", whose axis 1 are heads";
    }
    EXPECT_EQ(caches, 4) << at;
    prove(model, {.ranks = 4, .leastTableRows = 1}, 5, 24, at);
  }
}

/// Ranks along `context` divide the tokens of the cache, and decode together what one would. Each layer
/// exchanges the largest score and the sum of each row, and sums what the values give.
TEST(RankGraph, DividesTheTokensOfACache) {
  constexpr std::int64_t kLayers = 2, kHeads = 8, kSize = 2, kSamples = 3;
  for (const std::int64_t ranks : {2, 3, 4}) {
    for (const bool reuse : {true, false}) {
      const graph::Graph model = modelOf("decoder",
                                         {{"layers", kLayers},
                                          {"hidden", kHeads * kSize},
                                          {"heads", kHeads},
                                          {"key_heads", kHeads / 2},
                                          {"feed_forward", std::int64_t{8}},
                                          {"phase", std::string("decode")},
                                          {"cache", 4 * ranks - 1},
                                          {"cache_reuse", reuse},
                                          {"vocabulary", std::int64_t{24}}},
                                         kSamples, false);
      const DivisionOptions options{.ranks = ranks, .axis = model::MeshAxis::context, .caches = true};
      const auto division = divideGraph(model, options);
      ASSERT_TRUE(division.ok()) << division.error().message;
      for (const graph::Tensor& tensor : model.tensors()) {
        if (tensor.name.ends_with("/key_cache")) {
          EXPECT_EQ(division->of(tensor.id), 3) << tensor.name;
        }
        if (tensor.name.ends_with("/value_cache")) {
          EXPECT_EQ(division->of(tensor.id), 2) << tensor.name;
        }
      }
      const Proof proof = prove(model, options, 5, 24, reuse ? "reused" : "copied");
      EXPECT_EQ(proof.divided, 2 * kLayers);
      EXPECT_EQ(proof.exchanged.at("RankMax"), kLayers * kSamples * kHeads * 8);
      EXPECT_EQ(proof.exchanged.at("RankSum"), kLayers * kSamples * kHeads * (kSize + 1) * 8);
      if (HasFailure()) return;
    }
  }
  const graph::Graph odd = modelOf("decoder",
                                   {{"layers", std::int64_t{1}},
                                    {"hidden", std::int64_t{8}},
                                    {"heads", std::int64_t{2}},
                                    {"phase", std::string("decode")},
                                    {"cache", std::int64_t{4}},
                                    {"vocabulary", std::int64_t{24}}},
                                   1, false);
  const auto refused = divideGraph(odd, {.ranks = 2, .axis = model::MeshAxis::context, .caches = true});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.error().message,
      "execution.context_parallel divides the tokens of caches where a model generates one token at a "
      "time, but no cache of keys and values on the devices has a number of tokens, the new one "
      "included, that divides by 2 ranks: choose model.cache so that one more divides, or leave it out.");
}

Settings latentSettings() {
  return {{"layers", std::int64_t{2}},
          {"hidden", std::int64_t{24}},
          {"heads", std::int64_t{4}},
          {"head_size", std::int64_t{5}},
          {"rotary_size", std::int64_t{4}},
          {"value_size", std::int64_t{6}},
          {"latent_width", std::int64_t{8}},
          {"query_width", std::int64_t{12}},
          {"feed_forward", std::int64_t{32}},
          {"norm", std::string("rms")},
          {"gated", true},
          {"vocabulary", std::int64_t{16}},
          {"sequence", std::int64_t{5}}};
}

/// Ranks divide the heads of latent attention. The narrow projections and the caches are whole, because all
/// heads share them.
TEST(RankGraph, DividesTheHeadsOfLatentAttention) {
  for (const char* phase : {"training", "prefill", "decode"}) {
    Settings settings = latentSettings();
    const bool training = std::string(phase) == "training";
    if (!training) settings["phase"] = std::string(phase);
    if (std::string(phase) == "decode") settings["cache"] = std::int64_t{4};
    const graph::Graph model = modelOf("decoder", settings, 2, training);
    const DivisionOptions options{.ranks = 4, .leastTableRows = 1};
    const auto division = divideGraph(model, options);
    ASSERT_TRUE(division.ok());
    const auto axisOf = [&](const std::string& name) {
      return division->of(tensorNamed(model, "decoder/layer1/attention/" + name)->id);
    };
    EXPECT_EQ(axisOf("query_down/weight"), kWhole) << phase;
    EXPECT_EQ(axisOf("latent/weight"), kWhole) << phase;
    EXPECT_EQ(axisOf("query/weight"), 0) << phase;
    EXPECT_EQ(axisOf("key_up/weight"), 0) << phase;
    EXPECT_EQ(axisOf("value_up/weight"), 0) << phase;
    EXPECT_EQ(axisOf("output/weight"), 1) << phase;
    prove(model, options, 11, 16, phase);
  }
}

/// One token that attends to latent vectors and shared keys of earlier ones ("absorbed" weights) gets the
/// scores that reading all tokens at once gives it.
TEST(LatentAttention, DecodesAsItReads) {
  constexpr std::int64_t kTokens = 5, kBatch = 2;
  Settings settings = latentSettings();
  const graph::Graph prompt = modelOf("decoder", settings, kBatch, false);
  settings["phase"] = std::string("decode");
  settings["cache"] = kTokens - 1;
  const graph::Graph token = modelOf("decoder", settings, kBatch, false);
  RankMachine reads(prompt, 1), decodes(token, 1);
  auto values = valuesOf(prompt, 3, 16);
  for (const auto& [name, bytes] : values) reads.set(tensorNamed(prompt, name)->id, {bytes});
  reads.run();
  std::vector<std::int32_t> samples(kBatch * kTokens), last;
  std::memcpy(samples.data(), values.at("samples").data(), values.at("samples").size());
  for (std::int64_t b = 0; b < kBatch; ++b)
    last.push_back(samples[static_cast<std::size_t>((b + 1) * kTokens - 1)]);
  values["samples"] = bytesOf(last);
  for (const graph::Tensor& tensor : token.tensors()) {
    if (tensor.producer.valid() || token.constant(tensor.id) != nullptr) continue;
    const bool latent = tensor.name.ends_with("latent_cache"), key = tensor.name.ends_with("key_cache");
    const std::string path = tensor.name.substr(0, tensor.name.rfind('/') + 1);
    const std::string maker = path + (latent ? "latent/tokens/out" : "key/tokens/out");
    decodes.set(tensor.id,
                {latent || key ? reads.of(tensorNamed(prompt, maker)->id) : values.at(tensor.name)});
  }
  decodes.run();
  expectNear(numbersOf(reads.of(prompt.outputs[0])), numbersOf(decodes.of(token.outputs[0])), "scores");
}

/// [[model.shard]]: what a user says of a weight counts, and the ranks still compute the model together.
TEST(RankGraph, DividesWeightsAsAsked) {
  const graph::Graph model = modelOf("decoder",
                                     {{"layers", std::int64_t{2}},
                                      {"hidden", std::int64_t{16}},
                                      {"heads", std::int64_t{4}},
                                      {"feed_forward", std::int64_t{32}},
                                      {"sequence", std::int64_t{3}},
                                      {"vocabulary", std::int64_t{24}}},
                                     2);
  const DivisionOptions options{.ranks = 4,
                                .shards = {{"decoder/layer1/feed_forward/*", kWhole},
                                           {"*/attention/query/weight", 1},
                                           {"*/up/weight", 1},
                                           {"embeddings/tokens/weight", kWhole}},
                                .leastTableRows = 1};
  const auto division = divideGraph(model, options);
  ASSERT_TRUE(division.ok()) << division.error().message;
  const auto axisOf = [&](const std::string& name) { return division->of(tensorNamed(model, name)->id); };
  EXPECT_EQ(axisOf("decoder/layer1/feed_forward/up/weight"), kWhole) << "the first entry counts";
  EXPECT_EQ(axisOf("decoder/layer1/feed_forward/down/weight"), kWhole);
  EXPECT_EQ(axisOf("decoder/layer0/feed_forward/up/weight"), 1);
  EXPECT_EQ(axisOf("decoder/layer0/attention/query/weight"), 1);
  EXPECT_EQ(axisOf("embeddings/tokens/weight"), kWhole);
  EXPECT_EQ(axisOf("decoder/layer0/attention/key/weight"), 0) << "as usual";
  prove(model, options, 7, 24, "as asked");
  const auto refusal = [&](ShardRule rule) {
    const auto refused = divideGraph(model, {.ranks = 4, .shards = {std::move(rule)}});
    return refused.ok() ? std::string() : refused.error().message;
  };
  EXPECT_EQ(refusal({"nothing", 0}),
            "[[model.shard]] names \"nothing\", but no weight of a product or of embeddings is called so: "
            "`pipescope "
            "report --section sharding` lists them.");
  EXPECT_EQ(refusal({"embeddings/tokens/weight", 2}),
            "[[model.shard]] divides embeddings/tokens/weight along axis 2, but the weight has the shape "
            "24x16 float64 "
            "and there are 4 ranks: choose an axis that divides by them.");
  const auto both = divideGraph(
      model, {.ranks = 4, .shards = {{"decoder/layer0/*/up/weight", 0}, {"decoder/layer0/*/up/weight", 1}}});
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(
      both.error().message,
      "[[model.shard]] divides decoder/layer0/*/up/weight along the axes 0 and 1. Ranks divide a weight "
      "along one axis: leave one entry out, and divide the other axis among replicas with "
      "execution.shard_weights.");
}

/// Megatron-LM pads to a multiple of 128 · ranks: 50,257 at 8 ranks become 51,200 (parallelism, §1).
TEST(RankGraph, PadsAVocabularyThatDoesNotDivide) {
  const graph::Graph model = modelOf("decoder",
                                     {{"layers", std::int64_t{1}},
                                      {"hidden", std::int64_t{16}},
                                      {"heads", std::int64_t{8}},
                                      {"feed_forward", std::int64_t{8}},
                                      {"head_bias", true},
                                      {"sequence", std::int64_t{2}},
                                      {"vocabulary", std::int64_t{50257}}},
                                     1);
  const auto padded = padVocabulary(model, 8, 512, ops::standardOperators());
  ASSERT_TRUE(padded.ok());
  EXPECT_EQ(padded->sizes, (std::map<std::int64_t, std::int64_t>{{50257, 51200}}));
  int grown = 0;
  for (const graph::Tensor& tensor : padded->graph.tensors())
    grown += !tensor.type.shape.empty() && tensor.type.shape.front() == 51200 ? 1 : 0;
  EXPECT_EQ(grown, 3) << "the table, the weight of the scores and their bias";
  const auto same = padVocabulary(model, 7, 512, ops::standardOperators());
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->sizes.at(50257), 51072) << "57 · 896";
  const auto barely = padVocabulary(modelOf("decoder",
                                            {{"layers", std::int64_t{1}},
                                             {"hidden", std::int64_t{16}},
                                             {"heads", std::int64_t{8}},
                                             {"feed_forward", std::int64_t{8}},
                                             {"sequence", std::int64_t{2}},
                                             {"vocabulary", std::int64_t{1023}}},
                                            1),
                                    8, 512, ops::standardOperators());
  ASSERT_TRUE(barely.ok());
  EXPECT_EQ(barely->sizes.at(1023), 1024) << "one row is missing";
  EXPECT_TRUE(padVocabulary(model, 29, 512, ops::standardOperators())->sizes.empty())
      << "50,257 = 29 · 1,733";
}

TEST(RankGraph, OneRankIsTheModelItself) {
  const graph::Graph model = modelOf("bert",
                                     {{"layers", std::int64_t{1}},
                                      {"hidden", std::int64_t{8}},
                                      {"heads", std::int64_t{2}},
                                      {"feed_forward", std::int64_t{8}},
                                      {"sequence", std::int64_t{4}},
                                      {"vocabulary", std::int64_t{16}}},
                                     1);
  const auto division = divideGraph(model, {.ranks = 1});
  ASSERT_TRUE(division.ok());
  const auto same = graphOfRank(model, *division, ops::standardOperators());
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->nodes().size(), model.nodes().size());
}

/// 200 drawn models on 2, 4 and 8 ranks, with and without sequence parallelism.
class DrawnModels : public ::testing::TestWithParam<unsigned> {};

TEST_P(DrawnModels, AreComputedByRanksAsByOne) {
  for (unsigned draw = GetParam() * 20; draw < (GetParam() + 1) * 20; ++draw) {
    Draw drawn(draw);
    const auto pick = [&](std::initializer_list<std::int64_t> values) { return drawn.pick(values); };
    const auto coin = [&] { return drawn.coin(); };
    const std::int64_t ranks = pick({2, 4, 8}), heads = ranks * pick({1, 2}), size = pick({2, 4});
    const std::int64_t vocabulary = ranks * pick({3, 5});
    const bool decoder = coin(), training = pick({0, 1, 2, 3}) != 0;
    Settings settings{{"layers", pick({1, 2})},
                      {"hidden", heads * size},
                      {"heads", heads},
                      {"feed_forward", ranks * pick({1, 3})},
                      {"sequence", pick({2, 4, 5})},
                      {"vocabulary", vocabulary}};
    if (decoder) {
      settings["key_heads"] = coin() ? std::int64_t{0} : ranks;
      settings["gated"] = coin();
      settings["norm"] = std::string(coin() ? "rms" : "layer");
      settings["activation"] = std::string(coin() ? "silu" : coin() ? "relu" : "gelu");
      settings["position"] = std::string(coin() ? "rotary" : coin() ? "none" : "learned");
      settings["parallel"] = coin();
      settings["tie_embeddings"] = coin();
      settings["attention_bias"] = coin();
      settings["feed_forward_bias"] = coin();
      if (coin() && std::get<std::int64_t>(settings["key_heads"]) == 0) {
        settings["position"] = std::string("rotary");
        settings["head_size"] = size;
        settings["rotary_size"] = pick({2, 4});
        settings["latent_width"] = pick({3, 8});
        settings["query_width"] = pick({0, 6});
        settings["value_size"] = pick({0, 3});
      }
      if (!std::get<bool>(settings["feed_forward_bias"]) && coin()) {
        settings["experts"] = pick({2, 4});
        settings["experts_per_token"] = pick({1, 2});
      }
    }
    const graph::Graph model = modelOf(decoder ? "decoder" : "bert", settings, pick({1, 2, 8}), training);
    if (HasFailure()) return;
    const DivisionOptions options{.ranks = ranks, .sequence = coin(), .leastTableRows = pick({1, 1000})};
    const std::string what = "draw " + std::to_string(draw);
    const Proof proof = prove(model, options, draw, std::min<std::int64_t>(vocabulary, 2), what);
    EXPECT_GT(proof.divided, 0) << what;
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Twenty, DrawnModels, ::testing::Range(0U, 10U));

}  // namespace
}  // namespace pipescope::compile
