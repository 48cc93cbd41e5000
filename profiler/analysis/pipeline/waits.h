#pragma once
// Who waits for whom, and the critical path.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct WaitGroup {
  model::DeviceId device, waitedForDevice;
  int waitedForStage = -1;
  model::WaitCause cause = model::WaitCause::fill;
  double ticksPerIteration = 0;
  double countPerIteration = 0;
  double share = 0;  ///< of the iteration's length
};

/// Waits of the executable's last run, largest first.
Result<std::vector<WaitGroup>> waitGroups(const model::ProfileSource& source, const Catalog& catalog,
                                          model::ExecutableId executable);

/// A link of the critical path; links follow each other without gap from the run's start to its end.
struct CriticalLink {
  enum class Kind { placement, transfer, call } kind = Kind::placement;
  model::DeviceId device;
  Ticks start, end;
  model::PlacementId placement;  ///< none for call
  int stage = -1;
  model::Pass pass = model::Pass::forward;
  int microBatch = -1;
};

/// From the last placement backwards along what bound each start. The lengths add up to the run's span.
Result<std::vector<CriticalLink>> criticalPath(const model::ProfileSource& source, const Catalog& catalog,
                                               model::RunId run);

}  // namespace pipescope::analysis
