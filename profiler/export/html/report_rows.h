#pragma once
// Values of sections by their keys, for parts of a report that are no tables.
#include <string>
#include <string_view>

#include "profiler/sections/frame/section.h"

namespace pipescope::exporting {

/// The rows of one table of a section. A section without the table has no rows.
class TableRows {
 public:
  TableRows(const sections::Section& section, std::string_view table);
  std::size_t count() const;
  /// No value: the table has no such column.
  sections::Cell cell(std::size_t row, std::string_view key) const;
  double value(std::size_t row, std::string_view key) const;  ///< 0: it has none
  std::string words(std::size_t row, std::string_view key) const;

 private:
  const sections::SectionTable* table_;
};

/// Returns whether the summary says that the model fits, or null if it says nothing of it.
const bool* fitOf(const sections::Section& summary);

}  // namespace pipescope::exporting
