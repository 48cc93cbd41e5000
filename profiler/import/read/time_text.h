#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace pipescope::importing {

__extension__ using Picoseconds = __int128;

/// The time that a decimal number states, in picoseconds: `text` is a JSON number ("1710.25", "-3", "1.5e3"),
/// `unit` the picoseconds of its unit, a power of ten (1,000,000 for µs). No digit is lost to a
/// floating-point number; what is finer than a picosecond is rounded to the nearest. Nothing if the text is
/// no number, or if the time is longer than 10¹³ seconds.
std::optional<Picoseconds> parseTime(std::string_view text, std::int64_t unit);

}  // namespace pipescope::importing
