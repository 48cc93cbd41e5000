#pragma once
#include <string>

namespace pipescope::importing {

/// Replaces bytes that are not UTF-8, and control characters, so that every reader accepts the text.
void mendText(std::string& text);
/// Mends escapes within the strings of a JSON text: halves of surrogate pairs become the replacement
/// character, and a backslash that escapes nothing stands for itself.
void mendEscapes(std::string& json);
/// Drops commas behind the last member of an object or the last item of an array.
void dropLastCommas(std::string& json);
inline std::string mended(std::string text) {
  mendText(text);
  return text;
}

}  // namespace pipescope::importing
