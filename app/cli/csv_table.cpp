// Writes a table of a section as CSV, for all commands that print sections.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "app/cli/command.h"

namespace pipescope::cli {

base::Result<std::string> csvOf(const sections::Section& section, const std::string& table) {
  const std::string name = table.empty() ? sections::mainTable(section) : table;
  PIPESCOPE_ASSIGN(std::string text, sections::toCsv(section, name));
  const std::vector<std::string> names = sections::csvTables(section);
  if (table.empty() && names.size() > 1) {
    std::fprintf(
        stderr, "%s",
        fmt::format("note: This is the table {}. --table selects one of {}.\n", name, fmt::join(names, ", "))
            .c_str());
  }
  return text;
}

base::Status refuseTable(const std::string& format, const std::string& table) {
  if (table.empty() || format == "csv") return {};
  return base::badInput("--table selects the table that --format csv writes; give both or none.");
}

}  // namespace pipescope::cli
