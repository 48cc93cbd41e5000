#pragma once
#include <string>
#include <string_view>

namespace pipescope::exporting {

/// A JSON string with its quotes.
std::string jsonText(std::string_view text);

}  // namespace pipescope::exporting
