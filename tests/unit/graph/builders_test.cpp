#include "engine/builders/builder.h"
#include "engine/ops/standard_operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pipescope::builders {
namespace {

using Settings = std::map<std::string, Setting>;

base::Result<graph::Graph> model(const std::string& builder, const Settings& settings, bool training = true,
                                 std::int64_t microBatch = 2) {
  return buildModel({builder, settings, microBatch, training}, ops::standardOperators());
}

/// Number of trained elements: those of all parameters except statistics that no optimizer updates.
std::int64_t trainedElements(const graph::Graph& graph) {
  std::int64_t sum = 0;
  for (const graph::Tensor& tensor : graph.tensors()) {
    const bool moved = std::ranges::any_of(
        graph.stateUpdates, [&](const graph::StateUpdate& update) { return update.parameter == tensor.id; });
    if (tensor.role == graph::TensorRole::parameter && !moved) sum += tensor.type.elements();
  }
  return sum;
}

std::int64_t count(const std::string& builder, const Settings& settings, bool training = true) {
  const auto graph = model(builder, settings, training);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return graph.ok() ? trainedElements(*graph) : 0;
}

std::string buildersRefusal(const std::string& builder, const Settings& settings) {
  const auto graph = model(builder, settings);
  return graph.ok() ? "" : graph.error().message;
}

Setting n(std::int64_t value) {
  return value;
}
Setting t(const char* text) {
  return std::string(text);
}

// torchvision's published numbers of parameters.
TEST(ResNet, HasThePublishedParameters) {
  EXPECT_EQ(count("resnet", {{"depth", n(18)}}), 11'689'512);
  EXPECT_EQ(count("resnet", {{"depth", n(34)}}), 21'797'672);
  EXPECT_EQ(count("resnet", {{"depth", n(50)}}), 25'557'032);
  EXPECT_EQ(count("resnet", {{"depth", n(101)}}), 44'549'160);
  EXPECT_EQ(count("resnet", {{"depth", n(152)}}), 60'192'808);
  EXPECT_EQ(count("resnet", {{"depth", n(50)}, {"groups", n(32)}, {"width_per_group", n(4)}}), 25'028'904);
  EXPECT_EQ(count("resnet", {{"depth", n(101)}, {"groups", n(32)}, {"width_per_group", n(8)}}), 88'791'336);
  // The running statistics are weights like all others in inference.
  EXPECT_EQ(count("resnet", {{"depth", n(50)}}, false), 25'557'032 + 53'120);
}

TEST(ResNet, HasASmallStemForSmallImages) {
  const auto graph =
      model("resnet", {{"depth", n(18)}, {"stem", t("cifar")}, {"image_size", n(32)}, {"classes", n(10)}});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::map<std::string, graph::Shape> shapes;
  for (const graph::Tensor& tensor : graph->tensors()) shapes[tensor.name] = tensor.type.shape;
  EXPECT_EQ(shapes["stem/relu/out"], (graph::Shape{2, 64, 32, 32}));
  EXPECT_EQ(shapes["layer4/block1/relu/out"], (graph::Shape{2, 512, 4, 4}));
  EXPECT_EQ(shapes["head/linear/out"], (graph::Shape{2, 10}));
  // 11,689,512 less 7×7 kernels and 990 classes, plus 3×3 kernels.
  EXPECT_EQ(trainedElements(*graph), 11'689'512 - 64 * 3 * 40 - 990 * 513);
}

TEST(ResNet, NormalizesBytesOfImagesItself) {
  const auto graph = model("resnet", {{"depth", n(18)}, {"samples_type", t("uint8")}});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->tensor(graph->inputs.front()).type.element, graph::ElementType::uint8);
  std::vector<std::string> operators;
  for (const graph::Node& node : graph->nodes()) operators.push_back(node.op + " " + node.name);
  operators.resize(4);
  EXPECT_EQ(operators, (std::vector<std::string>{"Cast stem/normalize/cast", "Mul stem/normalize/scale",
                                                 "Add stem/normalize/shift", "Conv stem/conv"}));
  // A pixel of 124 in the red channel is (124 / 255 − 0.485) / 0.229.
  std::map<std::string, std::vector<float>> constants;
  for (const graph::Tensor& tensor : graph->tensors()) {
    if (!tensor.name.starts_with("stem/normalize/") || tensor.type.shape != graph::Shape{3, 1, 1}) continue;
    const std::vector<std::byte>* bytes = graph->constantValue(tensor.id);
    ASSERT_TRUE(bytes && bytes->size() == 12);
    constants[tensor.name].resize(3);
    std::memcpy(constants[tensor.name].data(), bytes->data(), 12);
  }
  ASSERT_EQ(constants.size(), 2u);
  EXPECT_NEAR(124 * constants["stem/normalize/factors"][0] + constants["stem/normalize/offsets"][0],
              (124 / 255.0 - 0.485) / 0.229, 1e-6);
  const auto grey = model("resnet", {{"samples_type", t("uint8")}, {"channels", n(1)}});
  EXPECT_TRUE(grey.ok()) << grey.error().message;
}

TEST(Bert, AttentionMayDropOtherShares) {
  const auto dropouts = [](Settings settings) {
    settings["layers"] = n(1);
    settings["dropout"] = 0.1;
    int attention = 0, others = 0;
    const auto graph = model("bert", settings);
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    for (const graph::Node& node : graph->nodes()) {
      if (node.op != "Dropout") continue;
      ++(node.name == "encoder/layer0/attention/dropout" ? attention : others);
    }
    return std::pair(attention, others);
  };
  EXPECT_EQ(dropouts({}), std::pair(1, 3));
  EXPECT_EQ(dropouts({{"attention_dropout", 0.0}}), std::pair(0, 3));
}

TEST(ResNet, MovesItsRunningStatistics) {
  const auto graph = model("resnet", {{"depth", n(18)}, {"image_size", n(64)}});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_EQ(graph->stateUpdates.size(), 2U * 20);
  const graph::StateUpdate& mean = graph->stateUpdates[0];
  const graph::StateUpdate& variance = graph->stateUpdates[1];
  EXPECT_EQ(graph->tensor(mean.parameter).name, "stem/norm/running_mean");
  EXPECT_EQ(mean.scale, 1);
  EXPECT_NEAR(variance.scale, 2048.0 / 2047, 1e-12);  // 2 images of 32×32
  EXPECT_TRUE(model("resnet", {}, false)->stateUpdates.empty());
}

/// BERT's parameters by formula: embeddings, their norm; per layer four projections, feed-forward, two norms.
std::int64_t bertFormula(std::int64_t layers, std::int64_t h, std::int64_t ff, std::int64_t vocabulary) {
  return (vocabulary + 512 + 2) * h + 2 * h + layers * (4 * (h * h + h) + h * ff + ff + ff * h + h + 4 * h);
}

TEST(Bert, HasTheParametersOfItsFormula) {
  const Settings large{{"layers", n(24)},
                       {"hidden", n(1024)},
                       {"heads", n(16)},
                       {"feed_forward", n(4096)},
                       {"sequence", n(384)}};
  const std::int64_t body = bertFormula(24, 1024, 4096, 30522);
  EXPECT_EQ(body, 334'092'288);  // 335,141,888 published with the pooler's 1024·1025
  EXPECT_EQ(body + 1024 * 1025, 335'141'888);
  EXPECT_EQ(count("bert", large), body + 2 * 1024 + 2);
  Settings mlm = large;
  mlm["head"] = t("mlm");
  EXPECT_EQ(count("bert", mlm), body + 1024 * 1025 + 2 * 1024 + 30522 * 1025);
  mlm["tie_embeddings"] = true;
  EXPECT_EQ(count("bert", mlm), body + 1024 * 1025 + 2 * 1024 + 30522);
  Settings classes = large;
  classes["head"] = t("classification");
  classes["classes"] = n(3);
  EXPECT_EQ(count("bert", classes), body + 1024 * 1025 + 3 * 1025);
}

TEST(Bert, ScoresOnlyMaskedPositions) {
  const Settings small = {{"layers", n(1)},         {"hidden", n(8)},    {"heads", n(2)},
                          {"vocabulary", n(100)},   {"sequence", n(16)}, {"head", t("mlm")},
                          {"max_predictions", n(3)}};
  const auto graph = model("bert", small);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::map<std::string, graph::Shape> shapes;
  for (const graph::Tensor& tensor : graph->tensors()) shapes[tensor.name] = tensor.type.shape;
  EXPECT_EQ(shapes["masked_positions"], (graph::Shape{2, 3, 1}));
  EXPECT_EQ(shapes["head/tokens/out"], (graph::Shape{6, 100}));
  EXPECT_EQ(shapes["labels"], (graph::Shape{6}));
  Settings wrong = small;
  wrong["max_predictions"] = n(17);
  EXPECT_EQ(buildersRefusal("bert", wrong),
            "model.max_predictions is 17, but model.sequence has only 16 positions");
  wrong = small;
  wrong["head"] = t("squad");
  EXPECT_EQ(buildersRefusal("bert", wrong),
            "model.max_predictions needs model.head = \"mlm\": no other head scores tokens");
}

TEST(Decoder, CopiesItsCacheUnlessItIsReused) {
  const auto copies = [](bool reuse) {
    const auto graph = model("decoder",
                             {{"layers", n(2)},
                              {"hidden", n(8)},
                              {"heads", n(2)},
                              {"vocabulary", n(100)},
                              {"phase", t("decode")},
                              {"cache", n(5)},
                              {"cache_reuse", reuse}},
                             false);
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    std::int64_t elements = 0;
    for (const graph::Node& node : graph->nodes()) {
      if (node.name.find("_cache/next") != std::string::npos)
        elements += graph->tensor(node.outputs[0]).type.elements();
    }
    return elements;
  };
  EXPECT_EQ(copies(true), 0);
  // 2 layers, keys and values, 2 samples, 6 tokens of 8 elements, the new one included.
  EXPECT_EQ(copies(false), 2 * 2 * 2 * 6 * 8);
  const Settings contradiction = {
      {"phase", t("decode")}, {"cache", n(5)}, {"cache_at", t("host")}, {"cache_reuse", false}};
  EXPECT_EQ(
      model("decoder", contradiction, false).error().message,
      "model.cache_reuse is false, but model.cache_at is host, so the device keeps no cache: leave one of "
      "them out");
}

TEST(Vit, HasThePublishedParameters) {
  EXPECT_EQ(count("vit", {}), 86'567'656);
  EXPECT_EQ(
      count("vit", {{"layers", n(24)}, {"hidden", n(1024)}, {"heads", n(16)}, {"feed_forward", n(4096)}}),
      304'326'632);
  EXPECT_EQ(count("vit", {{"patch_size", n(32)}}), 88'224'232);
}

const Settings gptJ{{"layers", n(28)},          {"hidden", n(4096)},      {"heads", n(16)},
                    {"feed_forward", n(16384)}, {"vocabulary", n(50400)}, {"sequence", n(2048)},
                    {"rotary_size", n(64)},     {"parallel", true},       {"feed_forward_bias", true},
                    {"head_bias", true}};
const Settings llama{{"layers", n(32)},         {"hidden", n(4096)},        {"heads", n(32)},
                     {"key_heads", n(8)},       {"feed_forward", n(14336)}, {"vocabulary", n(128256)},
                     {"sequence", n(2048)},     {"norm", t("rms")},         {"gated", true},
                     {"activation", t("silu")}, {"rotary_base", 500000.0}};
const Settings falcon{{"layers", n(60)},       {"hidden", n(8192)},        {"heads", n(128)},
                      {"key_heads", n(8)},     {"feed_forward", n(32768)}, {"vocabulary", n(65024)},
                      {"sequence", n(2048)},   {"parallel", true},         {"shared_norm", false},
                      {"tie_embeddings", true}};

TEST(Decoder, HasThePublishedParameters) {
  EXPECT_EQ(count("decoder", gptJ), 6'050'882'784);
  EXPECT_EQ(count("decoder", llama), 8'030'261'248);
  // 60 · (2·8192² + 2·8192·512 + 2·8192·32768 + 4·8192) + 65024·8192 + 2·8192
  EXPECT_EQ(count("decoder", falcon), 41'303'293'952);
  // GPT-2 has learned positions (as many as the sample has), biases everywhere and tied embeddings.
  EXPECT_EQ(count("decoder", {{"position", t("learned")},
                              {"sequence", n(1024)},
                              {"attention_bias", true},
                              {"feed_forward_bias", true},
                              {"tie_embeddings", true}}),
            124'439'808);
}

TEST(Decoder, WeightsAreShapesOnly) {
  // Forty thousand million weights would take 160 GB, so only constants (mask and rotations) have values.
  const auto graph = model("decoder", falcon, false);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::int64_t bytes = 0;
  for (const graph::Tensor& tensor : graph->tensors()) {
    if (const auto* value = graph->constantValue(tensor.id))
      bytes += static_cast<std::int64_t>(value->size());
  }
  EXPECT_LT(bytes, 8 << 20);
}

TEST(Builders, NameTheirBlocksByLayers) {
  const auto graph = model("bert", {{"layers", n(2)}});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::string> blocks;
  for (const graph::Node& node : graph->nodes()) {
    if (std::ranges::find(blocks, node.block) == blocks.end()) blocks.push_back(node.block);
  }
  EXPECT_EQ(blocks, (std::vector<std::string>{"embeddings", "encoder/layer0", "encoder/layer1", "head"}));
  EXPECT_EQ(graph->node(graph->tensor(*graph->loss).producer).block, "head");
}

TEST(Builders, RefuseWithTheNearestName) {
  EXPECT_EQ(buildersRefusal("restnet", {}), "the builder restnet is not known; did you mean resnet?");
  EXPECT_EQ(
      buildersRefusal("gpt", {}),
      "the builder gpt is not known; known are bert, decoder, deepseek-v3, gpt-3-175b, kimi-k2, llama-2-70b, "
      "llama-2-7b, "
      "llama-3.1-405b, llama-3.1-70b, llama-3.1-8b, mixtral-8x22b, mixtral-8x7b, qwen3-235b-a22b, "
      "qwen3-30b-a3b, "
      "qwen3-32b, qwen3-8b, resnet, vit");
  EXPECT_EQ(buildersRefusal("bert", {{"layer", n(3)}}),
            "model.layer is given, but the builder bert has no such setting; did you mean layers?");
  EXPECT_EQ(buildersRefusal("resnet", {{"hidden", n(3)}}),
            "model.hidden is given, but the builder resnet has no such setting; known are depth, groups, "
            "width_per_group, stem, image_size, channels, classes, samples_type");
  EXPECT_EQ(buildersRefusal("resnet", {{"depth", n(51)}}),
            "model.depth is 51; it must be one of 18, 34, 50, 101, 152");
  EXPECT_EQ(buildersRefusal("resnet", {{"depth", n(18)}, {"groups", n(2)}}),
            "model.groups and model.width_per_group need bottleneck blocks: depth 50, 101 or 152, not 18");
  EXPECT_EQ(buildersRefusal("resnet", {{"stem", t("small")}}),
            "model.stem is \"small\"; it must be one of imagenet, cifar");
  EXPECT_EQ(buildersRefusal("resnet", {{"classes", n(0)}}), "model.classes is 0; it must be 1 to 10000000");
  EXPECT_EQ(buildersRefusal("bert", {{"layers", true}}), "model.layers must be a whole number");
  EXPECT_EQ(buildersRefusal("bert", {{"dropout", 1.0}}), "model.dropout is 1; it must be 0 to 0.999999");
  EXPECT_EQ(buildersRefusal("bert", {{"hidden", n(100)}}),
            "model.hidden is 100; it must divide by model.heads = 12");
  EXPECT_EQ(buildersRefusal("bert", {{"sequence", n(1024)}}),
            "model.sequence is 1024, but there are only model.positions = 512");
  EXPECT_EQ(buildersRefusal("bert", {{"tie_embeddings", true}}),
            "model.tie_embeddings needs model.head = \"mlm\": no other head has token scores");
  EXPECT_EQ(buildersRefusal("vit", {{"patch_size", n(15)}}),
            "model.image_size is 224; it must divide by model.patch_size = 15");
  EXPECT_EQ(buildersRefusal("vit", {{"hidden", n(100)}}),
            "model.hidden is 100; it must divide by model.heads = 12");
  EXPECT_EQ(buildersRefusal("decoder", {{"hidden", n(100)}}),
            "model.hidden is 100; it must divide by model.heads = 12, or give model.head_size");
  EXPECT_EQ(buildersRefusal("decoder", {{"key_heads", n(5)}}),
            "model.heads is 12; it must divide by model.key_heads = 5");
  EXPECT_EQ(buildersRefusal("decoder", {{"rotary_size", n(66)}}),
            "model.rotary_size is 66; it must be even and at most the head's size, 64");
  EXPECT_EQ(buildersRefusal(
                "decoder",
                {{"latent_width", n(64)}, {"head_size", n(64)}, {"rotary_size", n(16)}, {"head_norm", true}}),
            "model.latent_width has norms of its own: leave model.head_norm out");
  EXPECT_EQ(
      buildModel({"decoder", {{"phase", t("decode")}}, 1, false}, ops::standardOperators()).error().message,
      "model.phase is decode: set model.cache to the number of tokens before this one, at least 1");
  EXPECT_EQ(buildModel({"vit", {}, 0, false}, ops::standardOperators()).error().message,
            "the micro-batch size is 0; it must be at least 1");
}

/// The values of the scalars whose names end like this.
std::vector<float> scalars(const graph::Graph& graph, const std::string& end) {
  std::vector<float> values;
  for (const graph::Tensor& tensor : graph.tensors()) {
    const auto* bytes = tensor.name.ends_with(end) ? graph.constantValue(tensor.id) : nullptr;
    if (bytes == nullptr || bytes->size() != sizeof(float)) continue;
    std::memcpy(&values.emplace_back(), bytes->data(), sizeof(float));
  }
  return values;
}

const Settings smallDecoder{{"layers", n(2)},       {"hidden", n(36)},  {"heads", n(4)},
                            {"vocabulary", n(50)},  {"sequence", n(6)}, {"feed_forward", n(8)},
                            {"position", t("none")}};

Settings with(Settings settings, const Settings& more) {
  for (const auto& [key, value] : more) settings[key] = value;
  return settings;
}

// Scores of attention are divided by the square root of the size of a head.
TEST(Attention, DividesScoresByTheRootOfTheHeadsSize) {
  const auto factors = [](const std::string& builder, const Settings& settings, bool training) {
    const auto graph = model(builder, settings, training);
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    return graph.ok() ? scalars(*graph, "scale/factor") : std::vector<float>();
  };
  const auto expectAll = [](const std::vector<float>& values, std::size_t count, float value) {
    EXPECT_EQ(values.size(), count);
    for (const float each : values) EXPECT_FLOAT_EQ(each, value);
  };
  const Settings bert{{"layers", n(2)},       {"hidden", n(64)},     {"heads", n(4)},
                      {"feed_forward", n(8)}, {"vocabulary", n(50)}, {"sequence", n(6)}};
  expectAll(factors("bert", bert, true), 2, 1.0F / 4);
  expectAll(factors("decoder", smallDecoder, true), 2, 1.0F / 3);
  const Settings decode{{"phase", t("decode")}, {"cache", n(5)}};
  expectAll(factors("decoder", with(smallDecoder, decode), false), 2, 1.0F / 3);
  const Settings latent{
      {"latent_width", n(10)}, {"head_size", n(16)}, {"rotary_size", n(4)}, {"position", t("rotary")}};
  expectAll(factors("decoder", with(with(smallDecoder, decode), latent), false), 2, 1 / std::sqrt(16.0F + 4));
}

TEST(Decoder, ALatentCacheHoldsTheTokenItself) {
  const Settings latent{{"phase", t("decode")}, {"cache", n(5)},       {"latent_width", n(10)},
                        {"head_size", n(16)},   {"rotary_size", n(4)}, {"position", t("rotary")},
                        {"value_size", n(7)}};
  const auto graph = model("decoder", with(smallDecoder, latent), false, 3);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::map<std::string, graph::Shape> shapes;
  for (const graph::Tensor& tensor : graph->tensors())
    shapes[tensor.name.substr(
        tensor.name.find("attention") == std::string::npos ? 0 : tensor.name.find("attention"))] =
        tensor.type.shape;
  EXPECT_EQ(shapes["attention/latent_cache"], (graph::Shape{3, 6, 10}));
  EXPECT_EQ(shapes["attention/key_cache"], (graph::Shape{3, 6, 4}));
  EXPECT_EQ(shapes["attention/context/rows/out"], (graph::Shape{3, 4 * 7}));
}

TEST(Vit, PatchesStartWithinTheBoundOfTheirInputs) {
  const auto graph = model("vit", {{"layers", n(1)}, {"image_size", n(32)}, {"patch_size", n(8)}});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  for (const graph::Tensor& tensor : graph->tensors())
    if (tensor.name.ends_with("patches/weight")) {
      EXPECT_DOUBLE_EQ(graph->initializer(tensor.id).bound, 1 / std::sqrt(3.0 * 8 * 8));
    }
}

TEST(Bert, MayPredictAllPositionsAndNoMore) {
  EXPECT_EQ(
      buildersRefusal("bert",
                      {{"layers", n(1)}, {"head", t("mlm")}, {"sequence", n(8)}, {"max_predictions", n(8)}}),
      "");
  EXPECT_EQ(
      buildersRefusal("bert",
                      {{"layers", n(1)}, {"head", t("mlm")}, {"sequence", n(8)}, {"max_predictions", n(9)}}),
      "model.max_predictions is 9, but model.sequence has only 8 positions");
}

TEST(Decoder, ExpertsHaveALossOfTheirOwnInTrainingIfOneIsWanted) {
  const auto factors = [](double loss, bool training) {
    const auto graph =
        model("decoder",
              with(smallDecoder, {{"experts", n(8)}, {"experts_per_token", n(2)}, {"router_loss", loss}}),
              training, 2);
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    return graph.ok() ? scalars(*graph, "auxiliary_loss/scale/factor") : std::vector<float>();
  };
  // Loss · experts ÷ choices: 2 samples of 6 tokens choose 2 experts each.
  EXPECT_EQ(factors(0.03, true), (std::vector<float>(2, static_cast<float>(0.03 * 8 / 24))));
  EXPECT_TRUE(factors(0, true).empty());
  EXPECT_TRUE(factors(0.03, false).empty());
}

/// Published counts of parameters; of Llama and GPT-3 by their tables of sizes (parallelism, §7).
TEST(KnownModels, HaveThePublishedNumbersOfParameters) {
  for (const auto& [name, wanted] :
       std::vector<std::pair<std::string, std::int64_t>>{{"llama-2-7b", 6'738'415'616},
                                                         {"llama-2-70b", 68'976'648'192},
                                                         {"llama-3.1-8b", 8'030'261'248},
                                                         {"llama-3.1-70b", 70'553'706'496},
                                                         {"llama-3.1-405b", 405'853'388'800},
                                                         {"mixtral-8x7b", 46'702'792'704},
                                                         {"mixtral-8x22b", 140'620'634'112},
                                                         {"deepseek-v3", 671'026'404'352},
                                                         {"kimi-k2", 1'026'408'209'408},
                                                         {"qwen3-8b", 8'190'735'360},
                                                         {"qwen3-32b", 32'762'123'264},
                                                         {"qwen3-30b-a3b", 30'532'122'624},
                                                         {"qwen3-235b-a22b", 235'093'634'560},
                                                         {"gpt-3-175b", 174'604'259'328}}) {
    auto graph = buildModel({name, {}, 1, true}, ops::standardOperators());
    ASSERT_TRUE(graph.ok()) << name << ": " << graph.error().message;
    std::int64_t count = 0;
    for (const graph::Tensor& tensor : graph->tensors())
      if (tensor.role == graph::TensorRole::parameter) count += tensor.type.elements();
    EXPECT_EQ(count, wanted) << name;
  }
  // Each setting can still be given.
  auto small = buildModel({"llama-2-7b", {{"layers", std::int64_t{1}}}, 1, true}, ops::standardOperators());
  ASSERT_TRUE(small.ok());
}

}  // namespace
}  // namespace pipescope::builders
