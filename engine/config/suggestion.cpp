#include "engine/config/suggestion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipescope::config {

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  if (known.empty()) return "; it takes none";
  const std::string near = nearest(word, known);
  return near.empty() ? fmt::format("; known are {}", fmt::join(known, ", "))
                      : fmt::format("; did you mean {}?", near);
}

}  // namespace pipescope::config
