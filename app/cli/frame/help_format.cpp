#include "app/cli/frame/help_format.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "app/cli/frame/terminal.h"
#include "app/cli/frame/usage.h"

namespace pipescope::cli {
namespace {

constexpr std::size_t kHelpColumn = 34, kWidest = 110, kNarrowest = 60;

std::size_t helpWidth() {
  return std::clamp(terminalWidth(STDOUT_FILENO).value_or(kWidest), kNarrowest, kWidest);
}

std::string column(const std::string& text) {
  const std::size_t width = helpWidth();
  std::string lines;
  std::size_t length = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, space - at);
    if (length > 0 && kHelpColumn + length + 1 + shownLength(word) > width) {
      lines += "\n" + std::string(kHelpColumn, ' ');
      length = 0;
    }
    lines += (length > 0 ? " " : "") + word;
    length += (length > 0 ? 1 : 0) + shownLength(word);
    at = space + 1;
  }
  return lines;
}

}  // namespace

std::string HelpFormat::make_option(const CLI::Option* option, bool isPositional) const {
  std::string name = "  " + make_option_name(option, isPositional);
  const std::string placeholder = placeholderOf(*option);
  if (!isPositional && !placeholder.empty()) name += " " + placeholder;
  std::string help = option->get_description();
  help += missingWords(help, wordsOf(*option));
  if (option->get_required()) help += " (required)";
  if (!option->get_default_str().empty()) help += fmt::format(" (default {})", option->get_default_str());
  if (shownLength(name) + 2 > kHelpColumn) {
    name += "\n" + std::string(kHelpColumn, ' ');
  } else {
    name += std::string(kHelpColumn - shownLength(name), ' ');
  }
  return name + column(help) + "\n";
}

}  // namespace pipescope::cli
