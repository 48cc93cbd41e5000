#pragma once
// The series of Training that the user has pinned above the rows of Trace and Host.
#include <set>
#include <string>

#include "views/shell/window_settings.h"

namespace pipescope::pages {

/// The names of the pinned counters. At first it is the loss.
std::set<std::string> pinnedSeries(const shell::WindowSettings& settings);
void pinSeries(shell::WindowSettings& settings, const std::string& counter, bool pin);

}  // namespace pipescope::pages
