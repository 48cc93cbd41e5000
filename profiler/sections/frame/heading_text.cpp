#include "profiler/sections/frame/heading_text.h"

#include <algorithm>

namespace pipescope::sections {

std::string wholeHeading(const SectionTable& table, std::size_t column) {
  constexpr const char* kIndent = "  ";
  const std::string& own = table.columns[column].heading;
  if (!own.starts_with(kIndent)) return own;
  const std::string part = own.substr(std::min(own.size(), own.find_first_not_of(' ')));
  for (std::size_t c = column; c-- > 0;) {
    const std::string& above = table.columns[c].heading;
    if (!above.starts_with(kIndent)) return above + ", " + part;
  }
  return part;
}

}  // namespace pipescope::sections
