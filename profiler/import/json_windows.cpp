#include "profiler/import/json_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace pipescope::importing {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

/// Bytes outside of strings that matter for the depth.
constexpr std::array<bool, 256> kNested = [] {
  std::array<bool, 256> nested{};
  for (const unsigned char c : {'"', '{', '}', '[', ']'}) nested[c] = true;
  return nested;
}();

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
  std::int64_t depth = 0;
  bool inString = false, escaped = false;
  for (;;) {
    if (at_ == buffer_.size()) {
      if (kept && at_ - (keep_ + start) > mostBytes) kept = false;
      if (!kept) keep_ = at_, start = 0;
      if (!fill()) return false;
    }
    const char* const data = buffer_.data();
    const std::size_t end = buffer_.size();
    std::size_t i = at_;
    while (i < end) {
      if (inString) {
        if (escaped) {
          escaped = false;
          ++i;
          continue;
        }
        while (i < end && data[i] != '"' && data[i] != '\\') ++i;
        if (i == end) break;
        (data[i] == '"' ? inString : escaped) = data[i] != '"';
        ++i;
        continue;
      }
      while (i < end && !kNested[static_cast<unsigned char>(data[i])]) ++i;
      if (i == end) break;
      const char c = data[i++];
      if (c == '"') {
        inString = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        at_ = i;
        if (at_ - (keep_ + start) > mostBytes) kept = false;
        return true;
      }
    }
    at_ = end;
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
