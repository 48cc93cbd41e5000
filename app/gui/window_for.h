#pragma once
#include <QString>
#include <functional>
#include <memory>
#include <vector>

#include "views/shell/main_window.h"

namespace pipescope::gui {

/// The window that shows the profile: one that does already, or one that `make` adds to the windows, in which
/// it is then opened. The window comes to the front and takes the keyboard if `activate`; otherwise a window
/// that is shown already stays where it is.
shell::MainWindow& windowFor(const QString& profile,
                             const std::vector<std::unique_ptr<shell::MainWindow>>& windows,
                             const std::function<shell::MainWindow&()>& make, bool activate = true);

}  // namespace pipescope::gui
