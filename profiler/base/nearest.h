#pragma once
// Suggestions for words that are not known.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pipescope::base {

/// The number of letters to insert, remove or replace to make one word of the other (Levenshtein).
/// Capital letters count as small ones.
std::size_t editDistance(std::string_view a, std::string_view b);

/// The known key or word with the smallest edit distance to `word`; empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// The end of a sentence about an unknown name: "; did you mean \"gpipe\"?" if a known name is near,
/// otherwise ".".
std::string didYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace pipescope::base
