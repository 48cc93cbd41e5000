#include <algorithm>

#include "profiler/sections/frame/section.h"

namespace pipescope::sections {
namespace {

base::Result<Section> makeOptions(const Context& context) {
  Section section{"options", "Options", {}, {}, {}};
  SectionTable table{"options",
                     "Options",
                     "all options of the run; first those that were given",
                     {{"path", "Option", Format::plain, ""},
                      {"value", "Value", Format::plain, "as TOML, as it was given"},
                      {"origin", "From", Format::plain,
                       "file, environment or flag; derived: worked out from other options; model: decided by "
                       "the model file; "
                       "default: nobody decided it"}},
                     {}};
  for (const model::ConfigurationEntry& row : context.catalog.configuration)
    table.rows.push_back({row.path, row.value, row.origin});
  // clang 14 cannot compile std::ranges::stable_partition with the library of g++ 12.
  std::stable_partition(table.rows.begin(), table.rows.end(),
                        [](const std::vector<Cell>& row) { return row[2] != Cell(std::string("default")); });
  if (table.rows.empty()) section.remarks.push_back("The profile holds no options.");
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace

PIPESCOPE_REGISTER_SECTION(options) {
  registry.add(
      {"options", "Options", "Every option of the run, and where its value came from", 90, makeOptions});
}

}  // namespace pipescope::sections
