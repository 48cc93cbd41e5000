#pragma once
// Reads tables of comma-separated values (RFC 4180).
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::sections {

struct CsvTable {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;  ///< each with as many cells as there are headings
  std::vector<std::size_t> lines;              ///< line on which each row begins, from 1
};

/// Reads a whole table. Blank lines and a byte order mark are skipped, blanks around cells are dropped.
/// Errors name the file and the line: no headings, a heading twice or empty, a row of another length, an open
/// quote.
base::Result<CsvTable> parseCsv(std::string_view text, const std::string& file);
/// Reads a plain file of at most 100 MB.
base::Result<CsvTable> readCsv(const std::string& file);

}  // namespace pipescope::sections
