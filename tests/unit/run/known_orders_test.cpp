// Tests what is known of divisions of large models: tensor parallelism on IPUs that ran, and which axis is
// best on a box of eight cards, with the reason that reports give.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>

#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"
#include "profiler/analysis/pipeline/collective_uses.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using KnownOrderTest = RunFixture;

compile::Compilation compiledKnown(const std::string& text) {
  auto parsed = parseConfiguration(text, "known.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  if (!parsed.ok()) return {};
  auto result = compileRun(*parsed);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(*result) : compile::Compilation();
}

/// Phases take turns on the same chips, of which each has a part of a layer. Weights and all that is kept lie
/// in streaming memory.
std::string phasedOnIpus(const std::string& model, const std::string& execution, const std::string& rest) {
  return fmt::format(R"(
[model]
builder = "decoder"
sequence = 2048
norm = "layer"
activation = "gelu"
attention_bias = true
feed_forward_bias = true
{}
[execution]
numerics = false
precision = "float16"
strategy = "serial_phased"
offload_weights = true
{}
{}
)",
                     model, execution, rest);
}

/// Graphcore's examples for PopXL (graphcore/examples, nlp/gpt3_2.7B and nlp/dolly, MIT): they ran, so they
/// fit.
TEST_F(KnownOrderTest, TensorRanksOfIpusHoldWhatTheyHeld) {
  const compile::Compilation gpt = compiledKnown(phasedOnIpus(
      "layers = 32\nhidden = 2560\nheads = 32\nfeed_forward = 10240\nvocabulary = 50257\n"
      "position = \"learned\"\ntie_embeddings = true",
      "mode = \"training\"\nstages = 34\ntensor_parallel = 8\navailable_memory_proportion = 0.2\nio_tiles = "
      "128\noffload_optimizer = true\noffload_accumulators = true\noffload_activations = true\nzero = 3",
      "[training]\nmicro_batch_size = 1\ngradient_accumulation = 8\nreplication_factor = 8\noptimizer = "
      "\"adamw\"\n[system]\nname = \"pod64\""));
  EXPECT_EQ(gpt.overflow(), std::vector<std::string>());
  EXPECT_EQ(gpt.devicesUsed, 64);
  const compile::Compilation dolly = compiledKnown(phasedOnIpus(
      "layers = 36\nhidden = 5120\nheads = 40\nfeed_forward = 20480\nvocabulary = 50280\n"
      "position = \"rotary\"\nrotary_size = 32\nparallel = true",
      "mode = \"inference\"\nstages = 38\ntensor_parallel = 4\navailable_memory_proportion = 0.4",
      "[inference]\nmicro_batch_size = 1\ndevice_iterations = 1\n[system]\nname = \"pod4\""));
  EXPECT_EQ(dolly.overflow(), std::vector<std::string>());
  EXPECT_EQ(dolly.devicesUsed, 4);
}

/// The same on 16 IPUs, with attention over 8 of them: 40 heads do not divide by 16. The programs set
/// partialsTypeMatMuls to half (the programs for inference in nlp/*/popxl).
TEST_F(KnownOrderTest, HeadsThatDoNotDivideAreRepeated) {
  const auto onPod16 = [](const char* heads) {
    return compiledKnown(phasedOnIpus(
        fmt::format("layers = 36\nhidden = 5120\nheads = {}\nfeed_forward = 20480\nvocabulary = 50280\n"
                    "position = \"rotary\"\nrotary_size = 32\nparallel = true",
                    heads),
        "mode = \"inference\"\nstages = 38\ntensor_parallel = 16\navailable_memory_proportion = 0.4\n"
        "partials_type = \"float16\"",
        "[inference]\nmicro_batch_size = 4\ndevice_iterations = 1\n[system]\nname = \"pod16\""));
  };
  const compile::Compilation dolly = onPod16("40");
  EXPECT_EQ(dolly.overflow(), std::vector<std::string>());
  EXPECT_EQ(dolly.devicesUsed, 16);
  EXPECT_THAT(dolly.notices,
              ::testing::Contains("The 40 heads of attention do not divide by 16 ranks: attention is divided "
                                  "over 8 ranks and repeated 2 times, and the rest is divided over 16."));
  // Each rank has an eighth of the four products of attention, and a sixteenth of the others.
  std::map<std::string, std::int64_t> elements;
  const graph::Graph& ofRank = *dolly.executables.front().rankGraph;
  for (const graph::Tensor& tensor : ofRank.tensors()) {
    if (tensor.role == graph::TensorRole::parameter && tensor.name.starts_with("decoder/layer7/"))
      elements[tensor.name.substr(15)] = tensor.type.elements();
  }
  constexpr std::int64_t kWidth = 5120;
  for (const char* product : {"query", "key", "value", "output"})
    EXPECT_EQ(elements.at(std::string("attention/") + product + "/weight"), kWidth * kWidth / 8) << product;
  for (const char* product : {"up", "down"})
    EXPECT_EQ(elements.at(std::string("feed_forward/") + product + "/weight"), 4 * kWidth * kWidth / 16);
  // Numbers are those of the model as it is.
  for (const graph::Tensor& tensor : dolly.executables.front().graph->tensors()) {
    if (tensor.name == "decoder/layer7/attention/query/weight") {
      EXPECT_EQ(tensor.type.elements(), kWidth * kWidth);
    }
  }
  const compile::Compilation divides = onPod16("32\nhead_size = 160");
  for (const std::string& notice : divides.notices)
    EXPECT_EQ(notice.find("heads of attention"), std::string::npos);
}

struct KnownRun {
  double seconds = 0;
  std::map<model::MeshAxis, double> exposed;  ///< share of the call, by axis
  std::optional<model::MeshAxis> longest;     ///< the axis of the largest of these
  bool fits = false;
};

class BoxOfEight : public KnownOrderTest {
 protected:
  /// Llama-2-70B on a box of eight Gaudi2.
  static KnownRun runOf(const std::string& model, const std::string& execution, const std::string& rest) {
    auto parsed = parseConfiguration(fmt::format(R"(
[model]
builder = "llama-2-70b"
{}
[execution]
numerics = false
precision = "bfloat16"
{}
{}
[system]
name = "hls-gaudi2"
)",
                                                 model, execution, rest),
                                     "box.toml");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    const auto result = run(*parsed);
    EXPECT_TRUE(result.ok()) << result.error().message;
    if (!result.ok()) return {};
    const Read profile = read();
    const auto uses = analysis::collectiveUses(*profile.source, *profile.catalog, model::ExecutableId(0));
    EXPECT_TRUE(uses.ok());
    const model::Run& call = profile.catalog->runs.back();
    KnownRun known;
    known.seconds = static_cast<double>((call.end - call.start).count) / 1e12;
    for (const analysis::AxisCommunication& axis : analysis::communicationByAxis(*uses))
      known.exposed[axis.axis] += static_cast<double>(axis.exposed) / 1e12 / known.seconds;
    for (const auto& [axis, share] : known.exposed)
      if (!known.longest || share > known.exposed[*known.longest]) known.longest = axis;
    known.fits = std::ranges::none_of(profile.catalog->diagnostics, [](const model::Diagnostic& row) {
      return row.code.starts_with("out_of_memory");
    });
    return known;
  }
};

/// With many micro-batches, gathers of weights hide behind the compute of the layer before (Rajbhandari et
/// al. 2020), a pipeline waits for (p - 1) / (G + p - 1) of its time to fill and drain, and tensor ranks wait
/// for four sums a layer in every micro-batch (Shoeybi et al. 2019).
TEST_F(BoxOfEight, TrainsBestWithShardedWeights) {
  const auto train = [](const std::string& execution, int accumulation, int replicas) {
    return runOf("layers = 16", "mode = \"training\"\nrecompute = \"none\"\n" + execution,
                 fmt::format("[training]\noptimizer = \"sgd\"\nmicro_batch_size = 1\ngradient_accumulation = "
                             "{}\nreplication_factor = {}",
                             accumulation, replicas));
  };
  const KnownRun tensor = train("tensor_parallel = 8", 64, 1),
                 pipeline = train("stages = 8\nschedule = \"1f1b\"", 64, 1), data = train("zero = 3", 8, 8);
  EXPECT_LT(data.seconds, pipeline.seconds);
  EXPECT_LT(pipeline.seconds, tensor.seconds);
  EXPECT_GT(tensor.exposed.at(model::MeshAxis::tensor), 0.1);
  EXPECT_LT(data.exposed.at(model::MeshAxis::data), 0.02);
}

/// One token for each of eight samples: tensor ranks read an eighth of the weights each, at the same time;
/// stages do so one after the other; and sharded weights cross the links for every token.
TEST_F(BoxOfEight, DecodesBestWithTensorRanks) {
  const auto decode = [](const std::string& execution, int samples, int microBatches, int replicas) {
    return runOf(
        "layers = 16\nphase = \"decode\"\ncache = 2048", "mode = \"inference\"\n" + execution,
        fmt::format("[inference]\nmicro_batch_size = {}\ndevice_iterations = {}\nreplication_factor = "
                    "{}",
                    samples, microBatches, replicas));
  };
  const KnownRun tensor = decode("tensor_parallel = 8", 8, 1, 1), pipeline = decode("stages = 8", 1, 8, 1),
                 data = decode("shard_weights = true", 1, 1, 8);
  EXPECT_LT(tensor.seconds, pipeline.seconds);
  EXPECT_LT(pipeline.seconds, data.seconds);
  EXPECT_GT(data.exposed.at(model::MeshAxis::data), 0.5) << "the gathers of weights are what it waits for";
}

/// All 80 layers train on eight cards of 96 GB if gradients and both moments have 16 bits, as the weights do:
/// 8 bytes for each of 68,976,648,192 parameters are 64.2 GiB a card. With moments of 32 bits they are 96
/// GiB.
TEST_F(BoxOfEight, HoldsTheWholeModelWithStatesOf16Bits) {
  constexpr double kParameters = 68'976'648'192, kCards = 8;
  const auto held = [](const std::string& execution, int accumulation, int replicas, bool half) {
    const compile::Compilation all =
        compiledKnown(fmt::format(R"(
[model]
builder = "llama-2-70b"
sequence = 4096
[execution]
mode = "training"
numerics = false
precision = "bfloat16"
recompute = "checkpoints"
checkpoints = ["*/layer*/output", "*feed_forward_add"]
{}
[training]
optimizer = "adamw"
micro_batch_size = 1
accumulator = "float16"
half_moment1 = {}
half_moment2 = {}
gradient_accumulation = {}
replication_factor = {}
[system]
name = "hls-gaudi2"
)",
                                  execution, half, half, accumulation, replicas));
    EXPECT_EQ(all.overflow().empty(), half) << execution;
    double bytes = 0, cards = 0;
    for (const devices::LoweredDevice& device : all.executables.front().lowered) {
      for (const devices::LoweredVariable& variable : device.memory.front().variables)
        if (variable.category == "weight" || variable.category == "optimizer_state" ||
            variable.category == "accumulator")
          bytes += static_cast<double>(variable.bytes.count);
      ++cards;
    }
    return cards > 1 ? bytes : bytes * kCards;
  };
  for (const auto& [execution, accumulation, replicas] :
       {std::tuple("tensor_parallel = 8\nsequence_parallel = true", 64, 1),
        {"stages = 8\nschedule = \"1f1b\"", 64, 1},
        {"zero = 3", 8, 8}})
    EXPECT_NEAR(held(execution, accumulation, replicas, true), 8 * kParameters, 0.01 * 8 * kParameters)
        << execution;
  held("zero = 3", 8, 8, false);
}

/// All 80 layers on a box of eight cards in training with such states, and in decoding with weights of 16
/// bits: each division fits, the order is that of 16 layers above, and the axis that
/// the chips wait for is known.
TEST_F(BoxOfEight, OrdersTheWholeModel) {
  const auto whole = [](const std::string& model, const std::string& execution, const std::string& rest) {
    return runOf("layers = 80\n" + model, execution, rest);
  };
  const auto train = [&](const std::string& execution, int accumulation, int replicas) {
    return whole("sequence = 4096",
                 "mode = \"training\"\nrecompute = \"checkpoints\"\ncheckpoints = [\"*/layer*/output\", "
                 "\"*feed_forward_add\"]\n" +
                     execution,
                 fmt::format("[training]\noptimizer = \"adamw\"\nmicro_batch_size = 1\n"
                             "accumulator = \"float16\"\nhalf_moment1 = true\nhalf_moment2 = true\n"
                             "gradient_accumulation = {}\nreplication_factor = {}",
                             accumulation, replicas));
  };
  const KnownRun tensor = train("tensor_parallel = 8\nsequence_parallel = true", 64, 1),
                 pipeline = train("stages = 8\nschedule = \"1f1b\"", 64, 1), data = train("zero = 3", 8, 8);
  for (const KnownRun* each : {&tensor, &pipeline, &data}) EXPECT_TRUE(each->fits);
  EXPECT_LT(data.seconds, pipeline.seconds);
  EXPECT_LT(pipeline.seconds, tensor.seconds);
  EXPECT_EQ(tensor.longest, model::MeshAxis::tensor);

  const auto decode = [&](const std::string& execution, int samples, int microBatches, int replicas) {
    return whole("phase = \"decode\"\ncache = 2048", "mode = \"inference\"\n" + execution,
                 fmt::format("[inference]\nmicro_batch_size = {}\ndevice_iterations = {}\n"
                             "replication_factor = {}",
                             samples, microBatches, replicas));
  };
  const KnownRun ranks = decode("tensor_parallel = 8", 8, 1, 1), places = decode("stages = 8", 1, 8, 1),
                 shares = decode("shard_weights = true", 1, 1, 8);
  for (const KnownRun* each : {&ranks, &places, &shares}) EXPECT_TRUE(each->fits);
  EXPECT_LT(ranks.seconds, places.seconds);
  EXPECT_LT(places.seconds, shares.seconds);
  EXPECT_EQ(shares.longest, model::MeshAxis::data);
}

TEST_F(KnownOrderTest, SharesWeightsOfAnInferenceByItself) {
  const auto weightsOf = [](const std::string& execution) {
    const compile::Compilation all = compiledKnown(fmt::format(R"(
[model]
builder = "decoder"
layers = 2
hidden = 256
heads = 4
feed_forward = 1024
vocabulary = 4096
sequence = 16
[execution]
mode = "inference"
numerics = false
{}
[inference]
replication_factor = 4
[system]
name = "hls-gaudi2"
)",
                                                               execution));
    std::int64_t bytes = 0;
    for (const devices::LoweredVariable& variable :
         all.executables.front().lowered.front().memory.front().variables)
      bytes += variable.category == "weight" ? variable.bytes.count : 0;
    return bytes;
  };
  const std::int64_t whole = weightsOf(""), shared = weightsOf("shard_weights = true");
  EXPECT_NEAR(static_cast<double>(shared), static_cast<double>(whole) / 4, 0.05 * static_cast<double>(whole));
}

}  // namespace
}  // namespace pipescope::app
