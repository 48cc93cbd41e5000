#pragma once
#include <cstdint>

#include "engine/devices/gaudi/card.h"

namespace pipescope::devices::gaudi {

/// Factor by which reading rows at random is slower than streaming them: 2.4 for rows below one 256-byte
/// vector, otherwise 1. (Source: a published study of Gaudi2, M.)
inline double randomAccess(const Card& card, std::int64_t rowBytes) {
  constexpr double kBelowVector = 2.4;
  return rowBytes < card.vectorBytes ? kBelowVector : 1;
}

}  // namespace pipescope::devices::gaudi
