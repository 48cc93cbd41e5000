#pragma once
// The tables of the page of operations: their columns, their sums, and equal rows of two profiles.
#include <QString>
#include <set>
#include <string>
#include <vector>

#include "profiler/sections/frame/section.h"

namespace pipescope::pages {

/// The columns that a flat table hides until its menu shows them, and those without any value.
std::set<std::string> hiddenOperationColumns(const sections::SectionTable& table);

/// True if a tree of operations shows the column.
bool isOperationTreeColumn(const sections::SectionTable& table, std::size_t column);

/// The row of `table` that stands for the same as a row of the other profile's table; −1: none.
int operationLike(const sections::SectionTable& table, const sections::SectionTable& other, int row);

/// A sentence with the sums over some rows: time, share, FLOP, code and tensors.
QString operationTotals(const sections::SectionTable& table, const std::vector<int>& rows,
                        const sections::Section& section);

}  // namespace pipescope::pages
