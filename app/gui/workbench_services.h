#pragma once
// Services of the engine for the window's workbench, as plain values and functions.
#include "views/workbench/services.h"

namespace pipescope::gui {

/// Returns the services of the running program: pipescope beside it, its samples, and the user's folder for
/// profiles.
workbench::Services workbenchServices();

/// The configurations below the first of these folders that exists. The first comment of a file says what it
/// is.
std::vector<workbench::Preset> presetsIn(const QStringList& folders);
/// The settings that a configuration file gives.
base::Result<std::vector<workbench::FormSetting>> readSettings(const QString& file);
/// Finds what is wrong with a configuration: each wrong setting, or what the whole is refused for. It is not
/// compiled.
std::vector<workbench::Problem> checkSettings(const std::vector<workbench::FormSetting>& settings);

}  // namespace pipescope::gui
