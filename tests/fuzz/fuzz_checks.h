#pragma once
// Ends a fuzz target with a sentence where something does not hold.
#include <cstdio>
#include <cstdlib>

namespace pipescope::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// True for a result. An error must have a sentence.
template <typename R>
bool hasResultOrSentence(const R& result) {
  if (!result.ok()) require(!result.error().message.empty(), "an error without a sentence");
  return result.ok();
}

}  // namespace pipescope::fuzz
