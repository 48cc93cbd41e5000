#pragma once

namespace pipescope::base {
/// The version of the tool, such as "0.1.0". Every program prints it and every profile records it.
const char* version();
}  // namespace pipescope::base
