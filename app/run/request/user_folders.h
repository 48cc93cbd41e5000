#pragma once
#include <filesystem>

namespace pipescope::app {

/// $XDG_CONFIG_HOME/pipescope, or ~/.config/pipescope; empty where neither variable is set. Holds the user's
/// devices/*.toml and systems/*.toml.
std::filesystem::path userConfigurationFolder();

}  // namespace pipescope::app
