#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace pipescope::numerics {

/// A buffer that is needed from step `first` to step `last`, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  std::int64_t first = 0, last = 0;
};

struct BufferOffsets {
  std::vector<std::int64_t> offsets;  ///< offset of each buffer; multiples of 64
  std::int64_t bytes = 0;             ///< size of the whole arena
};

/// Places buffers so that those needed at the same time do not overlap. It places the largest buffer first,
/// each in the smallest gap that holds it (Pisarchyk, Lee: "Efficient memory management for deep neural net
/// inference", 2020: greedy by size).
BufferOffsets placeBuffers(std::span<const Lifetime> lifetimes);

}  // namespace pipescope::numerics
