#include "profiler/import/read/source/json_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace pipescope::importing {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

/// Positions of the characters that matter in 64 bytes of JSON; bit i stands for byte i.
struct JsonMasks {
  std::uint64_t quotes = 0, backslashes = 0, opening = 0, closing = 0, lineBreaks = 0;
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
    masks.lineBreaks |= equal(text, '\n');
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
    masks.lineBreaks |= std::uint64_t{c == '\n'} << i;
  }
  return masks;
}
#endif

/// Bit i of the result is the parity of the bits 0 … i.
std::uint64_t parities(std::uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

bool isSpace(int c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/// Finds the end of an object or array, piece by piece. It stops at places that valid JSON does not hold, or
/// hardly ever: a line break within a string, and an object behind a comma within the object or array.
class NestingScan {
 public:
  enum class Doubt { none, lineBreak, objectBehindComma };

  /// Returns the number of bytes up to the end of the object, or to a place of doubt: behind the line break,
  /// or before the object; all of them if there is neither. The next call goes on from there.
  std::size_t pass(std::string_view text) {
    doubt_ = Doubt::none;
    std::size_t i = 0;
    while (!stops() && i + kMaskBytes <= text.size()) i += passBlock(text.data() + i);
    return stops() ? i : i + passBytes(text.substr(i));
  }
  bool ended() const { return ended_; }
  Doubt doubt() const { return doubt_; }
  /// Objects behind a comma are no doubt from now on.
  void trustCommas() { trustsCommas_ = true; }

 private:
  bool stops() const { return ended_ || doubt_ != Doubt::none; }

  std::size_t passBlock(const char* bytes) {
    const JsonMasks masks = jsonMasksOf(bytes);
    if (masks.backslashes != 0 || escaped_) return passBytes({bytes, kMaskBytes});
    const std::uint64_t strings = parities(masks.quotes) ^ (inString_ ? ~std::uint64_t{0} : 0);
    if ((masks.lineBreaks & strings) != 0) return passBytes({bytes, kMaskBytes});
    const std::uint64_t opening = masks.opening & ~strings, closing = masks.closing & ~strings;
    if (!trustsCommas_ && opening != 0 && mayFollowComma(bytes, opening))
      return passBytes({bytes, kMaskBytes});
    inString_ = (strings >> (kMaskBytes - 1)) != 0;
    for (std::size_t i = kMaskBytes; i-- > 0;) {
      if (isSpace(bytes[i])) continue;
      before_ = bytes[i];
      break;
    }
    accepted_ = false;
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

  bool mayFollowComma(const char* bytes, std::uint64_t opening) const {
    for (; opening != 0; opening &= opening - 1) {
      auto i = static_cast<std::size_t>(std::countr_zero(opening));
      if (bytes[i] != '{') continue;
      while (i > 0 && isSpace(bytes[i - 1])) --i;
      if ((i > 0 ? bytes[i - 1] : before_) == ',') return true;
    }
    return false;
  }

  std::size_t passBytes(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (inString_) {
        inString_ = escaped_ || c != '"';
        escaped_ = !escaped_ && c == '\\';
        if (!inString_) before_ = '"';
        if (c != '\n') continue;
        doubt_ = Doubt::lineBreak;
        return i + 1;
      }
      if (c == '{' && before_ == ',' && depth_ > 0 && !trustsCommas_ && !accepted_) {
        doubt_ = Doubt::objectBehindComma;
        accepted_ = true;
        return i;
      }
      if (!isSpace(c)) before_ = c;
      accepted_ = accepted_ && isSpace(c);
      if (c == '"') {
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
  char before_ = 0;  // the last character that is no space
  bool inString_ = false, escaped_ = false, ended_ = false, trustsCommas_ = false;
  bool accepted_ = false;  // the object behind this comma has been looked at
  Doubt doubt_ = Doubt::none;
};

/// True if what begins a text encloses its end in an array, and all brackets within match.
bool endsWithinArray(std::string_view text) {
  std::string open;
  bool inString = false, escaped = false;
  for (const char c : text) {
    if (inString) {
      inString = escaped || c != '"';
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      open += c;
    } else if (c == '}' || c == ']') {
      if (open.empty() || open.back() != (c == '}' ? '{' : '[')) return false;
      open.pop_back();
    }
  }
  return !open.empty() && open.back() == '[';
}

/// True if a line begins as one of JSON does: with a bracket, or with the name of a member.
bool beginsAsJson(std::string_view line) {
  constexpr std::size_t kLongestName = 100;
  std::size_t i = 0;
  while (i < line.size() && isSpace(line[i])) ++i;
  if (i == line.size() || line[i] != '"')
    return i < line.size() && std::string_view("{}[]").find(line[i]) != std::string_view::npos;
  const std::size_t end = line.find_first_of("\"\n", i + 1);
  if (end == std::string_view::npos || line[end] != '"' || end - i > kLongestName) return false;
  i = end + 1;
  while (i < line.size() && isSpace(line[i])) ++i;
  return i < line.size() && line[i] == ':';
}

/// Enough of a text to recognise what begins there.
constexpr std::size_t kLookAhead = 256;

/// True if an event of a trace seems to begin here: an object whose first member has one of the format's
/// names.
bool beginsAsEvent(std::string_view text) {
  constexpr std::string_view kNames[] = {"ph", "name", "cat", "pid", "tid", "ts",    "dur",    "args",
                                         "id", "s",    "bp",  "tts", "id2", "cname", "bind_id"};
  std::size_t i = 1;
  while (i < text.size() && isSpace(text[i])) ++i;
  if (i >= text.size() || text[i] != '"') return false;
  const std::size_t end = text.find('"', i + 1);
  return end != std::string_view::npos &&
         std::ranges::find(kNames, text.substr(i + 1, end - i - 1)) != std::end(kNames);
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
    if (scan.doubt() != NestingScan::Doubt::none) continue;
    if (!kept) keep_ = at_, start = 0;
    if (!fill()) return false;
  }
}

bool JsonWindows::lookAhead(std::size_t bytes) {
  while (buffer_.size() - at_ < bytes)
    if (!fill()) return false;
  return true;
}

/// Moves behind the event that starts at the current byte, or to the place where it is damaged.
JsonWindows::Passed JsonWindows::passEvent() {
  constexpr int kMostDoubts = 8;
  NestingScan scan;
  bool kept = true;
  for (int doubts = 0;;) {
    at_ += scan.pass(std::string_view(buffer_).substr(at_));
    if (kept && at_ - keep_ > limits_.mostEventBytes) {
      // Text that follows a damaged event seems to be part of it.
      const std::size_t end = at_;
      at_ = keep_ + 1;
      if (findEvent(end)) return Passed::damaged;
      at_ = end;
      kept = false;
    }
    if (scan.ended()) return kept ? Passed::whole : Passed::tooLarge;
    if (!kept) keep_ = at_;
    switch (scan.doubt()) {
      case NestingScan::Doubt::lineBreak:
        lookAhead(kLookAhead);
        if (kept && beginsAsJson(std::string_view(buffer_).substr(at_))) return Passed::damaged;
        break;
      case NestingScan::Doubt::objectBehindComma:
        if (kept && !endsWithinArray(std::string_view(buffer_).substr(keep_, at_ - keep_)))
          return Passed::damaged;
        if (!kept || ++doubts == kMostDoubts) scan.trustCommas();
        break;
      case NestingScan::Doubt::none:
        if (!fill()) return Passed::cut;
    }
  }
}

/// Moves `at` to the last character before it that is no space, and returns that; 0 if there is none.
char JsonWindows::before(std::size_t& at) const {
  while (at > keep_ && isSpace(buffer_[at - 1])) --at;
  return at > keep_ ? buffer_[--at] : '\0';
}

/// Moves to the next place from which on an event seems to begin, up to `end`: behind another event, or on a
/// line of its own behind one that has lost its end.
bool JsonWindows::findEvent(std::size_t end) {
  for (std::size_t i = buffer_.find('{', at_); i < end; i = buffer_.find('{', i + 1)) {
    std::size_t at = i;
    if (before(at) != ',') continue;
    const bool ownLine = std::string_view(buffer_).substr(at, i - at).find('\n') != std::string_view::npos;
    if (before(at) != '}' && !ownLine) continue;
    if (!beginsAsEvent(std::string_view(buffer_).substr(i, kLookAhead))) continue;
    at_ = i;
    return true;
  }
  return false;
}

/// Goes on at the next event behind a damaged one, which starts at keep_, or at the end of the list of
/// events.
void JsonWindows::resynchronise() {
  ++damagedEvents_;
  at_ = keep_ + 1;
  std::optional<std::size_t> closing;  // the first bracket that may end the list, behind keep_
  for (;;) {
    lookAhead(kReadBytes);
    // An event that begins near the end is looked at when more is there.
    const std::size_t end = sourceEnded_ ? buffer_.size() : buffer_.size() - kLookAhead;
    const std::size_t from = at_;
    if (findEvent(end)) return;
    for (std::size_t i = buffer_.find(']', from); !closing && i < end; i = buffer_.find(']', i + 1))
      if (std::size_t at = i; before(at) == '}') closing = i - keep_;
    if (sourceEnded_) break;
    at_ = end;
    // The last characters and the bracket are still needed.
    const std::size_t needed = end - std::min(end - keep_, kLookAhead);
    const bool near = closing && end - (keep_ + *closing) < limits_.mostMemberBytes;
    const std::size_t keep = near ? std::min(needed, keep_ + *closing) : needed;
    closing = near ? std::optional(keep_ + *closing - keep) : std::nullopt;
    keep_ = keep;
  }
  at_ = closing ? keep_ + *closing : buffer_.size();
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
    if (peek() == '}') {
      ++at_;
      noteRest();
    }
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
  if (!inObject_) noteRest();
}

void JsonWindows::noteRest() {
  skipSpace();
  if (peek() < 0) return;
  findings_.push_back(
      fmt::format("The file goes on behind the end of its {}; the rest is left out. If these are several "
                  "traces, give each as a file of its own.",
                  inObject_ ? "outermost object" : "list of events"));
}

/// Moves behind a string that stands between events, or behind its quote if it does not end on its line.
void JsonWindows::skipStray() {
  ++at_;
  lookAhead(kLookAhead);
  const std::size_t end = buffer_.find_first_of("\"\n", at_);
  if (end != std::string::npos && buffer_[end] == '"') at_ = end + 1;
}

bool JsonWindows::event(Window& window) {
  bool stray = false;  // text that is no event has been passed
  int last = 0;        // the last character that is no space
  for (int brackets = 0;;) {
    keep_ = at_;
    const int c = peek();
    if (c == '{') break;
    if (c == ']' || c < 0) strayTexts_ += std::exchange(stray, false) ? 1 : 0;
    if (!isSpace(c)) last = c;
    if (c < 0) {
      // Chrome allows an array without its closing bracket.
      if (inObject_) findings_.push_back("The trace ends before its list of events is closed.");
      place_ = Place::end;
      return false;
    }
    stray = stray || (!isSpace(c) && c != ',' && c != '[' && c != ']');
    if (c == '"') {
      skipStray();
      continue;
    }
    ++at_;
    if (c == '[') ++brackets;
    if (c == ']' && --brackets < 0) {
      afterEvents();
      return false;
    }
  }
  if (stray && last == ':') {  // the value of a member: the opening brace of an event is missing
    resynchronise();
    return true;
  }
  strayTexts_ += stray ? 1 : 0;
  switch (passEvent()) {
    case Passed::whole:
      break;
    case Passed::tooLarge:
      ++oversizedEvents_;
      return true;
    case Passed::damaged:
      resynchronise();
      return true;
    case Passed::cut: {
      const std::size_t end = at_;
      at_ = std::min(keep_ + 1, end);
      if (findEvent(end)) {
        ++damagedEvents_;
        return true;
      }
      at_ = end;
      findings_.push_back("The trace ends within an event, which is left out.");
      place_ = Place::end;
      return false;
    }
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
