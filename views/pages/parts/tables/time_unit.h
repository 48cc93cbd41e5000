#pragma once
#include "profiler/sections/frame/section.h"

namespace pipescope::pages {

/// Chooses the unit of a table whose basis says that its times are in µs: ms or s where the largest time has
/// more than five digits before the point. Changes the basis, and returns the ticks of the chosen unit.
double chooseTimeUnit(sections::SectionTable& table, double ticksPerMicrosecond);

}  // namespace pipescope::pages
