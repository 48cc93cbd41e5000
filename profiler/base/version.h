#pragma once

namespace pipescope::base {
/// "0.1.0": the tool's version, which every program prints and every profile records.
const char* version();
}  // namespace pipescope::base
