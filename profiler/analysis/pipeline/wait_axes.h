#pragma once
// Along which axis of the mesh the collectives run that emulated devices wait for.
#include <functional>
#include <optional>
#include <unordered_map>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// The placement that a wait is for.
struct AwaitedPlacement {
  model::DeviceId device;
  int stage = -1;
  model::Pass pass = model::Pass::forward;
  model::SegmentId segment;
};

/// True if the wait follows a pass of its device whose collectives were longer, because others used the same
/// links.
bool waitsForSharedLinks(const model::Wait& wait, const AwaitedPlacement& awaited);

class WaitAxes {
 public:
  WaitAxes(const Catalog& catalog, model::ExecutableId executable);

  /// The axis of the collective that a wait is for; none: it is for something else, or of a recorded run.
  /// Places wait for each other where they add up the gradients of a weight that each of them has; then the
  /// device does not hold the stage that is late. `awaited`: null: not known. `holds(stage)`: true if the
  /// device holds the stage.
  std::optional<model::MeshAxis> of(const model::Wait& wait, const AwaitedPlacement* awaited,
                                    const std::function<bool(int)>& holds) const;

 private:
  bool measured_;
  /// Axis along which a segment communicates longest over links that others use too.
  std::unordered_map<model::SegmentId, model::MeshAxis> shared_;
};

}  // namespace pipescope::analysis
