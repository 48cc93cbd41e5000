#pragma once
#include <chrono>

namespace pipescope::store {

/// How long a read or a commit waits for other programs' locks, unless the caller gives another limit.
inline constexpr std::chrono::milliseconds kLockPatience{10'000};

}  // namespace pipescope::store
