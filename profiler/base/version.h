#pragma once
#include <string>

namespace pipescope::base {
/// The version of the tool, such as "0.1.0". Every profile records it.
const char* version();
/// What `--version` prints, for a report of a fault: version, format of profiles, commit and build type, a
/// line each.
std::string versionText(const std::string& format);
}  // namespace pipescope::base
