#include "app/run/request/generation.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/base/number_text.h"

namespace pipescope::app {
namespace {

using config::Configuration;

/// Blocks in which vLLM counts tokens of a cache on Gaudis.
constexpr std::int64_t kBlock = 128;
/// Lengths of the cache for which programs are compiled if the user does not say how far they lie apart.
constexpr std::int64_t kUsualLengths = 16;
/// More executables would make a profile that nobody reads.
constexpr std::int64_t kMostLengths = 64;

std::vector<DecodingSteps> stepsOf(std::int64_t prompt, std::int64_t answer, std::int64_t bucket) {
  std::vector<DecodingSteps> steps;
  for (std::int64_t token = 2; token <= answer; ++token) {
    const std::int64_t attends = prompt + token - 1;
    const std::int64_t length = std::min((attends + bucket - 1) / bucket * bucket, prompt + answer);
    if (steps.empty() || steps.back().length != length) steps.push_back({length, 0});
    ++steps.back().count;
  }
  return steps;
}

base::Status checkGeneration(const Configuration& c) {
  if (!c.applies("model.cache_room")) {
    return base::badInput(
        "inference.new_tokens generates text with the builder decoder or a known model made with it, but the "
        "configuration has another model: leave it out, or set model.builder.");
  }
  for (const char* key : {"model.phase", "model.cache", "model.cache_room", "model.cache_at"}) {
    if (!c.given(key)) continue;
    return base::badInput(fmt::format(
        "{} is about one phase of a generation, but inference.new_tokens runs all of them: leave one of the "
        "two out.",
        key));
  }
  if (c.text("execution.mode") != "inference") {
    return base::badInput("inference.new_tokens generates text, but execution.mode is " +
                          c.text("execution.mode") + ": add --inference.");
  }
  if (c.boolean("execution.numerics")) {
    return base::badInput(
        "inference.new_tokens emulates time and memory of a generation and computes no tokens: add "
        "--no-numerics.");
  }
  return {};
}

}  // namespace

base::Result<std::optional<Generation>> generationOf(const Configuration& c) {
  Generation generation;
  generation.answer = c.integer("inference.new_tokens");
  if (generation.answer == 0) {
    if (!c.given("inference.cache_bucket")) return std::optional<Generation>();
    return base::badInput(
        "inference.cache_bucket is about the tokens that inference.new_tokens generates, which is 0: set it, "
        "or leave cache_bucket out.");
  }
  PIPESCOPE_TRY(checkGeneration(c));
  generation.prompt = c.integer("model.sequence");
  std::int64_t bucket = c.integer("inference.cache_bucket");
  const bool chosen = bucket > 0;
  if (!chosen) bucket = kBlock;
  while (!chosen && generation.answer / bucket > kUsualLengths) bucket *= 2;
  if (generation.answer / bucket >= kMostLengths) {
    return base::badInput(
        fmt::format("inference.cache_bucket is {}, so that {} tokens need {} programs; at most {} are "
                    "compiled: set it to "
                    "{} or more, or leave it out.",
                    bucket, generation.answer, generation.answer / bucket + 1, kMostLengths,
                    generation.answer / kMostLengths + 1));
  }
  generation.steps = stepsOf(generation.prompt, generation.answer, bucket);
  return std::optional(std::move(generation));
}

base::Result<std::vector<GenerationPart>> generationParts(const Configuration& c,
                                                          const Generation& generation) {
  std::vector<GenerationPart> parts;
  const auto add = [&](std::string name, const char* phase, std::int64_t cached) -> base::Status {
    Configuration own = c;
    PIPESCOPE_TRY(own.set("model.phase", std::string(phase), config::Origin::derived));
    PIPESCOPE_TRY(own.set("model.cache", cached, config::Origin::derived));
    PIPESCOPE_TRY(own.set("model.cache_room", generation.room(), config::Origin::derived));
    if (!c.given("model.next_token"))  // the host has no use for the scores
      PIPESCOPE_TRY(own.set("model.next_token", true, config::Origin::derived));
    parts.push_back({std::move(name), std::move(own)});
    return {};
  };
  PIPESCOPE_TRY(add("prefill", "prefill", 0));
  for (const DecodingSteps& steps : generation.steps)
    PIPESCOPE_TRY(add(fmt::format("decode-{}", steps.length), "decode", steps.length - 1));
  return parts;
}

base::Result<std::vector<model::Outcome>> generate(const Generation& generation, std::int64_t samples,
                                                   base::Timebase timebase, const TokenCall& call) {
  PIPESCOPE_ASSIGN(const model::Run prompt, call(0, 1));
  model::Run last = prompt;
  std::int64_t token = 1;
  for (std::size_t i = 0; i < generation.steps.size(); ++i) {
    for (std::int64_t step = 0; step < generation.steps[i].count; ++step) {
      PIPESCOPE_ASSIGN(last, call(i + 1, ++token));
    }
  }
  const std::string basis =
      fmt::format("{} {} of {} tokens, {} new {} each", base::groupedText(samples),
                  samples == 1 ? "prompt" : "prompts", base::groupedText(generation.prompt),
                  base::groupedText(generation.answer), generation.answer == 1 ? "token" : "tokens");
  const auto seconds = [&](base::Ticks ticks) { return base::toSeconds(ticks, timebase); };
  std::vector<model::Outcome> outcomes;
  outcomes.push_back({{}, "time_to_first_token", "s", basis, seconds(prompt.end - prompt.start)});
  if (generation.answer > 1) {
    outcomes.push_back({{},
                        "time_per_token",
                        "s",
                        basis,
                        seconds(last.end - prompt.end) / static_cast<double>(generation.answer - 1)});
  }
  outcomes.push_back({{},
                      "output_tokens_per_second",
                      "tokens/s",
                      basis,
                      static_cast<double>(samples * generation.answer) / seconds(last.end - prompt.start)});
  return outcomes;
}

std::int64_t cacheRoomOf(const Configuration& c) {
  if (!c.applies("model.cache_room")) return 0;
  const bool decodes = c.text("model.phase") == "decode" && c.text("model.cache_at") == "device";
  return std::max(c.integer("model.cache_room"), decodes ? c.integer("model.cache") + 1 : 0);
}

}  // namespace pipescope::app
