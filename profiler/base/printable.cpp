#include "profiler/base/printable.h"

#include <algorithm>
#include <cstddef>

namespace pipescope::base {
namespace {

/// The number of bytes of the character that the text begins with; 0: they are not UTF-8 (RFC 3629).
std::size_t characterBytes(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const unsigned first = byte(0), second = byte(1);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xC0U) != 0x80U) return 0;
  }
  // Longer forms than needed, halves of surrogate pairs, and numbers above the last one.
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : length;
}

std::string hexDigits(unsigned byte) {
  constexpr const char* kDigits = "0123456789abcdef";
  return {kDigits[byte >> 4U], kDigits[byte & 15U]};
}

std::string escaped(std::string_view text, bool oneLine) {
  const auto isPlain = [](char c) { return c >= ' ' && c <= '~'; };
  if (std::ranges::all_of(text, isPlain)) return std::string(text);
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = characterBytes(text);
    const auto first = static_cast<unsigned char>(text.front());
    const bool isControl = length == 1 && (first < 0x20 || first == 0x7F);
    // The control characters U+0080 to U+009F have two bytes, of which the first is C2.
    const bool isUpperControl = length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (isControl && (first == '\n' || first == '\t')) {
      safe += oneLine ? (first == '\n' ? "\\n" : "\\t") : std::string(1, text.front());
    } else if (length == 0 || isControl) {
      safe += "\\x" + hexDigits(first);
    } else if (isUpperControl) {
      safe += "\\u00" + hexDigits(static_cast<unsigned char>(text[1]));
    } else {
      safe += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return safe;
}

}  // namespace

std::string printable(std::string_view text) {
  return escaped(text, false);
}

std::string printableName(std::string_view text) {
  return escaped(text, true);
}

namespace {

/// First bytes of the name, at most `most` and without a part of a character at the end, and the length of
/// the whole.
std::string cutName(std::string_view name, std::size_t most) {
  std::size_t kept = most;
  while (kept > 0 && (static_cast<unsigned char>(name[kept]) & 0xC0U) == 0x80U) --kept;
  return std::string(name.substr(0, kept)) + "… (" + std::to_string(name.size()) + " bytes)";
}

/// Quotes and other marks that end the word, and belong to the sentence.
std::string_view endMarks(std::string_view word) {
  constexpr std::size_t kMost = 3;
  const std::size_t last = word.find_last_not_of("\"'.,:;)]");
  return word.substr(std::max(word.size() - std::min(word.size(), kMost), last == word.npos ? 0 : last + 1));
}

}  // namespace

std::string shortName(std::string_view name) {
  constexpr std::size_t kMost = 120, kShown = 60;
  return name.size() <= kMost ? std::string(name) : cutName(name, kShown);
}

std::string shortWords(std::string_view text) {
  constexpr std::size_t kMostOfWord = 500, kShownOfWord = 60, kMost = 20'000;
  std::string shown;
  for (std::size_t at = 0; at < text.size() && shown.size() <= kMost;) {
    const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (word.size() <= kMostOfWord) {
      shown += word;
    } else {
      const std::string_view marks = endMarks(word);
      shown += cutName(word.substr(0, word.size() - marks.size()), kShownOfWord);
      shown += marks;
    }
    if (end < text.size()) shown += text[end];
    at = end + 1;
  }
  return shown.size() <= kMost ? shown : cutName(shown, kMost);
}

}  // namespace pipescope::base
