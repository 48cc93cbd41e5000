#include "profiler/base/number_text.h"

namespace pipescope::base {

std::string groupedText(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace pipescope::base
