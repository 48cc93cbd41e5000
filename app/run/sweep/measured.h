#pragma once
// A table of measurements: variants of a configuration, and what was measured of each.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "app/run/sweep/varied_keys.h"

namespace pipescope::app {

/// Figures that can be measured, in the order of measuredColumns().
enum class Measure { stepTimeUs, samplesPerSecond, tokensPerSecond, memoryBytes };
inline constexpr std::size_t kMeasures = 4;
/// "measured_step_time_us", "measured_samples_per_second", "measured_tokens_per_second",
/// "measured_memory_bytes".
const std::array<const char*, kMeasures>& measuredColumns();

struct MeasuredRow {
  std::size_t line = 0;             ///< line in the file
  std::string name = {};            ///< value of the column "name", if there is one
  std::vector<std::string> values;  ///< values of the keys; empty: as in the configuration
  std::array<std::optional<double>, kMeasures> measured;
};

struct MeasuredTable {
  std::vector<std::string> keys;  ///< paths, in the order of the columns
  std::vector<MeasuredRow> rows;  ///< rows of the table, at least one
};

/// Reads a CSV file. Columns that are named by keys (or their flags) are settings, those of measuredColumns()
/// are measurements, and "name" names a row. Errors name the line: an unknown column, no measurement at all,
/// a measurement that is no positive number, a value that its key refuses, no rows.
base::Result<MeasuredTable> readMeasured(const config::KeyTable& keys, const std::string& file);

}  // namespace pipescope::app
