#pragma once
// Numbers as text and back. The decimal point is a point, whatever locale the program has set.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pipescope::base {

/// "1,234,567".
std::string groupedText(std::int64_t number);

/// The number that the whole text is, such as "-1.5e3". None for any other text, for an empty one, and for
/// numbers that a double does not hold.
std::optional<double> numberOf(std::string_view text);
/// The same for a whole number.
std::optional<std::int64_t> wholeNumberOf(std::string_view text);

/// The number with so many decimals, as printf's %.*f.
std::string fixedText(double number, int decimals);
/// The number with so many significant digits, as printf's %.*g.
std::string shortText(double number, int digits);

}  // namespace pipescope::base
