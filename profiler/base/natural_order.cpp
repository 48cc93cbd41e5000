#include "profiler/base/natural_order.h"

#include <algorithm>

namespace pipescope::base {
namespace {

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes the number at the front of `text`, without its leading zeros.
std::string_view takeNumber(std::string_view& text) {
  const auto end =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), isDigit) - text.begin());
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

}  // namespace

bool NaturalLess::operator()(std::string_view a, std::string_view b) const {
  const std::string_view wholeA = a, wholeB = b;
  while (!a.empty() && !b.empty()) {
    if (isDigit(a.front()) && isDigit(b.front())) {
      const std::string_view left = takeNumber(a), right = takeNumber(b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      continue;
    }
    if (a.front() != b.front())
      return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front());
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return wholeA < wholeB;  // "x01" and "x1" differ
}

}  // namespace pipescope::base
