#include "app/cli/frame/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace pipescope::cli {
namespace {

bool beginsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

}  // namespace

std::optional<std::size_t> terminalWidth(int descriptor) {
  winsize size{};
  if (isatty(descriptor) == 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return size.ws_col;
}

std::size_t shownLength(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += beginsCharacter(byte) ? 1 : 0;
  return count;
}

std::string_view fitted(std::string_view text, std::size_t width) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (beginsCharacter(text[at]) && ++count > width) return text.substr(0, at);
  }
  return text;
}

}  // namespace pipescope::cli
