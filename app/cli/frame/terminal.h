#pragma once
// Finds the width of a terminal, and fits text into it.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pipescope::cli {

/// The columns of the terminal behind a file descriptor; none if it is no terminal, or one that does not
/// know.
std::optional<std::size_t> terminalWidth(int descriptor);

/// Characters of a UTF-8 text.
std::size_t shownLength(std::string_view text);

/// The first `width` characters of a UTF-8 text.
std::string_view fitted(std::string_view text, std::size_t width);

}  // namespace pipescope::cli
