#include "app/run/sweep/measured.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/config/suggestion.h"
#include "profiler/sections/frame/csv_text.h"

namespace pipescope::app {
namespace {

using base::badInput;
using sections::CsvTable;
using sections::readCsv;

/// Content of a column: a setting, a measurement or the name.
struct MeasuredColumn {
  std::optional<std::size_t> key, measure;
};

base::Result<std::string> settingOf(const config::KeyTable& keys, const std::string& heading,
                                    const std::string& file) {
  const base::Result<std::string> key = keyNamed(keys, heading);
  if (key.ok()) return key;
  std::vector<std::string> known = keys.paths();
  known.insert(known.end(), measuredColumns().begin(), measuredColumns().end());
  const std::string near = config::nearest(heading, known);
  return badInput(fmt::format("{}: the column {} is neither a key nor a measurement ({}) nor \"name\"{}",
                              file, heading, fmt::join(measuredColumns(), ", "),
                              near.empty() ? "." : fmt::format("; did you mean {}?", near)));
}

base::Result<std::vector<MeasuredColumn>> columnsOf(const config::KeyTable& keys, const CsvTable& csv,
                                                    const std::string& file, MeasuredTable& table) {
  std::vector<MeasuredColumn> columns;
  bool any = false;
  for (const std::string& heading : csv.headings) {
    MeasuredColumn column;
    const auto* found = std::ranges::find(measuredColumns(), heading);
    if (found != measuredColumns().end()) {
      column.measure = static_cast<std::size_t>(found - measuredColumns().begin());
      any = true;
    } else if (heading != "name") {
      PIPESCOPE_ASSIGN(std::string key, settingOf(keys, heading, file));
      if (std::ranges::find(table.keys, key) != table.keys.end())
        return badInput(fmt::format("{}: two columns set the key {}.", file, key));
      column.key = table.keys.size();
      table.keys.push_back(std::move(key));
    }
    columns.push_back(column);
  }
  if (any) return columns;
  return badInput(fmt::format("{} has no measurement: name at least one of the columns {}.", file,
                              fmt::join(measuredColumns(), ", ")));
}

base::Result<double> measurement(const std::string& text, const std::string& place,
                                 const std::string& heading) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed == std::errc() && end == text.data() + text.size() && std::isfinite(value) && value > 0)
    return value;
  return badInput(
      fmt::format("{}: {} is \"{}\", but it must be a number above 0, or empty.", place, heading, text));
}

}  // namespace

const std::array<const char*, kMeasures>& measuredColumns() {
  static constexpr std::array<const char*, kMeasures> names = {
      "measured_step_time_us", "measured_samples_per_second", "measured_tokens_per_second",
      "measured_memory_bytes"};
  return names;
}

base::Result<MeasuredTable> readMeasured(const config::KeyTable& keys, const std::string& file) {
  PIPESCOPE_ASSIGN(const CsvTable csv, readCsv(file));
  MeasuredTable table;
  PIPESCOPE_ASSIGN(const std::vector<MeasuredColumn> columns, columnsOf(keys, csv, file, table));
  config::Configuration trial(keys);
  for (std::size_t r = 0; r < csv.rows.size(); ++r) {
    MeasuredRow row;
    row.line = csv.lines[r];
    row.values.resize(table.keys.size());
    const std::string place = fmt::format("{}:{}", file, row.line);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string& cell = csv.rows[r][i];
      if (columns[i].key && !cell.empty()) {
        const std::string& key = table.keys[*columns[i].key];
        const base::Status set = trial.setText(key, cell, config::Origin::flag);
        if (!set.ok()) return badInput(place + ": " + set.error().message);
        row.values[*columns[i].key] = cell;
      } else if (columns[i].measure && !cell.empty()) {
        PIPESCOPE_ASSIGN(row.measured[*columns[i].measure], measurement(cell, place, csv.headings[i]));
      } else if (!columns[i].key && !columns[i].measure) {
        row.name = cell;
      }
    }
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return badInput(file + " has headings, but no rows.");
  return table;
}

}  // namespace pipescope::app
