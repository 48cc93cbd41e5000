#include "app/run/request/user_folders.h"

#include <cstdlib>

namespace pipescope::app {

std::filesystem::path userConfigurationFolder() {
  const char* configured = std::getenv("XDG_CONFIG_HOME");
  if (configured != nullptr && configured[0] == '/') return std::filesystem::path(configured) / "pipescope";
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::filesystem::path(home) / ".config" / "pipescope"
                                           : std::filesystem::path();
}

}  // namespace pipescope::app
