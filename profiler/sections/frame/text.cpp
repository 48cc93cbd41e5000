#include <fmt/format.h>

#include <algorithm>

#include "profiler/base/printable.h"
#include "profiler/sections/frame/column_text.h"

namespace pipescope::sections {
namespace {

/// Counts characters instead of bytes, because the texts are UTF-8.
std::size_t widthOf(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width > widthOf(text) ? width - widthOf(text) : 0, ' ');
  return right ? space + text : text + space;
}

bool isNumeric(const SectionTable& table, std::size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
    const Cell& cell = row[column];
    return std::holds_alternative<std::monostate>(cell) || std::holds_alternative<std::int64_t>(cell) ||
           std::holds_alternative<double>(cell);
  });
}

std::size_t shownRows(const SectionTable& table) {
  return table.mostInText == 0 ? table.rows.size() : std::min(table.mostInText, table.rows.size());
}

std::string cellText(const SectionTable& table, std::size_t row, std::size_t column, double ticksPerShownUnit,
                     int decimals) {
  const Format own = table.columns[column].format;
  const bool ofRow = own == Format::ofRow && row < table.rowFormats.size();
  const Format format = ofRow ? table.rowFormats[row] : own;
  const Cell& cell = table.rows[row][column];
  const std::string shown = ofRow ? formatCell(cell, format, ticksPerShownUnit)
                                  : formatInColumn(cell, format, ticksPerShownUnit, decimals);
  return changeText(table.columns[column].key, format, shown, cell);
}

/// The texts of a column. Numbers with as many digits as they need have their decimal points below each
/// other.
std::vector<std::string> columnTexts(const SectionTable& table, std::size_t column,
                                     double ticksPerShownUnit) {
  // Plain numbers keep their digits, and blanks put their points below each other.
  const bool plain = table.columns[column].format == Format::number;
  const int decimals = plain ? kAsNeeded : columnDecimals(table, column, ticksPerShownUnit);
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < shownRows(table); ++r)
    texts.push_back(cellText(table, r, column, ticksPerShownUnit, decimals));
  const Format format = table.columns[column].format;
  if (!isNumeric(table, column) || (format != Format::plain && format != Format::number)) return texts;
  const auto after = [](const std::string& text) {
    return text.size() - std::min(text.find('.'), text.size());
  };
  // Numbers with an exponent, and words such as "infinite", stand at the right as they are.
  const auto isWord = [](const std::string& text) { return text.find('e') != std::string::npos; };
  if (std::any_of(texts.begin(), texts.end(), isWord)) return texts;
  std::size_t most = 0;
  for (const std::string& text : texts) most = std::max(most, after(text));
  for (std::string& text : texts) text.append(most - after(text), ' ');
  return texts;
}

/// A column that this profile cannot fill is left out, as in the window.
bool isShown(const SectionTable& table, std::size_t column) {
  return table.columns[column].inText && !std::ranges::all_of(table.rows, [column](const auto& row) {
           return std::holds_alternative<std::monostate>(row[column]);
         });
}

/// Empty where the table has names but no figures.
std::string tableText(const SectionTable& table, double ticksPerShownUnit) {
  std::vector<bool> isColumnShown;
  for (std::size_t c = 0; c < table.columns.size(); ++c) isColumnShown.push_back(isShown(table, c));
  const auto shownColumns = std::ranges::count(isColumnShown, true);
  if (shownColumns < 2 && shownColumns < std::ranges::count_if(table.columns, &SectionColumn::inText))
    return {};
  std::vector<std::size_t> widths;
  std::vector<bool> right;
  std::vector<std::vector<std::string>> texts;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t width = widthOf(table.columns[c].heading);
    texts.push_back(columnTexts(table, c, ticksPerShownUnit));
    for (const std::string& text : texts.back()) width = std::max(width, widthOf(text));
    widths.push_back(width);
    right.push_back(isNumeric(table, c));
  }
  const auto line = [&](auto textOfColumn) {
    std::string text = " ";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (isColumnShown[c]) text += " " + padded(textOfColumn(c), widths[c], right[c]) + " ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = "\n" + table.title + (table.basis.empty() ? "" : " (" + table.basis + ")") + "\n";
  text += line([&](std::size_t c) { return table.columns[c].heading; });
  const std::size_t shown = shownRows(table);
  for (std::size_t r = 0; r < shown; ++r) {
    text += line([&](std::size_t c) { return texts[c][r]; });
  }
  if (shown < table.rows.size()) text += fmt::format("  … and {} more\n", table.rows.size() - shown);
  return text;
}

/// Warnings and other remarks, and a few of the notes that a run leaves.
std::string remarksText(const Section& section) {
  constexpr std::string_view kNote = "info: ";
  constexpr std::size_t kMostNotes = 4;
  const auto isNote = [&](const std::string& remark) { return remark.starts_with(kNote); };
  const auto notes = static_cast<std::size_t>(std::ranges::count_if(section.remarks, isNote));
  std::string text;
  std::size_t shown = 0;
  for (const std::string& remark : section.remarks) {
    if (isNote(remark) && notes > kMostNotes && ++shown >= kMostNotes) continue;
    text += "\n" + remark + "\n";
  }
  if (notes > kMostNotes)
    text +=
        fmt::format("\nThere are {} further notes; --format json has all of them.\n", notes - kMostNotes + 1);
  return text;
}

}  // namespace

std::string toText(const Section& section) {
  std::string text = section.title + "\n" + std::string(widthOf(section.title), '=') + "\n";
  std::size_t width = 0;
  for (const Fact& fact : section.facts) width = std::max(width, fact.inText ? widthOf(fact.label) : 0);
  for (const Fact& fact : section.facts) {
    if (!fact.inText) continue;
    const std::string shown = factText(section, fact);
    text += "  " + padded(fact.label, width, false) + "  " +
            changeText(fact.key, fact.format, shown, fact.value) + "\n";
  }
  for (const SectionTable& table : section.tables) {
    const SectionTable shown = withRowsOfText(table);
    if (!shown.rows.empty()) text += tableText(shown, section.ticksPerShownUnit);
  }
  return base::printable(text + remarksText(section));
}

}  // namespace pipescope::sections
