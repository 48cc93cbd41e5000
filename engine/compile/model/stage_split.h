#pragma once
// Splits a model into stages of near equal cost, as execution.stages asks for.
#include <functional>
#include <string>
#include <vector>

#include "engine/compile/model/compilation.h"
#include "engine/compile/model/model_request.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

struct SplitRequest {
  ModelRequest request;              ///< with LayoutRequest::stages, and with blocks that the stages name
  std::vector<std::string> notices;  ///< sentences that tell where the model was cut
};

/// Compiles a request without a split.
using Compile = std::function<base::Result<Compilation>(const ModelRequest&)>;

/// The request with its model split into LayoutRequest::splitInto stages. The stages are contiguous, and the
/// load of the longest is as small as the device model's estimate says that it can be: forward, backward and,
/// if `recomputes`, recompute passes with host copies and with the exchange at both ends. Where stages use
/// the same parameter, they share a device. Borders between blocks, then between layers by their name paths,
/// are preferred as long as they make the longest stage at most 5 % longer.
///
/// What a model costs as one stage is not quite what its parts cost as several: each pass of each stage is
/// launched, and inputs are stashed. So the stages that were found are compiled, the differences become fixed
/// costs of the stages, and the search is repeated some times; the best split that was compiled is taken.
///
/// The first executable decides; the others are cut at the same operators. Refused: stages that are given in
/// another way too, more stages than operators that take time, schedules that the number of stages does not
/// suit, parameters that no placement puts on one device, and what `compile` refuses.
base::Result<SplitRequest> splitIntoStages(const ModelRequest& request, bool recomputes,
                                           const Compile& compile);

}  // namespace pipescope::compile
