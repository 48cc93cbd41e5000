// Activations that a plain transformer layer keeps for its backward pass, against the formula of Korthikanti
// et al. (arXiv 2205.05198, §4): s·b·h·(34 + 5·a·s/h) bytes in 16 bits with dropout, and its forms for tensor
// and sequence parallelism.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"

namespace pipescope::app {
namespace {

constexpr std::int64_t kLayerTokens = 64, kLayerBatch = 2, kLayerWidth = 64, kLayerHeads = 8;

/// Bytes of activations that the forward pass makes and the backward pass reads. Values that share memory
/// count once.
std::map<std::string, std::int64_t> keptOf(std::int64_t layers, const std::string& execution,
                                           const std::string& recompute = "none",
                                           const std::string& model = "") {
  const std::string text = fmt::format(R"(
[model]
builder = "decoder"
layers = {}
hidden = {}
heads = {}
feed_forward = {}
sequence = {}
vocabulary = 64
position = "none"
dropout = 0.1
attention_bias = true
feed_forward_bias = true
{}
[execution]
mode = "training"
numerics = false
precision = "bfloat16"
recompute = "{}"
{}
[training]
micro_batch_size = {}
[system]
name = "hls-gaudi2"
)",
                                       layers, kLayerWidth, kLayerHeads, 4 * kLayerWidth, kLayerTokens, model,
                                       recompute, execution, kLayerBatch);
  auto parsed = parseConfiguration(text, "layer.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  if (!parsed.ok()) return {};
  const auto compiled = compileRun(*parsed);
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
  std::map<std::string, std::int64_t> kept;
  if (!compiled.ok()) return kept;
  for (const compile::StageIr& stage : compiled->executables.front().ir.stages) {
    std::set<std::int64_t> made;
    for (const compile::PassIr& pass : stage.passes)
      for (const compile::IrOperator& op : pass.operators)
        for (const auto id : pass.pass == model::Pass::forward ? op.outputs : op.inputs) {
          if (!id.valid() || stage.tensors[id].use != compile::TensorUse::activation) continue;
          const std::string& name = stage.tensors[id].name;
          const bool ofWeight =
              name.find("/weight/") != std::string::npos || name.find("/bias/") != std::string::npos;
          if (ofWeight) continue;  // a view
          if (pass.pass == model::Pass::forward) {
            made.insert(id.value);
          } else if (pass.pass == model::Pass::backward && made.contains(id.value)) {
            kept[name] = stage.tensors[id].type.bytes().count;
          }
        }
  }
  return kept;
}

/// Bytes of the second of two layers ÷ (s·b·h).
double ofALayer(const std::string& execution, const std::string& recompute = "none") {
  std::int64_t bytes = 0;
  for (const auto& [name, size] : keptOf(2, execution, recompute))
    if (name.starts_with("decoder/layer1/")) bytes += size;
  return static_cast<double>(bytes) / (kLayerTokens * kLayerBatch * kLayerWidth);
}

constexpr double kScores = static_cast<double>(kLayerHeads * kLayerTokens) / kLayerWidth;  // a·s/h

TEST(ActivationMemory, IsThatOfTheFormula) {
  EXPECT_DOUBLE_EQ(ofALayer(""), 32 + 4 * kScores);
  EXPECT_DOUBLE_EQ(ofALayer("tensor_parallel = 4"), 8 + 24.0 / 4 + 4 * kScores / 4);
  EXPECT_DOUBLE_EQ(ofALayer("tensor_parallel = 4\nsequence_parallel = true"), (32 + 4 * kScores) / 4);
}

/// The mean of squares has a gradient that depends on the shape of the squares alone, so nobody keeps them
/// (torch.mean keeps sizes). Input, quotient and root stay.
TEST(ActivationMemory, KeepsNoSquaresOfNorms) {
  int norms = 0;
  for (const auto& [name, size] : keptOf(2, "", "none", "norm = \"rms\"")) {
    EXPECT_EQ(name.find("/square"), std::string::npos) << name;
    norms += name.find("_norm/normalise") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(norms, 4);
}

/// The scores of attention are computed again: no term has a·s/h.
TEST(ActivationMemory, IsThatOfTheFormulaOfSelectiveRecomputation) {
  EXPECT_DOUBLE_EQ(ofALayer("", "selective"), 32);
  EXPECT_DOUBLE_EQ(ofALayer("tensor_parallel = 4", "selective"), 8 + 24.0 / 4);
  EXPECT_DOUBLE_EQ(ofALayer("tensor_parallel = 4\nsequence_parallel = true", "selective"), 32.0 / 4);
}

/// Named operators are computed again instead: the activation of the feed-forward part, whose result the
/// second product keeps, has 4·h elements of 2 bytes.
TEST(ActivationMemory, IsSavedByNamedOperators) {
  EXPECT_DOUBLE_EQ(ofALayer("recompute_operators = [\"*/feed_forward/activation\"]", "selective"),
                   32 + 4 * kScores - 8);
}

TEST(ActivationMemory, HasTheTermsOfTheFormula) {
  const auto kept = keptOf(1, "");
  const auto each = [&](const std::string& name) {
    const auto found = kept.find("decoder/layer0/" + name + "/out");
    return found == kept.end()
               ? 0.0
               : static_cast<double>(found->second) / (kLayerTokens * kLayerBatch * kLayerWidth);
  };
  // Attention: input 2, query, key and value 6, input of the output projection 2; scores: softmax 2,
  // dropout 2.
  EXPECT_DOUBLE_EQ(each("attention_norm"), 2);
  EXPECT_DOUBLE_EQ(each("attention/scale") + each("attention/key/heads") + each("attention/value/heads"), 6);
  EXPECT_DOUBLE_EQ(each("attention/merge"), 2);
  EXPECT_DOUBLE_EQ(each("attention/softmax"), 2 * kScores);
  EXPECT_DOUBLE_EQ(each("attention/dropout"), 2 * kScores);
  // Feed-forward part: input 2, before and after its activation 16; norms: inputs 4.
  EXPECT_DOUBLE_EQ(each("feed_forward_norm"), 2);
  EXPECT_DOUBLE_EQ(each("feed_forward/up") + each("feed_forward/activation"), 16);
  EXPECT_DOUBLE_EQ(each("attention_add") + each("feed_forward_add"), 4);
}

/// Megatron-LM's modules keep the tensor that set_input_tensor gave them until they get the next one: s·b·h
/// elements for each chunk of layers but the first one of the model. Nothing else changes where the schedule
/// makes buffers of gradients anyway.
TEST(ActivationMemory, ChunksKeepTheirLastInput) {
  const auto memory = [](const std::string& execution, bool buffers) {
    const std::string text =
        fmt::format(R"(
[model]
builder = "decoder"
layers = 4
hidden = {}
heads = {}
feed_forward = 256
sequence = {}
vocabulary = 64
[execution]
mode = "training"
numerics = false
precision = "bfloat16"
{}
[training]
micro_batch_size = {}
gradient_accumulation = 8
optimizer = "adamw"
master_weights = true
gradient_buffers = "{}"
[system]
name = "dgx-h100"
)",
                    kLayerWidth, kLayerHeads, kLayerTokens, execution, kLayerBatch, buffers);
    auto parsed = parseConfiguration(text, "chunks.toml");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    const auto compiled = compileRun(*parsed);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message;
    std::vector<std::int64_t> always, atPeak;
    for (const devices::LoweredDevice& device : compiled->executables.front().lowered) {
      std::int64_t kept = 0, most = 0;
      for (const devices::LoweredVariable& variable : device.memory.front().variables)
        if (variable.alwaysLive) kept += variable.bytes.count;
      for (const devices::LoweredStepMemory& step : device.memory.front().steps)
        most = std::max(most, step.notAlwaysLive.count);
      always.push_back(kept);
      atPeak.push_back(kept + most);
    }
    return std::pair(always, atPeak);
  };
  constexpr std::int64_t kInput = 2 * kLayerTokens * kLayerBatch * kLayerWidth;
  for (const auto& [execution, chunks] :
       {std::pair("layers_per_stage = [2, 2]\nschedule = \"1f1b\"", std::vector{0, 1}),
        std::pair("layers_per_stage = [1, 1, 1, 1]\nchunks = 2\nschedule = \"interleaved-1f1b\"",
                  std::vector{1, 2})}) {
    const auto kept = memory(execution, true), freed = memory(execution, false);
    ASSERT_EQ(kept.first.size(), 2u);
    for (std::size_t d = 0; d < 2; ++d) {
      EXPECT_EQ(kept.first[d] - freed.first[d], chunks[d] * kInput) << execution << ", device " << d;
      EXPECT_LE(kept.second[d] - freed.second[d], (chunks[d] == 2 ? 1 : 0) * kInput)
          << execution << ", device " << d << ": the passes hold the newest one anyway";
    }
  }
}

/// The memory of a decoder with gated layers on one card.
devices::LoweredMemory memoryOfGatedDecoder(bool gated, const std::string& system, int layers) {
  const std::string text = fmt::format(R"(
[model]
builder = "decoder"
layers = {}
hidden = {}
heads = {}
key_heads = 2
feed_forward = 160
sequence = {}
vocabulary = 96
gated = {}
activation = "{}"
attention_bias = false
feed_forward_bias = false
[execution]
mode = "training"
numerics = false
precision = "bfloat16"
[training]
micro_batch_size = {}
gradient_accumulation = 4
optimizer = "adamw"
master_weights = true
[system]
name = "{}"
)",
                                       layers, kLayerWidth, kLayerHeads, kLayerTokens, gated,
                                       gated ? "silu" : "gelu", kLayerBatch, system);
  auto parsed = parseConfiguration(text, "gated.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  const auto compiled = compileRun(*parsed);
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
  return compiled->executables.front().lowered.front().memory.front();
}

/// Megatron-LM's fused SwiGLU saves what it reads (core/fusions/fused_bias_swiglu.py), and the product behind
/// it its own result: three tensors of s·b·f elements. GELU's two are the ones before and behind it.
TEST(ActivationMemory, FusedGatesKeepTheirOperandsAlone) {
  constexpr std::int64_t kWide = 2 * kLayerTokens * kLayerBatch * 160;
  for (const bool gated : {true, false}) {
    const devices::LoweredMemory memory = memoryOfGatedDecoder(gated, "dgx-h100", 1);
    std::int32_t backward = 0;
    while (memory.steps[static_cast<std::size_t>(backward)].pass != model::Pass::backward) ++backward;
    std::int64_t kept = 0;
    for (const devices::LoweredVariable& variable : memory.variables) {
      for (const devices::LifeSteps life : variable.lives) {
        const bool crosses = life.first < backward && life.end > backward;
        kept += crosses && variable.bytes.count == kWide ? 1 : 0;
      }
    }
    EXPECT_EQ(kept, gated ? 3 : 2);
  }
}

/// TransformerEngine keeps a tensor for each shape of weights whose products add to the accumulators
/// (get_dummy_wgrad): of queries, keys and values together, of the output of attention, of both factors of a
/// gate together, and of what follows them. The vocabulary's layer is Megatron-LM's own.
TEST(ActivationMemory, StandInsOfGradientsStay) {
  constexpr std::int64_t h = kLayerWidth, f = 160, heads = kLayerHeads;
  for (const int layers : {1, 3}) {
    std::multiset<std::int64_t> bytes;
    for (const devices::LoweredVariable& variable :
         memoryOfGatedDecoder(true, "dgx-h100", layers).variables) {
      if (!variable.name.starts_with("libraries/gradient")) continue;
      EXPECT_TRUE(variable.alwaysLive);
      bytes.insert(variable.bytes.count);
    }
    EXPECT_EQ(bytes, (std::multiset<std::int64_t>{2 * (h + 2 * 2 * h / heads) * h, 2 * h * h, 2 * 2 * f * h,
                                                  2 * f * h}))
        << layers;
  }
  for (const devices::LoweredVariable& variable : memoryOfGatedDecoder(true, "hls-gaudi2", 1).variables)
    EXPECT_FALSE(variable.name.starts_with("libraries/")) << "other software";
}

}  // namespace
}  // namespace pipescope::app
