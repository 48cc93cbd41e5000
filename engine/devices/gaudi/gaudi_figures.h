#pragma once
#include <vector>

#include "engine/devices/core/figures.h"
#include "engine/devices/gaudi/card.h"
#include "engine/devices/gaudi/fabric.h"

namespace pipescope::devices::gaudi {

/// The figures of a card and, if there is one, of its box: first those given, then those that follow from
/// them (grade X).
std::vector<Figure> gaudiFigures(const Card& card, const FigureFile& cardFile, const FigureFile* boxFile,
                                 const Fabric& fabric);

}  // namespace pipescope::devices::gaudi
