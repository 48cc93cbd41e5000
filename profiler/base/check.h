#pragma once
// A broken invariant ends the program with exit status 3 and a sentence with the place and the condition.
// Expected failures are Results instead.
#include <string>

namespace pipescope::base {

/// The function that receives the sentence of a failed check. It must not return. A program sets one that
/// prints the sentence and exits with status 3.
using CheckHandler = void (*)(const std::string& sentence);
void setCheckHandler(CheckHandler handler);

[[noreturn]] void checkFailed(const char* file, int line, const char* expression, const std::string& detail);

}  // namespace pipescope::base

#define PIPESCOPE_CHECK(condition, detail)                                                      \
  do {                                                                                          \
    if (!(condition)) ::pipescope::base::checkFailed(__FILE__, __LINE__, #condition, (detail)); \
  } while (false)
