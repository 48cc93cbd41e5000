#include "profiler/sections/kernel_names.h"

namespace pipescope::sections {

std::string shortKernel(const std::string& name) {
  constexpr std::size_t kLongest = 60;
  std::string text;
  int depth = 0;
  char before = 0;
  for (const char c : name.starts_with("void ") ? name.substr(5) : name) {
    if (c == '<' || (c == '(' && !text.empty() && !text.ends_with("::"))) ++depth;
    if (depth == 0) text += c;
    if (((c == '>' && before != '-') || c == ')') && depth > 0) --depth;
    before = c;
  }
  while (text.ends_with(' ')) text.pop_back();
  if (text.empty()) text = name;
  if (text.size() <= kLongest) return text;
  // A UTF-8 character may have several bytes, and the text must not begin within one.
  std::size_t start = text.size() - (kLongest - 3);
  while (start < text.size() && (static_cast<unsigned char>(text[start]) & 0xC0U) == 0x80U) ++start;
  return "…" + text.substr(start);
}

}  // namespace pipescope::sections
