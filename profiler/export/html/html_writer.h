#pragma once
// The parts of a web page: text in which every name is escaped, facts, and tables.
#include <string>
#include <string_view>
#include <vector>

#include "profiler/sections/frame/section.h"

namespace pipescope::exporting {

/// A text with the characters replaced that have a meaning in HTML.
std::string htmlText(std::string_view text);

class HtmlWriter {
 public:
  /// Begins a page with its style.
  HtmlWriter(const std::string& title, const std::string& subtitle);
  /// Begins a part of the page, which the links at its top lead to.
  void part(const std::string& id, const std::string& title);
  void heading(const std::string& title);
  void paragraph(const std::string& text, const char* style = "");
  /// Sentences, one a line.
  void list(const std::vector<std::string>& sentences);
  /// HTML that this library has made itself.
  void raw(std::string_view html) { body_ += html; }
  /// Facts with a value as small cards, and those with long values as lines below these.
  void cards(const sections::Section& section);
  /// A table as text shows it, with names of devices instead of their indices, and with at most `most` rows
  /// and how many more there are. A short table with few columns may stand beside another one.
  void table(const sections::SectionTable& table, double ticksPerShownUnit, std::size_t most);
  std::size_t size() const { return body_.size(); }
  /// The whole page.
  std::string finish() const;

 private:
  std::string title_, subtitle_, links_, body_;
};

}  // namespace pipescope::exporting
