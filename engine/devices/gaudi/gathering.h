#pragma once
#include <cstdint>

#include "engine/devices/gaudi/card.h"

namespace pipescope::devices::gaudi {

/// Bytes that move besides `bytes` of rows that lie anywhere. Moving rows below one 256-byte vector takes 2.4
/// times as long as streaming as many bytes; longer rows take no longer. (Source: a published study of
/// Gaudi2, M.)
inline std::int64_t wastedOf(const Card& card, std::int64_t rowBytes, std::int64_t bytes) {
  return rowBytes < card.vectorBytes ? bytes * 7 / 5 : 0;
}

}  // namespace pipescope::devices::gaudi
