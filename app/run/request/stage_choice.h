#pragma once
// What [[stages]] and execution.* say of stages: which blocks, on which device, by which schedule.
#include <map>
#include <string>
#include <vector>

#include "engine/compile/placement.h"
#include "engine/config/configuration.h"

namespace pipescope::app {

/// The schedule of the strategy: sharded and phased strategies have the sharded one.
std::string scheduleName(const config::Configuration& configuration);

/// Stages of a model, as asked for or as schedule and strategy lay them out. Refused: what contradicts
/// itself.
base::Result<std::vector<compile::StageSpec>> chooseStages(const config::Configuration& configuration,
                                                           const graph::Graph& graph);

/// Share of memory that products may take, by device, where a stage says so. Refused: two on one device.
base::Result<std::map<int, double>> memoryProportions(const config::Configuration& configuration,
                                                      const std::vector<compile::StageSpec>& stages);

}  // namespace pipescope::app
