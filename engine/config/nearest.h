#pragma once
// Suggestions for words that are not known.
#include <string>
#include <string_view>
#include <vector>

namespace pipescope::config {

/// The number of letters to insert, remove or replace to make one word of the other (Levenshtein).
std::size_t editDistance(std::string_view a, std::string_view b);

/// The known key or word with the smallest edit distance to `word`; empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// The end of an error sentence about an unknown word: "; did you mean relu?" if a known word is near,
/// otherwise
/// "; known are …" with all of them, or "; it takes none" if there are none.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace pipescope::config
