#include "engine/builders/suggestion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/config/key.h"

namespace pipescope::builders {

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  if (known.empty()) return "; it takes none";
  const std::string near = config::nearest(word, known);
  if (near.empty()) return fmt::format("; known are {}", fmt::join(known, ", "));
  return fmt::format("; did you mean {}?", near);
}

}  // namespace pipescope::builders
