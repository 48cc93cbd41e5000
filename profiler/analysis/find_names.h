#pragma once
// Finds operations and variables by parts of their names.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

struct FoundName {
  std::string name;
  std::string kind;  ///< operator type or category: "Conv", "weight"
  bool isVariable = false;
  std::int32_t stage = -1;
  model::DeviceId device;  ///< of a variable
};

/// Operators and variables of the executable whose names contain all words, in upper or lower case, each name
/// once. Names that begin with the first word come first, then the shorter ones. At most `most` of each kind.
Result<std::vector<FoundName>> findNames(const model::ProfileSource& source, const Catalog& catalog,
                                         model::ExecutableId executable,
                                         const std::vector<std::string>& words, std::size_t most,
                                         base::Progress& progress);

}  // namespace pipescope::analysis
