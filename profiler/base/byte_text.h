#pragma once
#include <cstdint>
#include <string>

namespace pipescope::base {

/// Writes an amount of memory for sentences: "212 B", "0.4 KiB", "256.4 KiB", "15.7 GiB". An amount that is
/// not 0 never reads as 0.
std::string byteText(std::int64_t bytes);

}  // namespace pipescope::base
