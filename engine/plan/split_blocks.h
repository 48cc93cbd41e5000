#pragma once
#include <map>
#include <string>

#include "engine/compiler/model_request.h"
#include "profiler/base/result.h"

namespace pipescope::plan {

/// The request with LayoutRequest::splitInto stages of the given nodes, which must ascend along the data
/// flow. A block that lies in several stages is divided: "layer2" becomes "layer2/stage0" and
/// "layer2/stage1". Nodes that `stageOf` does not name (other executables have some) follow what they read,
/// or go with their first reader.
base::Result<compile::ModelRequest> inStages(const compile::ModelRequest& request,
                                             const std::map<std::string, int>& stageOf);

/// The request for an estimate of what a micro-batch takes, with the first executable only. The number of
/// micro-batches does not change these times. Similar numbers become one, which keeps its remainders for
/// schedules that need them, so that compilations which share LoweredStages find most stages again.
compile::ModelRequest estimateOf(const compile::ModelRequest& request, std::size_t stages);

/// The request for an estimate of the whole model on one device.
compile::ModelRequest oneStage(const compile::ModelRequest& request, std::size_t stages);

}  // namespace pipescope::plan
