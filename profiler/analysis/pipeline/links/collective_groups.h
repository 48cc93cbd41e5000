#pragma once
// Chips that do collectives with each other, and how a system is built of boxes.
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Collectives of a stage along an axis of the mesh.
struct AxisShare {
  std::int32_t stage = -1;
  model::MeshAxis axis = model::MeshAxis::data;
  std::int64_t ranks = 1;  ///< the most that take part
  double share = 0;        ///< their length ÷ length of the call, on the first chip of the stage
};

/// Chips that do the collectives of a stage along an axis with each other.
struct CollectiveGroup {
  std::int32_t stage = -1;
  model::MeshAxis axis = model::MeshAxis::data;
  double share = 0;
  std::vector<model::DeviceId> chips;  ///< ascending, at least two
  std::int64_t ranks = 1;              ///< AxisShare::ranks
};

/// The groups of all replicas and ranks, by stage, axis and first chip. The axes of a place follow from the
/// property "axes.EXECUTABLE"; the tensor axis is the innermost one.
std::vector<CollectiveGroup> collectiveGroups(const Catalog& catalog, model::ExecutableId executable,
                                              const std::vector<AxisShare>& shares);

/// The chips that a box holds, and those that a domain of links joins, which may be many boxes; 0: the
/// profile does not state it. Both follow from the figures of the system.
struct SystemParts {
  std::int64_t chipsOfBox = 0, chipsOfDomain = 0;
};
SystemParts systemParts(const Catalog& catalog);

}  // namespace pipescope::analysis
