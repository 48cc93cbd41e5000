#pragma once
// Lives of the variables of a memory space over its program steps, for a chart with one bar for each.
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

struct VariableLife {
  model::VariableId id;
  std::string name, category, shape;
  Bytes bytes;
  /// The program steps in which it is live, each from the first one to the one after the last, in this order
  /// and apart from each other.
  std::vector<std::pair<std::int32_t, std::int32_t>> spans;
};

struct Lifetimes {
  std::vector<VariableLife> variables;  ///< largest first
  std::int64_t all = 0;                 ///< number of variables with a life; the smallest may be left out
};

/// The variables of a space that are not always live. At most `most` are returned. Fails if rows cannot be
/// read or if `progress` was cancelled.
Result<Lifetimes> lifetimes(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable, model::MemorySpaceId space, std::size_t most,
                            base::Progress& progress);

}  // namespace pipescope::analysis
