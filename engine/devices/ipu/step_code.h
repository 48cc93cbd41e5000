#pragma once
// Bytes of code and descriptors that a program step takes on the tiles, its vertices' code left out, which
// counts once per tile and vertex type (TileMemory::addVertices).
#include <string>
#include <vector>

#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::devices::ipu {

struct CodePart {
  const char* category;  ///< libpva's
  TileRuns bytes;
};
std::vector<CodePart> codeOf(const ProgramStep& step);

/// Everything that one more copy of the step takes: code, descriptors, control code, state of its vertices;
/// sum over tiles.
std::int64_t copyOfStepBytes(const ProgramStep& step, const Chip& chip);

}  // namespace pipescope::devices::ipu
