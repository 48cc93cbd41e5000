#pragma once
#include <filesystem>

namespace pipescope::app {

/// $XDG_CONFIG_HOME/pipescope or ~/.config/pipescope, which holds the user's devices/*.toml,
/// systems/*.toml and hosts/*.toml. Empty if neither XDG_CONFIG_HOME nor HOME is set.
std::filesystem::path userConfigurationFolder();

}  // namespace pipescope::app
