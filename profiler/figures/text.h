#pragma once
// The only place where values of figures, facts and cells become text.
#include <string>
#include <string_view>

#include "profiler/figures/value.h"

namespace pipescope::figures {

/// The unit in which reports show ticks.
struct ShownTime {
  double ticks = 1;             ///< ticks in one unit
  const char* unit = "cycles";  ///< cycles, µs or cost units
  double cyclesPerSecond = 0;   ///< the clock whose cycles the ticks are; 0: they are no cycles
  bool isCycles() const { return std::string_view(unit) == "cycles"; }
  bool isCosts() const { return std::string_view(unit) == "cost units"; }
};

/// The unit in which the process shows times that are cycles of a clock. The command line uses cycles.
enum class CycleUnits { cycles, seconds };
void setCycleUnits(CycleUnits units);
/// The unit in which reports show the cycles of a clock.
ShownTime shownCycles(double cyclesPerSecond);

/// Makes the process write numbers below 0 with a minus sign (−) instead of a hyphen, as the window does. The
/// command line keeps the hyphen, which other programs read.
void useMinusSign(bool wanted);
/// Replaces the hyphen before a number by a minus sign if the process uses these.
std::string withMinus(std::string number);

/// The unit in which the process shows amounts of memory: 1.0 KiB, 1.0 kB or 1,024 B. The command line uses
/// binary units.
enum class ByteUnits { binary, decimal, bytes };
void setByteUnits(ByteUnits units);

/// Formats a value as text, such as "1,472", "3.2 MiB" or "12.3 %". A missing value is "–".
std::string formatCell(const Cell& cell, Format format, double ticksPerShownUnit = 1);

/// The form of a time in the place where it stands.
enum class TimeStyle {
  sentence,  ///< three significant digits and the unit: "1.17 s", "281,000 cycles", "2.5 cost units"
  exact,     ///< alone or compared with another time: all digits of cycles, five of other times
  chart,  ///< in a bar of a chart whose title says what chartUnit() returns: cycles and costs without their
          ///< unit
  exactChart,  ///< the same with more digits, where the bars add up to a total that the chart shows
};
std::string timeText(double ticks, const ShownTime& time, TimeStyle style = TimeStyle::sentence);
/// A value that stands alone, so that a time needs its unit.
std::string loneText(const Cell& value, Format format, const ShownTime& time);
/// The same for a figure that stands by itself in large letters: a time in cycles is given in seconds, too,
/// as "839,537 cycles (631 µs)", and a time in seconds in cycles.
std::string cardText(const Cell& value, Format format, const ShownTime& time);
/// Two texts of loneText() with their unit once: "1,160,126 → 835,653 cycles". Different units stay.
std::string fromToText(const std::string& from, const std::string& to);
/// Two values of one figure with their unit once: "0.68103 … 1.1972 s". Both times have the unit of the
/// larger one.
std::string rangeText(const Cell& least, const Cell& most, Format format, const ShownTime& time);
/// Removes the unit from the end of `text` if `other` ends with the same unit.
std::string withoutUnitOf(const std::string& other, const std::string& text);
/// The unit that the title of a chart names.
inline const char* chartUnit(const ShownTime& time) {
  return time.isCycles() || time.isCosts() ? time.unit : "time";
}
/// The number of decimals that gives a number of this size five significant digits; at most four.
int significantDecimals(double largest);
/// Inserts thousands separators: "110406.5" becomes "110,406.5". A number with an exponent stays.
std::string groupedDigits(std::string number);
/// Shortens a list of words that are separated by blanks. Consecutively numbered words become one, as in
/// configurations: "encoder0..23". If the list is still long, only the first and last word remain:
/// "stem … head (18)".
std::string shortList(const std::string& words);

}  // namespace pipescope::figures
