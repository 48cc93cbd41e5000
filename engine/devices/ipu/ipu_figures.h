#pragma once
#include <vector>

#include "engine/devices/core/figures.h"
#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/ladder.h"

namespace pipescope::devices::ipu {

/// The figures of a chip and, where there is one, its system: as given, then what follows from them (grade
/// X).
std::vector<Figure> ipuFigures(const Chip& chip, const FigureFile& chipFile, const FigureFile* systemFile,
                               const Ladder& ladder);

}  // namespace pipescope::devices::ipu
