#include "profiler/base/files/toml_depth.h"

#include <algorithm>

namespace pipescope::base {
namespace {

/// Walks over a text and sees strings, comments, brackets, and dots between the parts of keys.
class TomlWalk {
 public:
  explicit TomlWalk(std::string_view text) : text_(text) {}

  /// The line of what is nested too deeply; 0: nothing is.
  std::size_t deepLine() {
    while (at_ < text_.size()) {
      if (!step()) return line_;
    }
    return 0;
  }

 private:
  bool step() {
    const char c = text_[at_];
    if (c == '#') return skipComment(), true;
    if (c == '"' || c == '\'') return skipString(c), true;
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
};

}  // namespace

Status checkTomlDepth(std::string_view text, const std::string& file) {
  const std::size_t line = TomlWalk(text).deepLine();
  if (line == 0) return {};
  return badInput(file + ":" + std::to_string(line) + ": keys and values are nested more than " +
                  std::to_string(kMostTomlDepth) + " deep, and no file of this program needs that.");
}

}  // namespace pipescope::base
