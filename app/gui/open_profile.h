#pragma once
// How the window opens a file.
#include <string>

#include "views/shell/profile_session.h"

namespace pipescope::gui {

/// The profile at `path`, how it is read again while it grows, and how its notes are written. Errors are
/// sentences that name the file.
base::Result<shell::OpenedSource> openProfile(const std::string& path);

}  // namespace pipescope::gui
