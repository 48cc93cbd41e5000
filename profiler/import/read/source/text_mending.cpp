#include "profiler/import/read/source/text_mending.h"

#include <charconv>
#include <string_view>
#include <utility>

namespace pipescope::importing {

void mendText(std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) {
      return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
    };
    const unsigned first = byte(i);
    const std::size_t length = first < 0x80                    ? 1
                               : first >= 0xC2 && first < 0xE0 ? 2
                               : first >= 0xE0 && first < 0xF0 ? 3
                               : first >= 0xF0 && first < 0xF5 ? 4
                                                               : 0;
    bool valid = length > 0;
    for (std::size_t k = 1; valid && k < length; ++k) valid = (byte(i + k) & 0xC0U) == 0x80U;
    if (length == 3)
      valid = valid && !(first == 0xE0 && byte(i + 1) < 0xA0) && !(first == 0xED && byte(i + 1) > 0x9F);
    if (length == 4)
      valid = valid && !(first == 0xF0 && byte(i + 1) < 0x90) && !(first == 0xF4 && byte(i + 1) > 0x8F);
    if (!valid || (length == 1 && first < 0x20)) {
      text[i] = valid && first != 0 ? ' ' : '?';
      ++i;
    } else {
      i += length;
    }
  }
}

namespace {

/// The code unit of \\uXXXX at this place, or −1.
int unitAt(const std::string& json, std::size_t at) {
  if (at + 6 > json.size() || json[at] != '\\' || json[at + 1] != 'u') return -1;
  int unit = 0;
  const auto [end, failed] = std::from_chars(json.data() + at + 2, json.data() + at + 6, unit, 16);
  return failed == std::errc() && end == json.data() + at + 6 && unit >= 0 ? unit : -1;
}

bool isHighSurrogate(int unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
bool isLowSurrogate(int unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

}  // namespace

void mendEscapes(std::string& json) {
  std::string mended;
  mended.reserve(json.size() + 16);
  bool inString = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '"') inString = !inString;
    if (!inString || json[i] != '\\') {
      mended += json[i];
      continue;
    }
    const int unit = unitAt(json, i);
    if (isHighSurrogate(unit) && isLowSurrogate(unitAt(json, i + 6))) {
      mended.append(json, i, 12);
      i += 11;
    } else if (isHighSurrogate(unit) || isLowSurrogate(unit)) {
      mended += "\\ufffd";
      i += 5;
    } else if (unit >= 0) {
      mended.append(json, i, 6);
      i += 5;
    } else if (i + 1 < json.size() &&
               std::string_view("\"\\/bfnrt").find(json[i + 1]) != std::string_view::npos) {
      mended.append(json, i, 2);
      ++i;
    } else {
      mended += "\\\\";
    }
  }
  json = std::move(mended);
}

void dropLastCommas(std::string& json) {
  constexpr std::size_t kNone = std::string::npos;
  std::size_t comma = kNone;  // the last character that is no space, if it is a comma
  bool inString = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (inString && c == '\\') {
      ++i;
      continue;
    }
    if (c == '"') inString = !inString;
    if ((c == '}' || c == ']') && comma != kNone) json[comma] = ' ';
    if (c == ',' && !inString) {
      comma = i;
    } else if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
      comma = kNone;
    }
  }
}

}  // namespace pipescope::importing
