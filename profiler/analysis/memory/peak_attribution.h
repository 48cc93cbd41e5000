#pragma once
// Divides the memory of a program step by layer of the model and by category.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct LayerBytes {
  std::string layer;  ///< the block of the model, or the operator if no block is known; empty: no layer
  Bytes alwaysLive, notAlwaysLive;
};
struct CategoryBytes {
  std::string category;
  bool alwaysLive = false;
  Bytes bytes;
};
/// Sums over the variables that are live during a program step, over all units of a memory space.
struct StepAttribution {
  std::vector<LayerBytes> layers;         ///< largest first
  std::vector<CategoryBytes> categories;  ///< largest first
  Bytes alwaysLive, notAlwaysLive;
  std::int64_t variables = 0;  ///< live during the step
};

struct PeakAttribution {
  model::DeviceId device;
  model::MemorySpaceId space;
  std::int64_t step = -1;
  std::string program;  ///< name path of the step
  StepAttribution parts;
};
/// Describes each device of the first replica at the step with the most live bytes.
Result<std::vector<PeakAttribution>> attributePeaks(const model::ProfileSource& source,
                                                    const Catalog& catalog, model::ExecutableId executable);

}  // namespace pipescope::analysis
