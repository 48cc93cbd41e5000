#include "profiler/base/files/toml_depth.h"

#include <algorithm>

namespace pipescope::base {
namespace {

bool isOfBareKey(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/// Walks over a text and sees strings, comments, brackets, and dots between the parts of keys.
class TomlWalk {
 public:
  explicit TomlWalk(std::string_view text) : text_(text) {}

  /// The line of what is nested too deeply, or of a key that is too long; 0: there is none.
  std::size_t faultyLine() {
    while (at_ < text_.size()) {
      if (!step()) return line_;
    }
    return 0;
  }
  bool isLong() const { return long_; }

 private:
  bool step() {
    const char c = text_[at_];
    if (c == '#') return skipComment(), true;
    const std::size_t from = at_;
    if (c == '"' || c == '\'') {
      skipString(c);
      return !isLongKey(from);
    }
    if (isOfBareKey(c)) {
      while (at_ < text_.size() && isOfBareKey(text_[at_])) ++at_;
      return !isLongKey(from);
    }
    ++at_;
    switch (c) {
      case '\n':
        ++line_;
        dots_ = 0;
        return true;
      case '.':
        return ++dots_ < kMostTomlDepth;
      case '[':
      case '{':
        dots_ = 0;
        return ++brackets_ <= kMostTomlDepth;
      case ']':
      case '}':
        if (brackets_ > 0) --brackets_;
        dots_ = 0;
        return true;
      case '=':
      case ',':
        dots_ = 0;
        return true;
      default:
        return true;
    }
  }

  /// True if what has just been passed is a key and too long.
  bool isLongKey(std::size_t from) {
    if (at_ - from <= kMostTomlKey) return false;
    const std::size_t next = text_.find_first_not_of(" \t", at_);
    const std::string_view behindKey =
        isOfBareKey(text_[from]) ? "=.]" : "=.";  // "]" may end a list of texts
    long_ = next != std::string_view::npos && behindKey.find(text_[next]) != std::string_view::npos;
    return long_;
  }

  void skipComment() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  void skipString(char quote) {
    const std::string three(3, quote);
    const bool longOne = text_.substr(at_).starts_with(three);
    at_ += longOne ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        if (!longOne) return;  // the parser refuses this
        ++line_;
      }
      if (c == '\\' && quote == '"') {
        if (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      } else if (c == quote && (!longOne || text_.substr(at_).starts_with(three))) {
        at_ += longOne ? 3 : 1;
        // Two quotes at most may stand directly before the three that end a long string.
        for (int more = 0; longOne && more < 2 && at_ < text_.size() && text_[at_] == quote; ++more) ++at_;
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0, line_ = 1, dots_ = 0, brackets_ = 0;
  bool long_ = false;
};

}  // namespace

Status checkTomlDepth(std::string_view text, const std::string& file) {
  TomlWalk walk(text);
  const std::size_t line = walk.faultyLine();
  if (line == 0) return {};
  if (walk.isLong())
    return badInput(file + ":" + std::to_string(line) + ": a key has more than " +
                    std::to_string(kMostTomlKey) + " bytes, and no file of this program needs that.");
  return badInput(file + ":" + std::to_string(line) + ": keys and values are nested more than " +
                  std::to_string(kMostTomlDepth) + " deep, and no file of this program needs that.");
}

}  // namespace pipescope::base
