#include "profiler/sections/frame/csv_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace pipescope::sections {
namespace {

using base::badInput;

/// Takes records from a text.
class CsvRecords {
 public:
  explicit CsvRecords(std::string_view text) : text_(text) {}

  std::size_t line() const { return line_; }
  bool openQuote() const { return openQuote_; }

  /// The cells of the next record that is not blank; nothing at the end of the text or after an open quote.
  std::optional<std::vector<std::string>> next() {
    while (at_ < text_.size()) {
      line_ = nextLine_;
      std::vector<std::string> cells = record();
      if (openQuote_) return std::nullopt;
      if (cells.size() > 1 || !cells.front().empty()) return cells;
    }
    return std::nullopt;
  }

 private:
  std::vector<std::string> record() {
    std::vector<std::string> cells;
    while (true) {
      cells.push_back(cell());
      const bool more = at_ < text_.size() && text_[at_] == ',';
      if (at_ < text_.size()) ++at_;
      if (!more) return cells;
    }
  }

  std::string cell() {
    std::string value;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      value = quoted();
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') ++at_;
    } else {
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') value += text_[at_++];
      value.erase(value.find_last_not_of(" \t\r") + 1);
    }
    if (at_ < text_.size() && text_[at_] == '\n') ++nextLine_;
    return value;
  }

  std::string quoted() {
    std::string value;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"' && (at_ + 1 >= text_.size() || text_[at_ + 1] != '"')) {
        ++at_;
        return value;
      }
      if (text_[at_] == '"') ++at_;
      if (text_[at_] == '\n') ++nextLine_;
      value += text_[at_];
    }
    openQuote_ = true;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0, line_ = 1, nextLine_ = 1;
  bool openQuote_ = false;
};

}  // namespace

base::Result<CsvTable> parseCsv(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.find('\0') != std::string_view::npos)
    return badInput(file + " is no table of comma-separated values: it holds bytes that are no text.");
  CsvRecords records(text);
  CsvTable table;
  std::optional<std::vector<std::string>> cells = records.next();
  if (cells) table.headings = std::move(*cells);
  for (std::size_t i = 0; i < table.headings.size(); ++i) {
    const std::string& heading = table.headings[i];
    if (heading.empty())
      return badInput(fmt::format("{}:{}: column {} has no heading.", file, records.line(), i + 1));
    if (std::ranges::count(table.headings, heading) > 1)
      return badInput(fmt::format("{}:{}: two columns are called {}.", file, records.line(), heading));
  }
  while ((cells = records.next())) {
    if (cells->size() != table.headings.size()) {
      return badInput(fmt::format("{}:{}: the row has {} cell{}, but there are {} headings.", file,
                                  records.line(), cells->size(), cells->size() == 1 ? "" : "s",
                                  table.headings.size()));
    }
    table.rows.push_back(std::move(*cells));
    table.lines.push_back(records.line());
  }
  if (records.openQuote())
    return badInput(fmt::format("{}:{}: a quoted cell has no end.", file, records.line()));
  if (table.headings.empty()) return badInput(file + " is empty: its first line must name the columns.");
  return table;
}

base::Result<CsvTable> readCsv(const std::string& file) {
  constexpr std::uintmax_t kMostBytes = 100'000'000;
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed))
    return base::ioError(fmt::format("Cannot read the table {}: there is no such plain file.", file));
  if (std::filesystem::file_size(file, failed) > kMostBytes)
    return badInput(fmt::format("{} is larger than 100 MB, which no table of this kind is.", file));
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream) return base::ioError(fmt::format("Cannot read the table {}.", file));
  return parseCsv(text, file);
}

}  // namespace pipescope::sections
