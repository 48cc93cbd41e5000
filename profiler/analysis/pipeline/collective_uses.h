#pragma once
// Collectives of an emulated run: what chips send along each axis of the mesh, how long that takes, and how
// much of it other work hides.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// One operator's collective in an iteration of the last call, on the first chip of its stage. Times are 0 if
/// the profile has no steps.
struct CollectiveUse {
  model::OperatorId op;
  std::int32_t stage = -1;
  model::Pass pass = model::Pass::forward;
  model::Collective row;
  double count = 0;    ///< executions per iteration
  double ticks = 0;    ///< sum of their lengths
  double exposed = 0;  ///< part of these in which no other engine of the chip works
  double sent = 0;     ///< bytes that the chip sends, if they go round a ring
  double share = 0;    ///< sum of their lengths ÷ length of an iteration, the call's mean
};

/// Sorted by stage and operator. Empty: no collective was recorded.
Result<std::vector<CollectiveUse>> collectiveUses(const model::ProfileSource& source, const Catalog& catalog,
                                                  model::ExecutableId executable);

/// Communication of a stage along one axis, per iteration.
struct AxisCommunication {
  std::int32_t stage = -1;
  model::MeshAxis axis = model::MeshAxis::data;
  std::int64_t ranks = 1;  ///< the most that take part
  double count = 0, sent = 0, ticks = 0, exposed = 0, share = 0;
};
/// Sorted by stage and axis.
std::vector<AxisCommunication> communicationByAxis(const std::vector<CollectiveUse>& uses);

}  // namespace pipescope::analysis
