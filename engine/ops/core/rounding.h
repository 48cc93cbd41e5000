#pragma once
#include <cstdint>

namespace pipescope::ops {

/// Number of parts of `part` that cover `whole`.
constexpr std::int64_t ceilDiv(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}
/// The least multiple of `multiple` that is not below `value`.
constexpr std::int64_t roundUp(std::int64_t value, std::int64_t multiple) {
  return ceilDiv(value, multiple) * multiple;
}

}  // namespace pipescope::ops
