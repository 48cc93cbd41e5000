#pragma once
// Writes the numbers of one column of a table alike, so that their decimal points stand below each other.
#include <cstddef>
#include <string>
#include <string_view>

#include "profiler/sections/section.h"

namespace pipescope::sections {

/// How many decimals the ticks of a column need as shown units, such as µs: the largest gets five significant
/// digits, and trailing zeros that all of them would have are left out. 0 for other columns, and where ticks
/// are shown as they are.
int tickDecimals(const SectionTable& table, std::size_t column, double ticksPerShownUnit);

/// Writes a cell of the column with so many decimals. Other formats than ticks are written as formatCell
/// does.
std::string formatInColumn(const Cell& cell, Format format, double ticksPerShownUnit, int decimals);

/// How many decimals give a number of this size five significant digits; at most four.
int significantDecimals(double largest);

/// True for the key of a fact or column that has differences between two profiles.
bool isChange(std::string_view key);
/// Puts "+" before the text of a difference above 0. One that is written as 0 has no sign, whatever its exact
/// value is.
std::string signedText(const std::string& shown, const Cell& value);

/// Inserts thousands separators: "110406.5" becomes "110,406.5". A number with an exponent stays.
std::string groupedDigits(std::string number);

}  // namespace pipescope::sections
