#pragma once
// Lists of whole numbers as short texts.
#include <string>
#include <vector>

namespace pipescope::base {

/// The numbers in their order, with a range in place of three or more that follow one another upwards or
/// downwards: "0–12", "0, 2, 5–8" or "24–12". `last` stands before the last part.
std::string numberRanges(const std::vector<int>& numbers, const char* last = ", ");

}  // namespace pipescope::base
