#pragma once
#include <QString>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::pages {

/// The units of a list such as "0,5-7", each once, below `count`. The error says what is wrong with the list.
base::Result<std::vector<int>> unitsIn(const QString& list, int count, const QString& unit);

/// Writes such a list from ascending units.
QString unitList(const std::vector<int>& units);

}  // namespace pipescope::pages
