#pragma once
#include <string>

namespace pipescope::importing {

/// Replaces bytes that are not UTF-8, and control characters, so that every reader accepts the text.
void mendText(std::string& text);
inline std::string mended(std::string text) {
  mendText(text);
  return text;
}

}  // namespace pipescope::importing
