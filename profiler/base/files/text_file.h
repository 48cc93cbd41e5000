#pragma once
#include <cstddef>
#include <string>

#include "profiler/base/result.h"

namespace pipescope::base {

/// Limit of a text file: more bytes than a text that people write has.
inline constexpr std::size_t kMostTextBytes = std::size_t{16} << 20;

/// Reads a whole text file, or what comes through a pipe. `what` names its kind in sentences, such as
/// "configuration". Errors: no such file, no permission, a folder (io); more than `most` bytes (badInput), as
/// a device like /dev/zero has.
Result<std::string> readTextFile(const std::string& file, const std::string& what,
                                 std::size_t most = kMostTextBytes);

}  // namespace pipescope::base
