#pragma once
// Cycles of elementwise functions: those of PopLibs' vertex, or the sum over the functions that one is made
// of.
#include <cstdint>

#include "engine/devices/ipu/chip.h"
#include "engine/ops/core/work.h"

namespace pipescope::devices::ipu {

/// A step of a worker's inner loop takes `cycles` for `elements` elements.
struct Pace {
  std::int64_t cycles = 0, elements = 1;
  /// Cycles for `count` elements; the loop takes whole steps.
  constexpr std::int64_t cyclesFor(std::int64_t count) const {
    return (count + elements - 1) / elements * cycles;
  }
};

/// The pace of a worker's inner loop. A float type other than float16 counts as float32; whole numbers have a
/// pace of their own.
Pace mapPace(ops::MapFunction function, ElementType type, bool inPlace);

/// Cycles of a tile for one vertex: the supervisor's, and those of the six workers who share the elements.
std::int64_t mapCycles(const Chip& chip, const ops::Map& work, std::int64_t elements);

}  // namespace pipescope::devices::ipu
