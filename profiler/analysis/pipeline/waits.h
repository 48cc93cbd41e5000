#pragma once
// Finds which device waits for which, and the critical path.
#include <optional>
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
  double share = 0;  ///< share of the run's length
  /// Waits for a collective of an emulated run: the axis of the mesh along which it runs.
  std::optional<model::MeshAxis> axis = {};
  bool sharedLinks = false;  ///< others made collectives in a pass of the device longer (WaitAxes)
  /// Reason of a recorded run's wait (measured_waits.h), and the part of the time during which work whose
  /// input was ready stood behind the receive that is waited for.
  std::string reason;
  double blockedPerIteration = 0;
};

/// Rows of a run that waitGroups() and criticalPath() read, so that callers of both read them once.
struct RunRows {
  std::vector<model::Placement> placements;
  std::vector<model::Wait> waits;
};
/// Reads the placements and waits of a run.
Result<RunRows> runRows(const model::ProfileSource& source, const model::Run& run);

/// Waits of the executable's last run, largest first.
Result<std::vector<WaitGroup>> waitGroups(const model::ProfileSource& source, const Catalog& catalog,
                                          model::ExecutableId executable);
/// The same from rows that were read before.
std::vector<WaitGroup> waitGroups(const RunRows& rows, const Catalog& catalog, const model::Run& run);

/// A link of the critical path. The links follow each other without a gap from the run's start to its end.
struct CriticalLink {
  enum class Kind { placement, transfer, call } kind = Kind::placement;
  model::DeviceId device;
  Ticks start, end;
  model::PlacementId placement;  ///< none for call
  int stage = -1;
  model::Pass pass = model::Pass::forward;
  int microBatch = -1;
  model::SegmentId segment;  ///< segment of the placement that the link is, or belongs to
};

/// Parts of the critical path, in ticks.
struct PathSums {
  Ticks compute;   ///< forward, recompute, backward and weight-gradient passes
  Ticks exchange;  ///< transfers, sync, collectives, and waits for them
  Ticks update;
  Ticks memory;  ///< loads and stores of remote buffers
  Ticks host;    ///< host copies, the call's overhead, and waits for the host
  Ticks total() const { return compute + exchange + update + memory + host; }
};
/// The parts of the path's stretch from `from` to `to`. They add up to its length if the path covers it.
PathSums pathSums(const std::vector<CriticalLink>& path, Ticks from, Ticks to);

/// Finds the critical path: starts at the last placement and goes back to whatever each placement had to wait
/// for. The lengths of the links add up to the run's length. Empty for a trace without recognised passes.
Result<std::vector<CriticalLink>> criticalPath(const model::ProfileSource& source, const Catalog& catalog,
                                               model::RunId run);
/// The same from rows that were read before.
std::vector<CriticalLink> criticalPath(const RunRows& rows, const Catalog& catalog, const model::Run& run);

}  // namespace pipescope::analysis
