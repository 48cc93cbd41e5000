#include <fmt/format.h>

#include <algorithm>

#include "profiler/sections/section.h"

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

bool isNumeric(const Table& table, std::size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
    const Cell& cell = row[column];
    return std::holds_alternative<std::monostate>(cell) || std::holds_alternative<std::int64_t>(cell) ||
           std::holds_alternative<double>(cell);
  });
}

std::size_t shownRows(const Table& table) {
  return table.mostInText == 0 ? table.rows.size() : std::min(table.mostInText, table.rows.size());
}

std::string tableText(const Table& table, double ticksPerShownUnit) {
  std::vector<std::size_t> widths;
  std::vector<bool> right;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t width = widthOf(table.columns[c].heading);
    for (std::size_t r = 0; r < shownRows(table); ++r)
      width =
          std::max(width, widthOf(formatCell(table.rows[r][c], table.columns[c].format, ticksPerShownUnit)));
    widths.push_back(width);
    right.push_back(isNumeric(table, c));
  }
  const auto line = [&](auto cellText) {
    std::string text = " ";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].inText) text += " " + padded(cellText(c), widths[c], right[c]) + " ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = "\n" + table.title + (table.basis.empty() ? "" : " (" + table.basis + ")") + "\n";
  text += line([&](std::size_t c) { return table.columns[c].heading; });
  const std::size_t shown = shownRows(table);
  for (std::size_t r = 0; r < shown; ++r) {
    text += line([&](std::size_t c) {
      return formatCell(table.rows[r][c], table.columns[c].format, ticksPerShownUnit);
    });
  }
  if (shown < table.rows.size()) text += fmt::format("  … and {} more\n", table.rows.size() - shown);
  return text;
}

std::string csvText(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csvCell(const Cell& cell) {
  if (const auto* n = std::get_if<std::int64_t>(&cell)) return std::to_string(*n);
  if (const auto* x = std::get_if<double>(&cell)) return fmt::format("{}", *x);
  if (const auto* b = std::get_if<bool>(&cell)) return *b ? "true" : "false";
  if (std::holds_alternative<std::monostate>(cell)) return "";
  if (const auto* parts = std::get_if<Breakdown>(&cell)) {
    std::string text;
    for (const auto& [name, value] : *parts)
      text += fmt::format("{}{}={}", text.empty() ? "" : ";", name, value);
    return csvText(text);
  }
  return csvText(formatCell(cell, Format::plain));
}

}  // namespace

std::string toText(const Section& section) {
  std::string text = section.title + "\n" + std::string(widthOf(section.title), '=') + "\n";
  std::size_t width = 0;
  for (const Fact& fact : section.facts) width = std::max(width, widthOf(fact.label));
  for (const Fact& fact : section.facts) {
    if (fact.inText)
      text += "  " + padded(fact.label, width, false) + "  " +
              formatCell(fact.value, fact.format, section.ticksPerShownUnit) + "\n";
  }
  for (const Table& table : section.tables) text += tableText(table, section.ticksPerShownUnit);
  for (const std::string& remark : section.remarks) text += "\n" + remark + "\n";
  return text;
}

std::string toCsv(const Section& section) {
  std::string text = "key,value\n";
  for (const Fact& fact : section.facts) {
    if (const auto* parts = std::get_if<Breakdown>(&fact.value)) {
      for (const auto& [name, value] : *parts)
        text += csvText(fact.key + "." + name) + fmt::format(",{}\n", value);
    } else {
      text += fact.key + "," + csvCell(fact.value) + "\n";
    }
  }
  for (const Table& table : section.tables) {
    text += "\n" + table.key + "\n";
    for (std::size_t c = 0; c < table.columns.size(); ++c) text += (c == 0 ? "" : ",") + table.columns[c].key;
    for (const auto& row : table.rows) {
      text += "\n";
      for (std::size_t c = 0; c < row.size(); ++c) text += (c == 0 ? "" : ",") + csvCell(row[c]);
    }
    text += "\n";
  }
  return text;
}

}  // namespace pipescope::sections
