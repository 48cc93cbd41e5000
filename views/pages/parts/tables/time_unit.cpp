#include "views/pages/parts/tables/time_unit.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "views/pages/parts/data/section_lookup.h"

namespace pipescope::pages {

double chooseTimeUnit(sections::SectionTable& table, double ticksPerMicrosecond) {
  constexpr std::string_view kMicro = "µs";
  constexpr double kMost = 100'000, kThousand = 1'000;
  const std::size_t at = table.basis.find(kMicro);
  if (at == std::string::npos) return ticksPerMicrosecond;
  double largest = 0;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const sections::Format format = table.columns[c].format;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const bool ofRow = format == sections::Format::ofRow && r < table.rowFormats.size();
      if ((ofRow ? table.rowFormats[r] : format) == sections::Format::ticks && c < table.rows[r].size())
        largest = std::max(largest, std::fabs(numberIn(table.rows[r][c])));
    }
  }
  double unit = ticksPerMicrosecond;
  const char* name = nullptr;
  for (const char* const next : {"ms", "s"}) {
    if (largest / unit < kMost) break;
    unit *= kThousand;
    name = next;
  }
  if (name != nullptr) table.basis.replace(at, kMicro.size(), name);
  return unit;
}

}  // namespace pipescope::pages
