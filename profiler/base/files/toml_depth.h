#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "profiler/base/result.h"

namespace pipescope::base {

/// The most parts of a key, as a.b.c has three, and the most brackets within each other. No file of this
/// program needs more than five.
inline constexpr std::size_t kMostTomlDepth = 32;

/// The most bytes of one part of a key.
inline constexpr std::size_t kMostTomlKey = std::size_t{1} << 20;

/// Refuses a TOML text whose keys or values are nested deeper than kMostTomlDepth, or with a key of more than
/// kMostTomlKey, naming the line. Parsers go through keys and values by recursion, so that a deep one
/// exhausts the stack, and copy a long key once for each of its bytes. Faulty TOML passes up to where the
/// parser will find its first fault.
Status checkTomlDepth(std::string_view text, const std::string& file);

}  // namespace pipescope::base
