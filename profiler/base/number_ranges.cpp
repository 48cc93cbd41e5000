#include "profiler/base/number_ranges.h"

#include <cstddef>

namespace pipescope::base {

std::string numberRanges(const std::vector<int>& numbers, const char* last) {
  constexpr std::size_t kLeast = 3;
  std::vector<std::string> parts;
  for (std::size_t first = 0, next = 0; first < numbers.size(); first = next) {
    next = first + 1;
    const int step = next < numbers.size() && numbers[next] < numbers[first] ? -1 : 1;
    while (next < numbers.size() && numbers[next] == numbers[next - 1] + step) ++next;
    if (next - first < kLeast) next = first + 1;
    parts.push_back(std::to_string(numbers[first]) +
                    (next - first == 1 ? std::string() : "–" + std::to_string(numbers[next - 1])));
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? last : ", ") + parts[i];
  return text;
}

}  // namespace pipescope::base
