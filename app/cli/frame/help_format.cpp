#include "app/cli/frame/help_format.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "app/cli/frame/terminal.h"
#include "app/cli/frame/usage.h"

namespace pipescope::cli {
namespace {

constexpr std::size_t kHelpColumn = 34, kWidest = 110, kNarrowest = 60;

std::size_t helpWidth() {
  return std::clamp(terminalWidth(STDOUT_FILENO).value_or(kWidest), kNarrowest, kWidest);
}

/// Breaks a text into lines; all but the first begin with `indent` blanks, and the first stands behind as
/// many characters.
std::string column(const std::string& text, std::size_t indent) {
  const std::size_t width = helpWidth();
  std::string lines;
  std::size_t length = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, space - at);
    if (length > 0 && indent + length + 1 + shownLength(word) > width) {
      lines += "\n" + std::string(indent, ' ');
      length = 0;
    }
    lines += (length > 0 ? " " : "") + word;
    length += (length > 0 ? 1 : 0) + shownLength(word);
    at = space + 1;
  }
  return lines;
}

/// Breaks the lines that are too long.
std::string wrappedLines(const std::string& text) {
  std::string all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    all += line.substr(0, indent) + column(line.substr(indent), indent) + "\n";
  }
  return all;
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
  return name + column(help, kHelpColumn) + "\n";
}

std::string HelpFormat::make_subcommand(const CLI::App* command) const {
  constexpr std::size_t kCommandColumn = 16;
  std::string name = "  " + command->get_name();
  name.resize(std::max(name.size() + 2, kCommandColumn), ' ');
  return name + column(command->get_description(), kCommandColumn) + "\n";
}

std::string HelpFormat::make_description(const CLI::App* command) const {
  return wrappedLines(CLI::Formatter::make_description(command));
}

std::string HelpFormat::make_footer(const CLI::App* command) const {
  return wrappedLines(CLI::Formatter::make_footer(command));
}

}  // namespace pipescope::cli
