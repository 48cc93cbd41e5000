#pragma once
#include <cstdint>

#include "engine/devices/gaudi/card.h"

namespace pipescope::devices::gaudi {

/// How much slower it is to read rows at random than to stream them: 2.4 times for rows below one 256-byte
/// vector. (Source: a published study of Gaudi2, M.)
inline double randomAccess(const Card& card, std::int64_t rowBytes) {
  constexpr double kBelowVector = 2.4;
  return rowBytes < card.vectorBytes ? kBelowVector : 1;
}

}  // namespace pipescope::devices::gaudi
