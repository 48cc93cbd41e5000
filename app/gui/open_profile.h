#pragma once
// Opens profile files for the window.
#include <string>

#include "views/shell/profile_session.h"

namespace pipescope::gui {

/// Opens the profile at `path`. The result has functions that reload a growing file and that save notes.
/// Error messages name the file.
base::Result<shell::OpenedSource> openProfile(const std::string& path);

}  // namespace pipescope::gui
