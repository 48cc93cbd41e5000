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

}  // namespace pipescope::plan
