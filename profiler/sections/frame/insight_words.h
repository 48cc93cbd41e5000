#pragma once

namespace pipescope::sections {

/// The beginning of the reason why no gain is stated where every change that was replayed makes the run
/// slower.
inline constexpr const char* kOnlyLosing = "The best change that was replayed, ";

}  // namespace pipescope::sections
