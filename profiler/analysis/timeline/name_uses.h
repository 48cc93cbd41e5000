#pragma once
// Number of runs of the steps of a name path in all calls of an executable, and their times.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

/// Asks for name paths such as "layer1/conv/Convolve".
struct NameQuery {
  std::string text;    ///< a part of the path, in upper or lower case
  bool whole = false;  ///< true if the path must be this text
  bool empty() const { return text.empty(); }
  bool matches(const std::string& path) const;
  friend bool operator==(const NameQuery&, const NameQuery&) = default;
};

/// All steps of one name path. Times are ticks of device 0.
struct NameUse {
  std::string path;
  model::StepKind kind = model::StepKind::compute;  ///< kind of the first step
  std::int64_t count = 0;
  Ticks sum, min, max;  ///< lengths of single steps
  Ticks first;          ///< time at which the first one starts
  double mean() const { return count > 0 ? static_cast<double>(sum.count) / static_cast<double>(count) : 0; }
};

struct NameUses {
  std::vector<NameUse> names;  ///< names that ran, sorted by the start of their first step
  std::int64_t count = 0;      ///< steps of all names
};

/// Reads the steps and the placements block by block, so that the memory needed depends on the number of
/// names and segments.
Result<NameUses> nameUses(const model::ProfileSource& source, const Catalog& catalog,
                          model::ExecutableId executable, const NameQuery& query, base::Progress& progress);

}  // namespace pipescope::analysis
