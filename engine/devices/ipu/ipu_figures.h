#pragma once
#include <vector>

#include "engine/devices/core/figures.h"
#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/collectives/ladder.h"

namespace pipescope::devices::ipu {

/// The figures of a chip and, if there is one, of its system: first those given, then those that follow from
/// them (grade X).
std::vector<Figure> ipuFigures(const Chip& chip, const FigureFile& chipFile, const FigureFile* systemFile,
                               const Ladder& ladder);

}  // namespace pipescope::devices::ipu
