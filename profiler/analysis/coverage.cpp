#include "profiler/analysis/coverage.h"

#include <charconv>

namespace pipescope::analysis {

Coverage coverageOf(const Catalog& catalog) {
  const auto count = [&](const char* key) {
    const std::string text = catalog.property(key);
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  };
  return {count("coverage_slices"),          count("coverage_recognised_slices"),
          count("coverage_messages"),        count("coverage_paired_messages"),
          count("coverage_collectives"),     count("coverage_matched_collectives"),
          count("coverage_inferred_stages"), count("coverage_inferred_messages"),
          count("coverage_ranks"),           count("coverage_ranks_of_run")};
}

}  // namespace pipescope::analysis
