#pragma once

namespace pipescope::sections {

/// The remark of a section about memory if the profile has no memory data.
inline constexpr const char* kNoMemory =
    "This profile holds no memory, because the device model of its system has none.";

}  // namespace pipescope::sections
