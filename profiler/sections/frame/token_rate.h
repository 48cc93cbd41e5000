#pragma once
#include <string>

#include "profiler/analysis/pipeline/execution.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// Tokens per second of the emulated system. No value: the samples are no sequences of tokens, or the profile
/// does not say how long they are.
inline Fact tokenRate(const analysis::Catalog& catalog, model::ExecutableId executable,
                      const analysis::Execution& execution) {
  const std::string text = catalog.property("tokens_per_sample." + std::to_string(executable.value));
  double tokens = 0;
  for (const char digit : text) tokens = tokens * 10 + (digit - '0');
  const double rate = tokens * execution.samplesPerSecond;
  return {"tokens_per_second",
          "Tokens per second",
          rate > 0 ? Cell(rate) : Cell(),
          Format::rate,
          "Samples per second × tokens of a sample, padding included; only of models that look up tokens.",
          rate > 0};
}

}  // namespace pipescope::sections
