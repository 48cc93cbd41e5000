// Tests generations: a prompt and the tokens after it in one run (inference.new_tokens).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <sstream>

#include "app/run/interface/model_executable.h"
#include "app/run/request/generation.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/figures/figure.h"
#include "run_fixture.h"

namespace pipescope::app {
namespace {

using GenerationRunTest = RunFixture;
using ::testing::HasSubstr;

constexpr std::int64_t kDepth = 3, kKeyHeads = 2, kHeadSize = 16, kPrompts = 4;

/// A small model on one card, with keys that differ ("key = value", one a line).
config::Configuration given(const std::string& more) {
  auto parsed = parseConfiguration(fmt::format(R"(
[model]
builder = "decoder"
layers = {}
hidden = 64
heads = 4
key_heads = {}
feed_forward = 128
vocabulary = 512
sequence = 100
[execution]
mode = "inference"
numerics = false
precision = "bfloat16"
[inference]
micro_batch_size = {}
[data]
dataset = "synthetic"
test_samples = 16
[system]
name = "gaudi2"
)",
                                               kDepth, kKeyHeads, kPrompts),
                                   "generate.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  config::Configuration configuration = std::move(parsed).value();
  std::istringstream lines(more);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t middle = line.find(" = ");
    const base::Status set =
        configuration.setText(line.substr(0, middle), line.substr(middle + 3), config::Origin::flag);
    EXPECT_TRUE(set.ok()) << set.error().message;
  }
  return configuration;
}

double outcomeOf(const analysis::Catalog& catalog, const std::string& name) {
  for (const model::Outcome& row : catalog.outcomes)
    if (row.name == name) return row.value;
  ADD_FAILURE() << "no outcome " << name;
  return 0;
}

/// Emulated seconds of a call of the only executable.
double callSeconds(const std::string& more) {
  base::SilentProgress progress;
  const auto program = run::CompiledModel::compile(run::ModelOptions(given(more)), progress);
  EXPECT_TRUE(program.ok()) << program.error().message;
  return program.ok() ? (*program)->callSeconds(0).value() : 0;
}

/// Each token after the first one attends to one more token; with a bucket of 64 tokens, lengths are
/// multiples of 64, and no longer than prompt and answer together. Counted by hand for 100 + 50 tokens:
/// tokens 2 to 29 attend to 101 … 128 of them, tokens 30 to 50 to 129 … 149.
TEST_F(GenerationRunTest, HasAnExecutableForEachLengthOfTheCache) {
  const auto generation = generationOf(given("inference.new_tokens = 50\ninference.cache_bucket = 64"));
  ASSERT_TRUE(generation.ok()) << generation.error().message;
  ASSERT_TRUE(generation->has_value());
  EXPECT_EQ((*generation)->room(), 150);
  ASSERT_EQ((*generation)->steps.size(), 2U);
  EXPECT_EQ((*generation)->steps[0].length, 128);
  EXPECT_EQ((*generation)->steps[0].count, 28);
  EXPECT_EQ((*generation)->steps[1].length, 150);
  EXPECT_EQ((*generation)->steps[1].count, 21);
}

TEST_F(GenerationRunTest, CompilesAtMostSixteenLengthsUnlessTold) {
  for (const std::int64_t tokens : {1, 2, 127, 2048, 2049, 100'000}) {
    const auto generation = generationOf(given(fmt::format("inference.new_tokens = {}", tokens)));
    ASSERT_TRUE(generation.ok()) << generation.error().message;
    std::int64_t steps = 0;
    for (const DecodingSteps& each : (*generation)->steps) steps += each.count;
    EXPECT_EQ(steps, tokens - 1);
    EXPECT_LE((*generation)->steps.size(), 17U);
  }
}

/// The times are those of the parts when each of them runs alone.
TEST_F(GenerationRunTest, TakesThePromptAndThenAStepForEachToken) {
  ASSERT_TRUE(run(given("inference.new_tokens = 30\ninference.cache_bucket = 1000")).ok());
  const Read made = read();
  const double prompt = callSeconds("model.cache_room = 130\nmodel.next_token = true");
  const double step =
      callSeconds("model.phase = decode\nmodel.cache = 129\nmodel.cache_room = 130\nmodel.next_token = true");
  const double first = outcomeOf(*made.catalog, "time_to_first_token"),
               each = outcomeOf(*made.catalog, "time_per_token");
  EXPECT_NEAR(first, prompt, 1e-9);
  EXPECT_NEAR(each, step, 1e-9);
  EXPECT_NEAR(outcomeOf(*made.catalog, "output_tokens_per_second"), kPrompts * 30 / (first + 29 * each),
              1e-3);
  std::vector<std::string> names;
  for (const model::Executable& executable : made.catalog->executables) names.push_back(executable.name);
  EXPECT_EQ(names, (std::vector<std::string>{"prefill", "decode-130"}));
  EXPECT_EQ(made.catalog->runsOf(made.catalog->executables[model::ExecutableId(1)].id).size(), 29U);
}

/// The scores of a step would take longer to copy than the tokens that it chooses.
TEST_F(GenerationRunTest, AStepReturnsTheNextTokenUnlessAskedForScores) {
  const std::string step = "model.phase = decode\nmodel.cache = 129\nmodel.vocabulary = 100000\n";
  const double token = callSeconds(step), scores = callSeconds(step + "model.next_token = false");
  EXPECT_EQ(token, callSeconds(step + "model.next_token = true"));
  EXPECT_LT(token, scores);
}

/// A cache takes 2·L·k·d elements a token, for all tokens of the answer from the beginning on.
TEST_F(GenerationRunTest, KeepsTheWholeCacheInEachExecutable) {
  ASSERT_TRUE(run(given("inference.new_tokens = 200\ninference.cache_bucket = 100")).ok());
  const Read made = read();
  ASSERT_EQ(made.catalog->executables.size(), 3U);
  constexpr std::int64_t kBytes = 2 * kDepth * kKeyHeads * kHeadSize * 300 * kPrompts * 2;
  for (const model::Executable& executable : made.catalog->executables) {
    const auto memory = analysis::memory(*made.source, *made.catalog, executable.id);
    ASSERT_TRUE(memory.ok()) << memory.error().message;
    EXPECT_EQ(memory->byCategory.at("cache").count, kBytes) << executable.name;
  }
}

/// Ranks divide the caches by heads, and caches of float8 have half the bytes.
TEST_F(GenerationRunTest, DividesTheCacheAndNarrowsIt) {
  ASSERT_TRUE(run(given("inference.new_tokens = 28\nexecution.tensor_parallel = 2\nsystem.name = "
                        "hls-gaudi2\nexecution.precision = float8\nexecution.float8_products = all"))
                  .ok());
  const Read made = read();
  ASSERT_EQ(made.catalog->executables.size(), 2U);
  constexpr std::int64_t kBytes = 2 * kDepth * (kKeyHeads / 2) * kHeadSize * 128 * kPrompts;
  for (const model::Executable& executable : made.catalog->executables) {
    const auto memory = analysis::memory(*made.source, *made.catalog, executable.id);
    ASSERT_TRUE(memory.ok()) << memory.error().message;
    EXPECT_EQ(memory->byCategory.at("cache").count, kBytes) << executable.name;
  }
}

/// Micro-batches in a pipeline are other samples, so each has a cache of its own.
TEST_F(GenerationRunTest, EachMicroBatchHasItsOwnCache) {
  const std::string one = "inference.new_tokens = 28\nsystem.name = hls-gaudi2\nexecution.stages = 2\n";
  const auto cacheOf = [&](const std::string& more) {
    EXPECT_TRUE(run(given(one + more)).ok());
    const Read made = read();
    const auto memory =
        analysis::memory(*made.source, *made.catalog, made.catalog->executables[model::ExecutableId(1)].id);
    return memory->byCategory.at("cache").count;
  };
  EXPECT_EQ(cacheOf("inference.device_iterations = 4"), 2 * cacheOf("inference.device_iterations = 2"));
}

/// Llama-3.1-8B in 16 bits has 16 MiB for a block of 128 tokens, as vLLM prints. What a card of 96 GiB has
/// left beside the weights holds as many blocks as division says.
TEST_F(GenerationRunTest, CountsBlocksOfTheCacheAsServersDo) {
  const auto figuresOf = [&](const std::string& more) {
    EXPECT_EQ(
        refusal(given("model.builder = llama-3.1-8b\nmodel.layers = 32\nmodel.hidden = 4096\nmodel.heads = "
                      "32\nmodel.key_heads = 8\nmodel.feed_forward = 14336\nmodel.vocabulary = 128256\n"
                      "model.phase = decode\nmodel.cache = 1023\n" +
                      more)),
        "");
    const Read made = read();
    const auto memory = analysis::memory(*made.source, *made.catalog, model::ExecutableId(0));
    EXPECT_TRUE(memory.ok());
    figures::Analyses analyses;
    analyses.catalog = made.catalog.get();
    analyses.executable = model::ExecutableId(0);
    analyses.memory = &*memory;
    const auto number = [&](const char* key) {
      return figures::numberIn(figures::figure(key).value(analyses)).value_or(-1);
    };
    const analysis::DeviceMemory& card = memory->devices.front();
    const double rest = static_cast<double>(card.bytesPerUnit.count - card.totalIncludingGaps.count +
                                            card.byCategory.at("cache").count);
    EXPECT_EQ(number("cache_blocks"), std::floor(rest / number("cache_block_bytes")));
    EXPECT_EQ(number("cache_samples"), std::floor(number("cache_blocks") / 8));
    return number("cache_block_bytes");
  };
  EXPECT_EQ(figuresOf(""), 16 << 20);
  EXPECT_EQ(figuresOf("execution.tensor_parallel = 8\nsystem.name = hls-gaudi2"), 2 << 20);
}

TEST_F(GenerationRunTest, RefusesWhatContradictsIt) {
  const auto refusalOf = [&](const std::string& more) { return refusal(given(more)); };
  EXPECT_THAT(refusalOf("inference.cache_bucket = 64"),
              HasSubstr("inference.new_tokens generates, which is 0"));
  EXPECT_THAT(refusalOf("inference.new_tokens = 5\nmodel.phase = decode"),
              HasSubstr("model.phase is about one phase of a generation"));
  EXPECT_THAT(refusalOf("inference.new_tokens = 5\nmodel.cache_at = host"), HasSubstr("model.cache_at"));
  EXPECT_THAT(refusalOf("inference.new_tokens = 1000\ninference.cache_bucket = 2"),
              HasSubstr("at most 64 are compiled: set it to 16 or more"));
  EXPECT_THAT(refusalOf("model.cache_room = 10"), HasSubstr("needs room for as many"));
  EXPECT_THAT(refusalOf("model.batch_split = 5"), HasSubstr("a micro-batch has 4 samples"));
  config::Configuration numbers = given("inference.new_tokens = 5");
  ASSERT_TRUE(numbers.setText("execution.numerics", "true", config::Origin::flag).ok());
  EXPECT_THAT(refusal(numbers), HasSubstr("add --no-numerics"));
  config::Configuration trains = given("inference.new_tokens = 5");
  ASSERT_TRUE(trains.setText("execution.mode", "all", config::Origin::flag).ok());
  EXPECT_THAT(refusal(trains), HasSubstr("add --inference"));
}

/// Ranks sum the results of one half of the batch while they compute the other half. Where computing takes
/// longer, the split hides nearly all of the sums.
TEST_F(GenerationRunTest, ASplitBatchHidesWhatRanksExchange) {
  const std::string large =
      "model.hidden = 2048\nmodel.heads = 16\nmodel.key_heads = 16\nmodel.feed_forward = "
      "8192\nmodel.sequence = "
      "1024\ninference.micro_batch_size = 8\nexecution.tensor_parallel = 4\nsystem.name = hls-gaudi2\n";
  EXPECT_LT(callSeconds(large + "model.batch_split = 2"), 0.9 * callSeconds(large));
}

}  // namespace
}  // namespace pipescope::app
