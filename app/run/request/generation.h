#pragma once
// Generation: a model reads a prompt and writes an answer, token by token. The prompt is one executable. A
// decoding step reads the keys and values of all tokens before its own, and software with static shapes has a
// program for each length of that cache, so that each length is an executable, too.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/configuration.h"
#include "profiler/base/units.h"
#include "profiler/model/rows.h"

namespace pipescope::app {

/// Decoding steps of one executable.
struct DecodingSteps {
  std::int64_t length = 0;  ///< tokens that a step attends to, its own included
  std::int64_t count = 0;   ///< steps of an answer that run it
};

struct Generation {
  std::int64_t prompt = 0, answer = 0;  ///< tokens of a sample
  std::vector<DecodingSteps> steps;     ///< ascending lengths; their counts add up to answer − 1
  /// Tokens of a sample for whose keys and values the devices have room.
  std::int64_t room() const { return prompt + answer; }
};

/// The generation that inference.new_tokens asks for. None: it is 0. Refuses models that cannot generate, and
/// keys that contradict it.
base::Result<std::optional<Generation>> generationOf(const config::Configuration& configuration);

/// Configurations of the executables of a generation, with their names: first the prompt, then one for each
/// entry of Generation::steps.
struct GenerationPart {
  std::string name;
  config::Configuration configuration;
};
base::Result<std::vector<GenerationPart>> generationParts(const config::Configuration& configuration,
                                                          const Generation& generation);

/// Emulates a call of an executable of generationParts(), which computes this token. Tokens count from 1.
using TokenCall = std::function<base::Result<model::Run>(std::size_t executable, std::int64_t token)>;
/// Calls the executables of a generation in turn: first the prompt, then a decoding step for each further
/// token. Returns the outcomes of the generation, which belong to no executable yet. `samples` is the number
/// of prompts of a call. Errors are those of a call.
base::Result<std::vector<model::Outcome>> generate(const Generation& generation, std::int64_t samples,
                                                   base::Timebase timebase, const TokenCall& call);

/// Tokens of a sample for whose keys and values the executable of this configuration keeps memory; 0: none.
std::int64_t cacheRoomOf(const config::Configuration& configuration);

}  // namespace pipescope::app
