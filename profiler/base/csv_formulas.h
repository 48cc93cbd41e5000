#pragma once
#include <string>
#include <string_view>

namespace pipescope::base {

/// The text of whole records of comma-separated values with an apostrophe before each cell that a spreadsheet
/// would compute: cells that begin with =, +, -, @, a tab or a carriage return. Numbers stay.
std::string withoutFormulas(std::string_view csv);

}  // namespace pipescope::base
