#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace pipescope::exporting {

/// Values of a column, one for each row.
using ColumnValues = std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

/// True if all values are the same.
bool isConstant(const ColumnValues& column);
/// The column as JSON, in the shortest of the forms that CarriedRows describes. `whole`: with a value for
/// each row, even if all are the same.
std::string columnText(const ColumnValues& column, bool whole);

}  // namespace pipescope::exporting
