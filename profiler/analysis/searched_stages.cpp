#include "profiler/analysis/searched_stages.h"

#include <algorithm>

#include "profiler/base/number_text.h"

namespace pipescope::analysis {

std::int64_t searchedStages(const Catalog& catalog) {
  const auto& entries = catalog.configuration;
  const auto stages = std::ranges::find(entries, "execution.stages", &model::ConfigurationEntry::path);
  if (stages == entries.end()) return 0;
  const std::int64_t count = base::wholeNumberOf(stages->value).value_or(0);
  return count > 1 ? count : 0;
}

}  // namespace pipescope::analysis
