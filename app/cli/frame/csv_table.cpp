// Writes a table of a section as CSV, for all commands that print sections.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "app/cli/frame/command.h"
#include "profiler/base/csv_formulas.h"

namespace pipescope::cli {

void addCsvSafe(CLI::App& command, bool& safe) {
  command.add_flag("--csv-safe", safe,
                   "CSV for spreadsheets: an apostrophe stands before each text that one would take for a "
                   "formula");
}

void addCsvOptions(CLI::App& command, CsvOptions& options, const char* helpOfTable) {
  command.add_option("--table", options.table, helpOfTable);
  addCsvSafe(command, options.safe);
}

base::Result<std::string> csvOf(const sections::Section& section, const CsvOptions& options) {
  const std::string& table = options.table;
  const std::string name = table.empty() ? sections::mainTable(section) : table;
  PIPESCOPE_ASSIGN(std::string text, sections::toCsv(section, name));
  const std::vector<std::string> names = sections::csvTables(section);
  if (table.empty() && names.size() > 1) {
    std::fprintf(
        stderr, "%s",
        fmt::format("note: This is the table {}. --table selects one of {}.\n", name, fmt::join(names, ", "))
            .c_str());
  }
  return options.safe ? base::withoutFormulas(text) : text;
}

base::Status refuseCsvOptions(const std::string& format, const CsvOptions& options) {
  if (format == "csv") return {};
  if (!options.table.empty())
    return base::badInput("--table selects the table that --format csv writes; give both or none.");
  if (options.safe) return base::badInput("--csv-safe is about --format csv; give both or none.");
  return {};
}

}  // namespace pipescope::cli
