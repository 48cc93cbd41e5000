#pragma once

namespace pipescope::sections {

/// Why a section about memory has nothing to show.
inline constexpr const char* kNoMemory =
    "This profile holds no memory: its devices are of a family without a memory model.";

}  // namespace pipescope::sections
