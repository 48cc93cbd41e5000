#pragma once
#include <QString>
#include <vector>

namespace pipescope::pages {

/// Reads a list such as "0,5-7" of numbers from 0 to count − 1. Parts that are no such numbers are left out,
/// and each number is taken once.
std::vector<int> unitsIn(const QString& list, int count);

/// Writes ascending numbers as such a list.
QString unitList(const std::vector<int>& units);

}  // namespace pipescope::pages
