#pragma once
// Broken invariants end the program (exit 3) with the place and the sentence; expected failures are Results.
#include <string>

namespace pipescope::base {

/// Called with the sentence of a failed check; must not return. Programs set one that prints and exits
/// with 3.
using CheckHandler = void (*)(const std::string& sentence);
void setCheckHandler(CheckHandler handler);

[[noreturn]] void checkFailed(const char* file, int line, const char* expression, const std::string& detail);

}  // namespace pipescope::base

#define PIPESCOPE_CHECK(condition, detail)                                                      \
  do {                                                                                          \
    if (!(condition)) ::pipescope::base::checkFailed(__FILE__, __LINE__, #condition, (detail)); \
  } while (false)
