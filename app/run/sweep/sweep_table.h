#pragma once
// The table of a sweep: one row for each combination, with its figures or the reason why it has none.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/run/sweep/variant.h"
#include "app/run/sweep/varied_keys.h"
#include "profiler/base/files/output_file.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::app {

struct SweepRow {
  std::vector<std::string> values;  ///< values of the varied keys, in their order
  VariantFigures figures;
  std::string error = {};  ///< reason why the combination cannot run; empty: it can
  /// Reason why the machine or this program gave no answer about the combination. It is then not done, no
  /// table holds it, and the next sweep tries it again.
  std::string trouble = {};
  /// File of its profile, as seen from the table's folder; empty: none was written.
  std::string profile = {};
  std::string hash = {};  ///< hash of the whole configuration and the program's version
  bool done = false;      ///< false if not yet emulated

  bool fits() const { return done && error.empty() && figures.fits(); }
};

struct SweepTable {
  std::string name;  ///< name of the configuration
  std::vector<VariedKey> keys;
  std::vector<SweepRow> rows;  ///< rows by index of the combination
};

/// The value of a figure; nothing: the row has none.
std::optional<double> figureOf(const SweepRow& row, const figures::Figure& figure);

/// The rows that are done, as a section with one table "sweep".
sections::Section sweepSection(const SweepTable& table);
/// The same for some rows.
sections::Section sweepSection(const SweepTable& table, const std::vector<const SweepRow*>& rows);

/// Figures as JSON text and back, for processes and files. Nothing: the text is no such object.
std::string rowToJson(const SweepRow& row);
bool rowFromJson(const std::string& text, SweepRow& row);

enum class TableFormat { csv, json };
/// Chooses the format by the ending of the file's name: .csv or .json.
base::Result<TableFormat> formatOfTable(const std::string& file);
base::FileKind kindOf(TableFormat format);
/// Writes the table in the format of the file's name. Errors name the file and say what to do.
base::Status writeTable(const SweepTable& table, const std::string& file, const base::OutputRules& rules);

/// Takes from an older table those rows whose configuration and version are unchanged. Returns their number.
/// A file that does not exist or is empty has none.
base::Result<std::int64_t> resumeFrom(const std::string& file, SweepTable& table);

}  // namespace pipescope::app
