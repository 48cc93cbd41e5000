#pragma once
// Bytes of code and descriptors that a program step takes on the tiles, without the code of its vertices,
// which counts once per tile and vertex type (TileMemory::addVertices).
#include <string>
#include <vector>

#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::devices::ipu {

struct CodePart {
  const char* category;  ///< libpva's name of the category
  TileRuns bytes;
  bool shared = false;  ///< repeated exchanges share this code (exchange_code.h)
};
/// Bytes of code that a program step takes on each tile, by category. An IPU Model without compiled code has
/// no code of exchanges between tiles either (M: the always-live memory of Poplar's tutorial 4 lists none).
std::vector<CodePart> codeOf(const ProgramStep& step, const Chip& chip);

/// The share of an exchange's code on each tile, in whole instructions.
TileRuns partOf(TileRuns code, double share);

/// Bytes of control code on each tile.
TileRuns controlCodeOf(const ProgramStep& step, const Chip& chip);

/// Bytes on all tiles that one more copy of the step takes: code, descriptors, control code and the state of
/// its vertices. It takes only a share of an exchange's code.
std::int64_t copyOfStepBytes(const ProgramStep& step, const Chip& chip, double exchangeShare);

}  // namespace pipescope::devices::ipu
