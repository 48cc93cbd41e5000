#pragma once
// Cycles of elementwise functions: a table of those that PopLibs has a vertex for, and of what others are
// made of.
#include <cstdint>
#include <string>

#include "engine/devices/ipu/chip.h"
#include "engine/ops/core/work.h"

namespace pipescope::devices::ipu {

/// Worker cycles for so many elements.
struct Pace {
  std::int64_t cycles = 0, elements = 1;
  /// Cycles for `count` elements: whole steps.
  std::int64_t cyclesFor(std::int64_t count) const { return (count + elements - 1) / elements * cycles; }
};

/// How sure a function's cycles are, as FigureValue::grade: C where PopLibs has a vertex for it, X where it
/// is the sum of functions that it is made of, R for one that is not known and taken for a loop that is not
/// in assembly.
struct MapPace {
  Pace pace;
  char grade = 'R';
  int parts = 1;  ///< functions it is made of
};

/// The inner loop of a worker. Float types other than float16 are float32 here; whole numbers have rows of
/// their own.
MapPace mapPace(const std::string& function, ElementType type, bool inPlace);

/// Tile cycles of the vertex: supervisor, and six workers who share the elements.
std::int64_t mapCycles(const Chip& chip, const ops::Map& work, std::int64_t elements);

}  // namespace pipescope::devices::ipu
