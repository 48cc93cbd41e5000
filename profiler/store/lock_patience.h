#pragma once
#include <chrono>

namespace pipescope::store {

/// Time that a read or a commit waits for the locks of other programs, unless the caller gives another limit.
inline constexpr std::chrono::milliseconds kLockPatience{10'000};

}  // namespace pipescope::store
