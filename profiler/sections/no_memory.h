#pragma once

namespace pipescope::sections {

/// Why a section about memory has nothing to show.
inline constexpr const char* kNoMemory =
    "This profile holds no memory, because the device model of its system has none.";

}  // namespace pipescope::sections
