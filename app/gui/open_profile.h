#pragma once
// Opens profile files for the window.
#include <string>

#include "views/shell/profile_session.h"

namespace pipescope::gui {

/// The profile that a path stands for: the file itself, or in a folder profile.pop or else the only profile.
base::Result<std::string> profileAt(const std::string& path);

/// Opens the profile at `path`, which may be its folder. The result has functions that reload a growing file
/// and that save notes. Error messages name the file.
base::Result<shell::OpenedSource> openProfile(const std::string& path);

}  // namespace pipescope::gui
