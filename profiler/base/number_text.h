#pragma once
#include <cstdint>
#include <string>

namespace pipescope::base {

/// "1,234,567".
std::string groupedText(std::int64_t number);

}  // namespace pipescope::base
