#include "profiler/sections/frame/column_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace pipescope::sections {
namespace {

/// The value of a cell in shown units, if it is a number.
std::optional<double> shownNumber(const Cell& cell, double ticksPerShownUnit) {
  const auto* ticks = std::get_if<std::int64_t>(&cell);
  const auto* mean = std::get_if<double>(&cell);
  if (ticks == nullptr && (mean == nullptr || !std::isfinite(*mean))) return std::nullopt;
  return (ticks != nullptr ? static_cast<double>(*ticks) : *mean) / ticksPerShownUnit;
}

}  // namespace

namespace {

/// Plain numbers have as many decimals as the one that needs most of them, if these are few.
int numberDecimals(const SectionTable& table, std::size_t column) {
  constexpr std::size_t kMost = 2;
  std::size_t most = 0;
  for (const auto& row : table.rows) {
    const std::string text = formatCell(row[column], Format::number);
    const std::size_t point = text.find('.');
    const std::size_t decimals = point == std::string::npos ? 0 : text.size() - point - 1;
    if (decimals > kMost || text.find('e') != std::string::npos) return kAsNeeded;
    most = std::max(most, decimals);
  }
  return static_cast<int>(most);
}

}  // namespace

int columnDecimals(const SectionTable& table, std::size_t column, double ticksPerShownUnit) {
  const Format format = table.columns[column].format;
  if (format == Format::ofRow) return kAsNeeded;
  if (format == Format::number) return numberDecimals(table, column);
  if (format != Format::ticks || ticksPerShownUnit == 1) return 0;
  double largest = 0;
  for (const auto& row : table.rows)
    largest = std::max(largest, std::fabs(shownNumber(row[column], ticksPerShownUnit).value_or(0)));
  int decimals = significantDecimals(largest);
  const auto endsWithZero = [&](const auto& row) {
    const auto value = shownNumber(row[column], ticksPerShownUnit);
    return !value || fmt::format("{:.{}f}", *value, decimals).ends_with('0');
  };
  while (decimals > 0 && std::all_of(table.rows.begin(), table.rows.end(), endsWithZero)) --decimals;
  return decimals;
}

void hideUnused(SectionTable& table, std::initializer_list<std::string_view> keys) {
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (std::ranges::find(keys, table.columns[c].key) == keys.end()) continue;
    const auto unused = [c](const std::vector<Cell>& row) {
      return std::holds_alternative<std::monostate>(row[c]) || shownNumber(row[c], 1) == 0.0;
    };
    if (std::all_of(table.rows.begin(), table.rows.end(), unused)) table.columns[c].inText = false;
  }
}

void addRowIf(SectionTable& table, std::vector<Cell> row, bool hasFigure) {
  table.rowsNotInText.resize(table.rows.size());
  table.rows.push_back(std::move(row));
  table.rowsNotInText.push_back(!hasFigure);
}

SectionTable withRowsOfText(const SectionTable& table) {
  SectionTable shown = table;
  const auto keepShown = [&table](auto& ofRows) {
    std::size_t kept = 0;
    for (std::size_t r = 0; r < ofRows.size(); ++r) {
      if (r < table.rowsNotInText.size() && table.rowsNotInText[r]) continue;
      if (kept != r) ofRows[kept] = std::move(ofRows[r]);
      ++kept;
    }
    ofRows.resize(kept);
  };
  keepShown(shown.rows);
  keepShown(shown.rowFormats);
  shown.rowsNotInText.clear();
  for (std::size_t c = 0; c < shown.columns.size(); ++c) {
    const std::map<std::string, std::string>& titles = shown.columns[c].titles;
    for (auto& row : shown.rows) {
      auto* const parts = titles.empty() ? nullptr : std::get_if<Breakdown>(&row[c]);
      for (std::size_t p = 0; parts != nullptr && p < parts->size(); ++p) {
        std::string& name = (*parts)[p].first;
        if (const auto title = titles.find(name); title != titles.end()) name = title->second;
      }
    }
  }
  return shown;
}

bool isChange(std::string_view key) {
  return key.starts_with("delta") || key == "relative";
}

std::string signedText(const std::string& shown, const Cell& value) {
  const bool above = shownNumber(value, 1).value_or(0) > 0;
  if (!above || shown.find_first_of("123456789") == std::string::npos) return shown;
  constexpr std::string_view kLess = "< ";
  return shown.starts_with(kLess) ? "< +" + shown.substr(kLess.size()) : "+" + shown;
}

std::string relativeText(double change) {
  return signedText(formatCell(change, Format::fraction), change);
}

std::string changeText(std::string_view key, Format format, const std::string& shown, const Cell& value) {
  if (!isChange(key)) return shown;
  std::string text = signedText(shown, value);
  constexpr std::string_view kPercent = " %";
  if (format == Format::fraction && key != "relative" && text.ends_with(kPercent))
    text.replace(text.size() - kPercent.size(), kPercent.size(), " points");
  return text;
}

std::string formatInColumn(const Cell& cell, Format format, double ticksPerShownUnit, int decimals) {
  const bool plain = format == Format::number;
  const auto value = shownNumber(cell, plain ? 1 : ticksPerShownUnit);
  if ((!plain && (format != Format::ticks || ticksPerShownUnit == 1)) || decimals == kAsNeeded || !value)
    return formatCell(cell, format, ticksPerShownUnit);
  std::string text = fmt::format("{:.{}f}", *value, decimals);
  if (text.find_first_not_of("-0.") == std::string::npos && text.starts_with('-')) text.erase(0, 1);
  return figures::withMinus(groupedDigits(std::move(text)));
}

}  // namespace pipescope::sections
