#pragma once
// What the memory of a program step goes to: by layer of the model and by category.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct LayerBytes {
  std::string layer;  ///< block of the model where it is known, otherwise its operator; empty: of no layer
  Bytes alwaysLive, notAlwaysLive;
};
struct CategoryBytes {
  std::string category;
  bool alwaysLive = false;
  Bytes bytes;
};
struct StepAttribution {
  std::vector<LayerBytes> layers;         ///< largest first
  std::vector<CategoryBytes> categories;  ///< largest first
  Bytes alwaysLive, notAlwaysLive;
  std::int64_t variables = 0;  ///< live during the step
};

/// Of the variables that are live during `step` of a memory space. Sums over units.
Result<StepAttribution> attributeStep(const model::ProfileSource& source, const Catalog& catalog,
                                      model::ExecutableId executable, model::MemorySpaceId space,
                                      std::int32_t step);

struct PeakAttribution {
  model::DeviceId device;
  model::MemorySpaceId space;
  std::int64_t step = -1;
  std::string program;  ///< name path of the step
  StepAttribution parts;
};
/// Each device of the first replica at the step with most live bytes.
Result<std::vector<PeakAttribution>> attributePeaks(const model::ProfileSource& source,
                                                    const Catalog& catalog, model::ExecutableId executable);

}  // namespace pipescope::analysis
