#pragma once
#include <cstdint>

namespace pipescope::devices::ipu {

constexpr std::int64_t ceilDiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
constexpr std::int64_t roundUp(std::int64_t a, std::int64_t multiple) {
  return ceilDiv(a, multiple) * multiple;
}

}  // namespace pipescope::devices::ipu
