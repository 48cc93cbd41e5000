#pragma once
// Writes the numbers of one column of a table alike, so that their decimal points stand below each other.
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

using figures::groupedDigits;
using figures::significantDecimals;

/// Each number has the decimals that it needs, because the numbers of the column differ too much in
/// size or are of several kinds.
inline constexpr int kAsNeeded = -1;

/// Number of decimals for the numbers of a column. If ticks are shown in a unit such as µs, the largest
/// number gets five significant digits, and trailing zeros that all numbers would have are left out. Plain
/// numbers that need few decimals get equally many. Returns 0 for other columns, and for ticks that are shown
/// as ticks.
int columnDecimals(const SectionTable& table, std::size_t column, double ticksPerShownUnit);

/// Writes a cell of the column with so many decimals. Other formats than ticks and plain numbers are written
/// as formatCell does.
std::string formatInColumn(const Cell& cell, Format format, double ticksPerShownUnit, int decimals);

/// Text and window leave out those of these columns that are 0 or empty in all rows, such as the time of
/// backward passes where nothing is trained.
void hideUnused(SectionTable& table, std::initializer_list<std::string_view> keys);

/// Adds a row that text and window leave out if it has no figure.
void addRowIf(SectionTable& table, std::vector<Cell> row, bool hasFigure);
/// The table as text and window show it: without the rows that only JSON and CSV have, and with the titles of
/// parts.
SectionTable withRowsOfText(const SectionTable& table);

/// True for the key of a fact or column that has differences between two profiles.
bool isChange(std::string_view key);
/// Puts "+" before the text of a difference above 0. One that is written as 0 has no sign, whatever its exact
/// value is.
std::string signedText(const std::string& shown, const Cell& value);
/// A relative change: "+12.3 %", "< +0.1 %", "0.0 %".
std::string relativeText(double change);
/// The text of a cell in a column or fact of this key and format: differences have a sign, and a difference
/// of two percentages is in percentage points.
std::string changeText(std::string_view key, Format format, const std::string& shown, const Cell& value);

}  // namespace pipescope::sections
