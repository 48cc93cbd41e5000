#pragma once
// Opens files of other machines in a window.
#include "views/remote/remote_dialog.h"
#include "views/shell/main_window.h"

namespace pipescope::gui {

/// The system's ssh, this program for its questions, and the user's cache folder.
remote::RemoteSetup remoteSetup();

/// Adds "Open remote…" and "Fetch again" to the window's menu. The second one is possible while the window
/// shows a copy of a remote file.
void offerRemoteFiles(shell::MainWindow& window, const remote::RemoteSetup& setup);

}  // namespace pipescope::gui
