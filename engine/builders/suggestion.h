#pragma once
#include <string>
#include <vector>

namespace pipescope::builders {

/// The end of an error sentence about an unknown word: "; did you mean relu?" if one known word is similar,
/// otherwise "; known are …" with all of them, or "; it takes none" if there are none.
std::string suggestion(const std::string& word, const std::vector<std::string>& known);

}  // namespace pipescope::builders
