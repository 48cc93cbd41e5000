#include "profiler/import/json_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace pipescope::importing {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

/// Where the characters that matter stand in 64 bytes of JSON; bit i stands for byte i.
struct JsonMasks {
  std::uint64_t quotes = 0, backslashes = 0, opening = 0, closing = 0;
};
constexpr std::size_t kMaskBytes = 64;

/// Sets this bit in a bracket's code, and both kinds of brackets are the same.
constexpr char kBraceBit = 0x20;

#if defined(__SSE2__)
JsonMasks jsonMasksOf(const char* bytes) {
  constexpr std::size_t kVectorBytes = 16;
  JsonMasks masks;
  for (std::size_t i = 0; i < kMaskBytes; i += kVectorBytes) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i));
    const __m128i braces = _mm_or_si128(text, _mm_set1_epi8(kBraceBit));
    const auto equal = [i](__m128i vector, char c) {
      const auto bits =
          static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(vector, _mm_set1_epi8(c))));
      return std::uint64_t{bits} << i;
    };
    masks.quotes |= equal(text, '"');
    masks.backslashes |= equal(text, '\\');
    masks.opening |= equal(braces, '{');
    masks.closing |= equal(braces, '}');
  }
  return masks;
}
#else
JsonMasks jsonMasksOf(const char* bytes) {
  JsonMasks masks;
  for (std::size_t i = 0; i < kMaskBytes; ++i) {
    const char c = bytes[i], brace = static_cast<char>(c | kBraceBit);
    masks.quotes |= std::uint64_t{c == '"'} << i;
    masks.backslashes |= std::uint64_t{c == '\\'} << i;
    masks.opening |= std::uint64_t{brace == '{'} << i;
    masks.closing |= std::uint64_t{brace == '}'} << i;
  }
  return masks;
}
#endif

/// Bit i of the result is the parity of the bits 0 … i.
std::uint64_t parities(std::uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

/// Finds the end of an object or array, piece by piece.
class NestingScan {
 public:
  /// Returns the number of bytes up to the end of the object, or all of them if it does not end there.
  std::size_t pass(std::string_view text) {
    std::size_t i = 0;
    while (!ended_ && i + kMaskBytes <= text.size()) i += passBlock(text.data() + i);
    return ended_ ? i : i + passBytes(text.substr(i));
  }
  bool ended() const { return ended_; }

 private:
  std::size_t passBlock(const char* bytes) {
    const JsonMasks masks = jsonMasksOf(bytes);
    if (masks.backslashes != 0 || escaped_) return passBytes({bytes, kMaskBytes});
    const std::uint64_t strings = parities(masks.quotes) ^ (inString_ ? ~std::uint64_t{0} : 0);
    const std::uint64_t opening = masks.opening & ~strings, closing = masks.closing & ~strings;
    inString_ = (strings >> (kMaskBytes - 1)) != 0;
    if (std::popcount(closing) < depth_) {
      depth_ += std::popcount(opening) - std::popcount(closing);
      return kMaskBytes;
    }
    for (std::uint64_t both = opening | closing; both != 0; both &= both - 1) {
      const int place = std::countr_zero(both);
      depth_ += (opening >> static_cast<unsigned>(place) & 1U) != 0 ? 1 : -1;
      ended_ = depth_ == 0;
      if (ended_) return static_cast<std::size_t>(place) + 1;
    }
    return kMaskBytes;
  }

  std::size_t passBytes(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (inString_) {
        inString_ = escaped_ || c != '"';
        escaped_ = !escaped_ && c == '\\';
      } else if (c == '"') {
        inString_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
      } else if ((c == '}' || c == ']') && --depth_ == 0) {
        ended_ = true;
        return i + 1;
      }
    }
    return text.size();
  }

  std::int64_t depth_ = 0;
  bool inString_ = false, escaped_ = false, ended_ = false;
};

bool isSpace(int c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

}  // namespace

bool JsonWindows::fill() {
  if (sourceEnded_) return false;
  // Dropping a prefix moves the rest, so drop only when much has gathered.
  if (keep_ > kReadBytes && keep_ * 2 > buffer_.size()) {
    buffer_.erase(0, keep_);
    at_ -= keep_;
    keep_ = 0;
  }
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  auto count = source_.read(std::span(buffer_).subspan(before));
  if (!count.ok()) findings_.push_back(count.error().message);
  const std::size_t more = count.ok() ? *count : 0;
  buffer_.resize(before + more);
  sourceEnded_ = more == 0;
  return more > 0;
}

int JsonWindows::peek() {
  if (at_ == buffer_.size() && !fill()) return -1;
  return static_cast<unsigned char>(buffer_[at_]);
}

void JsonWindows::skipSpace() {
  while (isSpace(peek())) ++at_;
}

void JsonWindows::begin() {
  constexpr unsigned char kByteOrderMark[] = {0xEF, 0xBB, 0xBF};
  for (const int c : kByteOrderMark) {
    if (peek() != c) break;
    ++at_;
  }
  skipSpace();
  place_ = Place::end;
  if (peek() == '[') {
    place_ = Place::events;
    foundEvents_ = true;
  } else if (peek() == '{') {
    place_ = Place::members;
    inObject_ = true;
  } else {
    return;
  }
  ++at_;
}

bool JsonWindows::skipNested(std::size_t mostBytes, bool& kept) {
  kept = true;
  std::size_t start = at_ - keep_;  // relative to keep_, because fill() may move both
  NestingScan scan;
  for (;;) {
    at_ += scan.pass(std::string_view(buffer_).substr(at_));
    if (kept && at_ - (keep_ + start) > mostBytes) kept = false;
    if (scan.ended()) return true;
    if (!kept) keep_ = at_, start = 0;
    if (!fill()) return false;
  }
}

std::optional<std::string> JsonWindows::readString() {
  // Member names of the outermost object are short; a longer one is not of interest, but must be passed.
  std::string text;
  ++at_;
  for (int c = peek(); c != '"'; c = peek()) {
    if (c < 0) return std::nullopt;
    ++at_;
    if (text.size() < limits_.mostMemberBytes) text += static_cast<char>(c);
    if (c == '\\' && peek() >= 0) {
      if (text.size() < limits_.mostMemberBytes) text += buffer_[at_];
      ++at_;
    }
    keep_ = at_;
  }
  ++at_;
  return text;
}

void JsonWindows::readValue(const std::string& key) {
  keep_ = at_;
  bool kept = true, whole = true;
  std::string text;
  const int first = peek();
  if (first == '{' || first == '[') {
    const std::size_t start = at_ - keep_;
    whole = skipNested(limits_.mostMemberBytes, kept);
    if (whole && kept) text = buffer_.substr(keep_ + start, at_ - keep_ - start);
  } else if (first == '"') {
    const auto string = readString();
    whole = string.has_value();
    if (whole) text = '"' + *string + '"';
  } else {
    for (int c = peek(); c >= 0 && c != ',' && c != '}' && c != ']'; c = peek()) {
      if (text.size() < limits_.mostMemberBytes && !isSpace(c)) text += static_cast<char>(c);
      keep_ = ++at_;
    }
  }
  if (whole && kept) members_[key] = text;
  keep_ = at_;
}

void JsonWindows::member() {
  skipSpace();
  if (peek() == ',') ++at_;
  skipSpace();
  keep_ = at_;
  if (peek() != '"') {
    if (peek() < 0) findings_.push_back("The trace ends before its outermost object is closed.");
    place_ = Place::end;
    return;
  }
  const auto key = readString();
  skipSpace();
  if (!key || peek() != ':') {
    findings_.push_back("The trace's outermost object is damaged: a name has no value.");
    place_ = Place::end;
    return;
  }
  ++at_;
  skipSpace();
  if (*key == "traceEvents" && peek() == '[') {
    ++at_;
    place_ = Place::events;
    foundEvents_ = true;
    return;
  }
  readValue(*key);
}

void JsonWindows::afterEvents() {
  place_ = inObject_ ? Place::members : Place::end;
  if (inObject_) return;
  skipSpace();
  if (peek() >= 0)
    findings_.push_back("The file goes on behind the end of its list of events; the rest is left out.");
}

bool JsonWindows::event(Window& window) {
  for (;;) {
    keep_ = at_;
    const int c = peek();
    if (c == '{') break;
    if (c < 0) {
      // Chrome allows an array without its closing bracket.
      if (inObject_) findings_.push_back("The trace ends before its list of events is closed.");
      place_ = Place::end;
      return false;
    }
    ++at_;
    if (c == ']') {
      afterEvents();
      return false;
    }
    if (c == '"') {
      --at_;
      if (!readString()) return place_ = Place::end, false;
    }
  }
  bool kept = true;
  if (!skipNested(limits_.mostEventBytes, kept)) {
    findings_.push_back("The trace ends within an event, which is left out.");
    place_ = Place::end;
    return false;
  }
  if (!kept) {
    ++oversizedEvents_;
    return true;
  }
  window.events.push_back({window.text.size(), at_ - keep_});
  window.text.append(buffer_, keep_, at_ - keep_);
  window.text += ',';
  return true;
}

bool JsonWindows::next(Window& window) {
  window.text.clear();
  window.events.clear();
  window.text += '[';
  if (place_ == Place::start) begin();
  while (place_ != Place::end) {
    if (place_ == Place::members) {
      member();
    } else {
      while (window.text.size() < limits_.windowBytes && event(window)) {
      }
      if (window.text.size() >= limits_.windowBytes) break;
    }
  }
  if (window.events.empty()) return false;
  window.text.back() = ']';
  return true;
}

}  // namespace pipescope::importing
