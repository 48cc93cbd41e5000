// Tests the advice for models that do not fit: each change that it names is applied, and its effect counted
// anew from the tiles of the profile's memory.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "app/plan/fit_advice.h"
#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"
#include "app/run/request/model_defaults.h"
#include "engine/plan/model_trials.h"

namespace pipescope::app {
namespace {

base::SilentProgress quiet;

using ::testing::HasSubstr;

config::Configuration wideNetwork(const std::string& system, const std::string& width = "8192") {
  auto parsed = parseConfiguration(R"(
[model]
name = "wide"
input = [4096]
[[model.layers]]
type = "linear"
name = "a/linear"
block = "A"
out_features = )" + width + R"(
[[model.layers]]
type = "relu"
name = "a/relu"
block = "A"
[[model.layers]]
type = "linear"
name = "b/linear"
block = "B"
out_features = 4096
[[stages]]
blocks = ["*"]
[execution]
mode = "training"
numerics = false
[training]
optimizer = "adamw"
learning_rate = 0.001
gradient_accumulation = 2
micro_batch_size = 8
[data]
dataset = "synthetic"
samples = 64
[system]
name = ")" + system + "\"\n",
                                   "wide.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return std::move(parsed).value();
}

/// Bytes past the end of each tile.
std::int64_t pastTheEnds(const compile::Compilation& compilation) {
  std::int64_t sum = 0;
  for (const compile::CompiledExecutable& executable : compilation.executables) {
    for (const devices::LoweredDevice& device : executable.lowered) {
      std::vector<std::int64_t> tiles(1472);
      for (const devices::UnitBytesRun& run : device.memory.front().units) {
        for (std::int64_t i = 0; i < run.unitCount; ++i)
          tiles.at(static_cast<std::size_t>(run.firstUnit + i)) += run.bytes.count;
      }
      for (const std::int64_t bytes : tiles) sum += std::max<std::int64_t>(0, bytes - 624 * 1024);
    }
  }
  return sum;
}

/// The proposal that changes this key alone.
auto proposalOf(const std::string& key, const std::vector<FitProposal>& proposals) {
  return std::ranges::find_if(proposals, [&](const FitProposal& proposal) {
    return proposal.settings.size() == 1 && proposal.settings.front().first == key;
  });
}

/// Weights of 131 GB in bfloat16 are 66 GB in float8, which Gaudi2 holds and multiplies. Gaudi does not.
TEST(FitAdvice, ProposesFloat8WhereDevicesMultiplyIt) {
  for (const auto& [system, helps] : {std::pair("gaudi2", true), {"gaudi", false}}) {
    config::Configuration configuration = wideNetwork(system, "8000000");
    for (const auto& [key, value] :
         {std::pair("execution.mode", "inference"), {"execution.precision", "bfloat16"}}) {
      const base::Status set = configuration.setText(key, value, config::Origin::flag);
      ASSERT_TRUE(set.ok()) << set.error().message;
    }
    plan::SharedStages known;
    const auto compiled = compileRun(configuration, nullptr, &known);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    base::SerialExecutor serial;
    const std::vector<FitProposal> proposals = proposeChanges(configuration, *compiled, known, serial, quiet);
    const auto found = std::ranges::find_if(
        proposals, [](const FitProposal& proposal) { return proposal.settings.front().second == "float8"; });
    ASSERT_EQ(found != proposals.end(), helps) << system;
    if (!helps) continue;
    EXPECT_EQ(found->settings.front().first, "execution.precision");
    EXPECT_EQ(found->all().count, 0);
  }
}

/// Weights, sums of gradients and each moment take 24.4 GiB. Gaudi2 has room for 94.6 GiB, which is too
/// little for four of them and enough for three. Beside a velocity, weights and sums of 30.5 GiB each there
/// are gradients of one layer, half as large: 106.8 GiB, and 91.6 with half the velocity.
TEST(FitAdvice, ProposesMomentsInSixteenBits) {
  struct Case {
    const char *optimizer, *width;
    std::vector<std::string> keys;
  };
  for (const Case& each : {Case{"adamw", "800000", {"training.half_moment1", "training.half_moment2"}},
                           Case{"sgd", "1000000", {"training.half_velocity"}}}) {
    config::Configuration configuration = wideNetwork("gaudi2", each.width);
    ASSERT_TRUE(configuration.replace("training.optimizer", std::string(each.optimizer)).ok());
    if (each.keys.size() == 1) {
      ASSERT_TRUE(configuration.setText("training.momentum", "0.9", config::Origin::flag).ok());
      ASSERT_TRUE(configuration.replace("training.micro_batch_size", std::int64_t{1}).ok());
    }
    plan::SharedStages known;
    const auto compiled = compileRun(configuration, nullptr, &known);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    EXPECT_FALSE(compiled->overflow().empty());
    base::SerialExecutor serial;
    const std::vector<FitProposal> proposals = proposeChanges(configuration, *compiled, known, serial, quiet);
    const auto found = std::ranges::find_if(proposals, [&](const FitProposal& proposal) {
      std::vector<std::string> keys;
      for (const auto& [key, value] : proposal.settings) keys.push_back(key);
      return keys == each.keys;
    });
    ASSERT_NE(found, proposals.end()) << each.optimizer;
    EXPECT_EQ(found->all().count, 0) << each.optimizer;
  }
}

TEST(FitAdvice, NamesOnlyWhatHelpsAndHowMuch) {
  const config::Configuration configuration = wideNetwork("pod4");
  plan::SharedStages known;
  const auto compiled = compileRun(configuration, nullptr, &known);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  const std::int64_t before = pastTheEnds(*compiled);
  ASSERT_GT(before, 0);
  EXPECT_EQ(bytesMissing(*compiled), (MissingBytes{{{0, 0, 0}, base::Bytes(before)}}));
  base::SerialExecutor serial;
  const std::vector<FitProposal> proposals = proposeChanges(configuration, *compiled, known, serial, quiet);
  ASSERT_FALSE(proposals.empty());
  std::set<std::string> keys;
  std::int64_t last = 0;
  for (const FitProposal& proposal : proposals) {
    config::Configuration changed = configuration;
    for (const auto& [key, value] : proposal.settings)
      ASSERT_TRUE(changed.setText(key, value, config::Origin::flag).ok());
    const auto again = compileRun(changed);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(pastTheEnds(*again), proposal.all().count) << proposal.text(base::Bytes(before));
    EXPECT_LT(proposal.all().count, before) << proposal.text(base::Bytes(before));
    EXPECT_GE(proposal.all().count, last) << "the largest effect comes first";
    last = proposal.all().count;
    for (const auto& [key, value] : proposal.settings) keys.insert(key);
  }
  // Adam's two moments take 512 MiB. A single stage has nothing to recompute, and one replica no shares.
  EXPECT_TRUE(keys.contains("execution.offload_optimizer"));
  EXPECT_FALSE(keys.contains("execution.recompute"));
  EXPECT_FALSE(keys.contains("execution.shard_optimizer"));
  compile::Compilation advised = *compiled;
  addFitAdvice(configuration, advised, known, serial, quiet);
  const std::string text = advised.overflow().front();
  EXPECT_THAT(text, ::testing::StartsWith(compiled->overflow().front() + "\n"));
  EXPECT_THAT(text, HasSubstr("\n" + proposals.front().settings.front().first + " = "));
  EXPECT_EQ(std::ranges::count(text, '\n'),
            static_cast<std::int64_t>(std::min<std::size_t>(5, proposals.size())));
}

/// A model whose weights and moments of 1.6 GB need more than two chips.
config::Configuration largeBert(const std::string& stages) {
  auto parsed = parseConfiguration(R"(
[model]
builder = "bert"
layers = 6
hidden = 1024
heads = 16
[execution]
mode = "training"
numerics = false
[data]
dataset = "synthetic"
[system]
name = "pod4"
)",
                                   "bert.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  if (!stages.empty()) {
    EXPECT_TRUE(parsed->setText("execution.stages", stages, config::Origin::flag).ok());
  }
  return *parsed;
}

/// The bytes that are missing with the settings of a proposal, by a run of its own.
std::int64_t missingOfRun(config::Configuration configuration, const FitProposal& proposal) {
  for (const auto& [key, value] : proposal.settings)
    EXPECT_TRUE(configuration.setText(key, value, config::Origin::flag).ok()) << key;
  const auto again = compileRun(configuration);
  EXPECT_TRUE(again.ok()) << again.error().message;
  return again.ok() ? pastTheEnds(*again) : -1;
}

TEST(FitAdvice, ProposesMoreStagesWhereNobodyNamesThem) {
  const config::Configuration configuration = largeBert("");
  plan::SharedStages known;
  const auto compiled = compileRun(configuration, nullptr, &known);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  base::SerialExecutor serial;
  ASSERT_EQ(known.compilations(), 1);
  const std::vector<FitProposal> proposals = proposeChanges(configuration, *compiled, known, serial, quiet);
  EXPECT_LE(known.compilations(), 1 + 4) << "three changes, and all of them together";
  const auto found = proposalOf("execution.stages", proposals);
  ASSERT_NE(found, proposals.end());
  // The trial cuts where the costs of the model say; the run searches for better cuts.
  const auto before = static_cast<double>(pastTheEnds(*compiled));
  EXPECT_NEAR(static_cast<double>(missingOfRun(configuration, *found)),
              static_cast<double>(found->all().count), 0.02 * before);
  EXPECT_LT(static_cast<double>(found->all().count), before);
}

/// Four stages of the schedule popart need seven micro-batches. Where nobody states their number, a run fills
/// the stages; where somebody states four, more of them are part of the proposal.
TEST(FitAdvice, ProposesTheMicroBatchesThatMoreStagesNeed) {
  for (const bool states : {false, true}) {
    config::Configuration configuration = largeBert("2");
    if (states) {
      ASSERT_TRUE(configuration.setText("training.gradient_accumulation", "4", config::Origin::file).ok());
    }
    auto filled = withModelDefaults(configuration);
    ASSERT_TRUE(filled.ok()) << filled.error().message;
    plan::SharedStages known(plan::SharedStages::Remembers::splits);
    const auto compiled = compileRun(*filled, nullptr, &known);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    base::SerialExecutor serial;
    const std::vector<FitProposal> proposals = proposeChanges(*filled, *compiled, known, serial, quiet);
    const auto found = std::ranges::find_if(
        proposals, [](const FitProposal& each) { return each.settings.front().first == "execution.stages"; });
    ASSERT_NE(found, proposals.end()) << states;
    EXPECT_EQ(found->settings.front().second, "4");
    ASSERT_EQ(found->settings.size(), states ? 2U : 1U);
    if (states) {
      EXPECT_EQ(found->settings.back(),
                (std::pair<std::string, std::string>("training.gradient_accumulation", "8")));
    }
  }
}

TEST(FitAdvice, ModelsThatAreDividedKeepTheirCuts) {
  const config::Configuration configuration = largeBert("2");
  plan::SharedStages known(plan::SharedStages::Remembers::splits);
  const auto compiled = compileRun(configuration, nullptr, &known);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  ASSERT_NE(known.lastSplit(), nullptr);
  const std::int64_t searched = known.compilations();
  EXPECT_GE(searched, 3) << "the whole model, at least one split, and the best one";
  config::Configuration changed = configuration;
  ASSERT_TRUE(changed.setText("training.accumulator", "float16", config::Origin::flag).ok());
  const auto request = requestOfRun(changed);
  ASSERT_TRUE(request.ok()) << request.error().message;
  base::SerialExecutor serial;
  plan::ModelTrials trials(*compiled, known);
  const auto variant = trials.compile(*request, serial);
  ASSERT_TRUE(variant.ok()) << variant.error().message;
  EXPECT_EQ(known.compilations(), searched + 1);
  const auto blocksOf = [](const compile::Compilation& model) {
    std::vector<std::vector<std::string>> blocks;
    for (const compile::StageIr& stage : model.executables.front().ir.stages) blocks.push_back(stage.blocks);
    return blocks;
  };
  EXPECT_EQ(blocksOf(*variant), blocksOf(*compiled));
  EXPECT_LT(pastTheEnds(*variant), pastTheEnds(*compiled));
}

/// However long the search for stages took, what is tried costs one compilation each.
TEST(FitAdvice, CostsOneCompilationForEachChange) {
  const config::Configuration configuration = largeBert("2");
  plan::SharedStages known(plan::SharedStages::Remembers::splits);
  const auto compiled = compileRun(configuration, nullptr, &known);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  const std::int64_t searched = known.compilations();
  base::SerialExecutor serial;
  const std::vector<FitProposal> proposals = proposeChanges(configuration, *compiled, known, serial, quiet);
  EXPECT_LE(known.compilations(), searched + 5) << "four changes, and all together";
  ASSERT_FALSE(proposals.empty());
  const auto before = static_cast<double>(pastTheEnds(*compiled));
  EXPECT_NEAR(static_cast<double>(missingOfRun(configuration, proposals.front())),
              static_cast<double>(proposals.front().all().count), 0.02 * before);
}

TEST(FitAdvice, EndsWithItsCompilationOnceTheUserStops) {
  class StopsAfter : public base::Progress {
   public:
    explicit StopsAfter(int asked) : left_(asked) {}
    void report(double, std::string_view) override {}
    bool cancelled() const override { return left_-- <= 0; }

   private:
    mutable int left_;
  };
  const config::Configuration configuration = largeBert("");
  plan::SharedStages known;
  auto compiled = compileRun(configuration, nullptr, &known);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  base::SerialExecutor serial;
  for (const int asked : {0, 1, 4}) {
    const std::int64_t before = known.compilations();
    const StopsAfter progress(asked);
    known.setProgress(&progress);
    StopsAfter search(asked);
    EXPECT_TRUE(proposeChanges(configuration, *compiled, known, serial, search).empty());
    EXPECT_LE(known.compilations(), before + (asked == 0 ? 0 : 3))
        << asked << ": each begins and ends at once";
    known.setProgress(nullptr);
  }
  StopsAfter atOnce(0);
  compile::Compilation advised = *compiled;
  addFitAdvice(configuration, advised, known, serial, atOnce);
  EXPECT_THAT(advised.overflow().front(), HasSubstr("was stopped"));
}

/// Advice can be copied into the configuration, also for a model of many blocks.
TEST(FitAdvice, WritesTheEndsOfRepeatedBlocksAsPatterns) {
  auto parsed = parseConfiguration(R"(
[model]
builder = "bert"
layers = 24
sequence = 512
[execution]
mode = "training"
numerics = false
precision = "bfloat16"
[training]
micro_batch_size = 512
[data]
dataset = "synthetic"
[system]
name = "gaudi"
)",
                                   "bert.toml");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  plan::SharedStages known;
  const auto compiled = compileRun(*parsed, nullptr, &known);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  base::SerialExecutor serial;
  const std::vector<FitProposal> proposals = proposeChanges(*parsed, *compiled, known, serial, quiet);
  const auto found = proposalOf("execution.checkpoints", proposals);
  ASSERT_NE(found, proposals.end());
  EXPECT_THAT(found->text(base::Bytes(1)),
              ::testing::StartsWith("execution.checkpoints = [\"embeddings/norm\", "
                                    "\"encoder/layer*/feed_forward/norm\"]: "));
  config::Configuration written = *parsed;
  std::string list = "\"embeddings/norm\"";
  for (int layer = 0; layer < 24; ++layer)
    list += fmt::format(", \"encoder/layer{}/feed_forward/norm\"", layer);
  ASSERT_TRUE(written.setText("execution.checkpoints", "[" + list + "]", config::Origin::flag).ok());
  const auto again = compileRun(written);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(bytesMissing(*again), found->missing) << "the patterns name each block's last result";
}

TEST(FitAdvice, IsSilentForAModelThatFits) {
  config::Configuration configuration = wideNetwork("pod4");
  ASSERT_TRUE(configuration.setText("execution.precision", "float16", config::Origin::flag).ok());
  ASSERT_TRUE(configuration.setText("execution.offload_optimizer", "true", config::Origin::flag).ok());
  plan::SharedStages known;
  const auto compiled = compileRun(configuration, nullptr, &known);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  ASSERT_EQ(pastTheEnds(*compiled), 0);
  base::SerialExecutor serial;
  compile::Compilation advised = *compiled;
  addFitAdvice(configuration, advised, known, serial, quiet);
  EXPECT_TRUE(advised.overflow().empty());
  EXPECT_TRUE(proposeChanges(configuration, *compiled, known, serial, quiet).empty());
}

/// Mk1 chips have no streaming memory, and a batch of one cannot become smaller.
TEST(FitAdvice, SaysSoIfNothingHelps) {
  config::Configuration configuration = wideNetwork("mk1", "65536");
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"execution.mode", "inference"},
                                                        {"inference.micro_batch_size", "1"},
                                                        {"execution.precision", "float16"},
                                                        {"execution.partials_type", "float16"},
                                                        {"execution.available_memory_proportion", "0.001"}})
    ASSERT_TRUE(configuration.setText(key, value, config::Origin::flag).ok()) << key;
  plan::SharedStages known;
  const auto compiled = compileRun(configuration, nullptr, &known);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  base::SerialExecutor serial;
  ASSERT_EQ(compiled->overflow().size(), 1u);
  compile::Compilation advised = *compiled;
  addFitAdvice(configuration, advised, known, serial, quiet);
  EXPECT_THAT(advised.overflow().front(),
              HasSubstr("\nNone of the options that were tried saves memory here"));
}

}  // namespace
}  // namespace pipescope::app
