#pragma once
// The values after "key=" in a --vary of `pipescope sweep` and `pipescope plan`.
#include <string>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::app {

/// Reads "key=a,b,c" or a range: "key=1..8" (every whole number), "key=1..64*2" (each twice the one before)
/// or "key=10..50+10" (each 10 more). Commas within brackets and quotes separate nothing. Errors: a range
/// that never ends or has too many values.
base::Result<std::vector<std::string>> variedValues(const std::string& text);

}  // namespace pipescope::app
