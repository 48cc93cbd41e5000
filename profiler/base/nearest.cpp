#include "profiler/base/nearest.h"

#include <algorithm>
#include <cctype>

namespace pipescope::base {

namespace {
/// Capital letters are no edit: who types ADAM means adam.
bool isSameLetter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}
}  // namespace

std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (isSameLetter(a[i - 1], b[j - 1]) ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

namespace {
/// The part of a key behind its last dot.
std::string_view ownPart(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? key : key.substr(dot + 1);
}

/// A word that begins with what was typed counts as one and a half edits away.
constexpr std::size_t kBeginning = 3;
/// Shorter beginnings say little. Flags come with their two dashes.
constexpr std::size_t kShortestBeginning = 5;
/// Limit of a word: more characters than any key, option or name of a section has.
constexpr std::size_t kMostNameCharacters = 200;
}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.empty()) return {};  // every short word would be near
  // A word that is longer than all names is near to none, and comparing it may take minutes.
  if (word.size() > kMostNameCharacters) return {};
  std::string best;
  std::size_t bestDistance = std::string::npos;  // twice the number of edits
  for (const std::string& candidate : known) {
    // A key in the wrong table is one step further away than its own name.
    const std::size_t whole = editDistance(word, candidate);
    const std::size_t own = editDistance(ownPart(word), ownPart(candidate)) + 1;
    std::size_t d = 2 * std::min(whole, own);
    // A word that lacks the end of a long name is further from it in edits than from many a short name.
    if (word.size() >= kShortestBeginning && candidate.starts_with(word)) d = std::min(d, kBeginning);
    if (d < bestDistance) {
      bestDistance = d;
      best = candidate;
    }
  }
  // The dashes of an option are the same in each, so they say nothing.
  const std::size_t letters =
      ownPart(word).size() - std::min(ownPart(word).find_first_not_of('-'), ownPart(word).size());
  // Two edits make any short word of another: "gpt" is not "vit".
  const std::size_t tolerance = std::max<std::size_t>(1, letters / 2);
  return bestDistance <= 2 * tolerance ? best : std::string();
}

std::string didYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? "." : "; did you mean \"" + near + "\"?";
}

}  // namespace pipescope::base
