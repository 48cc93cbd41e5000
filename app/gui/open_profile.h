#pragma once
// Opens profile files for the window.
#include <QString>
#include <functional>
#include <string>

#include "views/shell/profile_session.h"

namespace pipescope::gui {

/// The profile that a path stands for: the file itself, or in a folder profile.pop or else the only profile.
base::Result<std::string> profileAt(const std::string& path);
/// The folder in which a user keeps a trace, or a folder of traces. Several traces that were given together
/// are links in a folder of the cache, so it is that of the file which one of them leads to.
std::string folderOfTraces(const std::string& asked);

/// Opens the profile at `path`, which may be its folder. The result has functions that reload a growing file
/// and that save notes. Error messages name the file.
base::Result<shell::OpenedSource> openProfile(const std::string& path);

/// Opens the table of a sweep as a profile without runs that names the table; the page of sweeps shows it.
base::Result<shell::OpenedSource> openSweepTable(const std::string& path);

/// The same as openProfile for a path that may also be the table of a sweep, another tool's trace, or a
/// folder of traces. Such a trace is imported first, with the words of importTrace(), unless `path` is a
/// folder with a profile.
base::Result<shell::OpenedSource> openOrImport(const std::string& path,
                                               const std::function<void(const QString&)>& tell,
                                               const std::function<bool()>& stopped);

}  // namespace pipescope::gui
