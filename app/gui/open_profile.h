#pragma once
// Opens profile files for the window.
#include <string>

#include "views/shell/profile_session.h"

namespace pipescope::gui {

/// Opens the profile at `path`, with functions that read it again while it grows and that write its notes.
/// Errors are sentences that name the file.
base::Result<shell::OpenedSource> openProfile(const std::string& path);

}  // namespace pipescope::gui
