#pragma once
// Suggestions for words that are not known.
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/nearest.h"

namespace pipescope::config {

using base::editDistance;
using base::nearest;

/// The end of an error sentence about an unknown word: "; did you mean relu?" if a known word is near,
/// otherwise
/// "; known are …" with all of them, or "; it takes none" if there are none.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace pipescope::config
