// Tests sweeps of inference: generations and single phases of them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "app/run/sweep/questions.h"
#include "tests/unit/sweep/sweep_fixture.h"

namespace pipescope::app {
namespace {

using testing::HasSubstr;

constexpr double kPrompts = 4, kTokens = 30;

class GenerationSweepTest : public SweepFixture {
 protected:
  /// A small decoder on one card, with further lines for its tables.
  static SweepTable swept(const std::vector<std::string>& vary, const std::string& model,
                          const std::string& inference) {
    const auto parsed = parseConfiguration(fmt::format(R"(
[model]
builder = "decoder"
layers = 3
hidden = 64
heads = 4
feed_forward = 128
vocabulary = 512
sequence = 100
{}
[execution]
mode = "inference"
precision = "bfloat16"
[inference]
micro_batch_size = 4
{}
[system]
name = "hls-gaudi2"
)",
                                                       model, inference),
                                           "generate.toml");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    SweepRequest request;
    request.keys = parseAllVaried(configurationKeys(), vary).value();
    request.processes = 2;
    base::SilentProgress progress;
    auto result = sweep(*parsed, request, progress);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return std::move(result).value().table;
  }
};

double figure(const SweepRow& row, const char* key) {
  EXPECT_EQ(row.error, "");
  return row.figures.number(key).value_or(-1);
}

/// The prompt and each decoding step take as long as a call of theirs alone. A bucket that is longer than the
/// answer makes all steps alike.
TEST_F(GenerationSweepTest, GivesTheFiguresOfWholeGenerations) {
  const std::vector<std::string> ranks = {"tensor_parallel=1,2"};
  const SweepTable whole = swept(ranks, "", "new_tokens = 30\ncache_bucket = 1000");
  const SweepTable prompt = swept(ranks, "cache_room = 130\nnext_token = true", "");
  const SweepTable step =
      swept(ranks, "phase = \"decode\"\ncache = 129\ncache_room = 130\nnext_token = true", "");
  for (std::size_t i = 0; i < 2; ++i) {
    const double first = figure(whole.rows[i], "time_to_first_token_seconds"),
                 each = figure(whole.rows[i], "time_per_token_seconds");
    EXPECT_NEAR(first, kPrompts / figure(prompt.rows[i], "samples_per_second"), first * 1e-6);
    EXPECT_NEAR(each, kPrompts / figure(step.rows[i], "samples_per_second"), each * 1e-6);
    EXPECT_NEAR(figure(whole.rows[i], "output_tokens_per_second"),
                kPrompts * kTokens / (first + (kTokens - 1) * each), 1e-3);
  }
}

TEST_F(GenerationSweepTest, GivesNoSuchFiguresOfASinglePhase) {
  const SweepTable table = swept({"tensor_parallel=1,2"}, "", "");
  for (const char* key :
       {"output_tokens_per_second", "time_to_first_token_seconds", "time_per_token_seconds"})
    EXPECT_EQ(table.rows[0].figures.of(key), figures::Cell()) << key;
}

/// Two ranks read a prompt in less time, so that the rate of prompts would rank the rows as well; but the
/// answer speaks of the tokens that a user gets.
TEST_F(GenerationSweepTest, RanksGenerationsByTheirOutputTokens) {
  const SweepTable table = swept({"inference.micro_batch_size=1..8*2"}, "", "new_tokens = 30");
  const auto largest = largestThatFits(table, "inference.micro_batch_size");
  ASSERT_TRUE(largest.ok()) << largest.error().message;
  EXPECT_THAT(largest->sentence, HasSubstr("is 8 with "));
  EXPECT_THAT(largest->sentence, HasSubstr(" output tokens per second."));
  const auto knee = kneeOf(table, "inference.micro_batch_size");
  ASSERT_TRUE(knee.ok()) << knee.error().message;
  EXPECT_THAT(knee->sentence, HasSubstr("The knee of the output tokens per second"));
}

}  // namespace
}  // namespace pipescope::app
