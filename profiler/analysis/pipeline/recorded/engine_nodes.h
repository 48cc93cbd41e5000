#pragma once
// Work of the engines of a recorded accelerator for each node of a recipe.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// A node on the engines of one kind of one device. A node that runs several times has several rows.
struct EngineNode {
  std::string name, operation;
  model::DeviceId device;
  model::LaneRole unit = model::LaneRole::compute;
  std::int32_t part = 1;         ///< counts from 1
  Ticks start, end;              ///< first start and last end of its activations
  Ticks active;                  ///< time in which at least one engine works on it: a union, not a sum
  Ticks shortest, longest, sum;  ///< lengths of its activations
  std::int64_t activations = 0, engines = 0;
};

/// The nodes of an imported trace with engines, by start. Other profiles have none: the operations of an
/// emulated device are those of its program.
///
/// A node begins a new part when no engine works on it and the number of its activations since the last part
/// is a multiple of the number of groups of engines ("[HD3] TPC 5" belongs to the group HD3). Grade: inferred
/// from the nodes that Intel's trace analyser reports for a published Gaudi 3 trace.
Result<std::vector<EngineNode>> engineNodes(const model::ProfileSource& source, const Catalog& catalog);

}  // namespace pipescope::analysis
