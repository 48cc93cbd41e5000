#pragma once
#include <string>

namespace pipescope::base {
/// The version of the tool, such as "0.1.0". Every profile records it.
const char* version();
/// The text of `--version`, for reports of faults: version, format of profiles, commit and build type, each
/// on a line.
std::string versionText(const std::string& format);
}  // namespace pipescope::base
