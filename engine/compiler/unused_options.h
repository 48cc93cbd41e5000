#pragma once
#include <string>
#include <vector>

#include "engine/compiler/compilation.h"
#include "engine/compiler/model_request.h"

namespace pipescope::compile {

/// A sentence for each option that was given and changes nothing: compiler passes that were switched off
/// although the system does not use their results, settings of ranks, replicas, sums, stages or work of the
/// host that there are not, and places off the chip for tensors that the model does not have. Options that
/// contradict each other are refused before (checkConfiguration of app/run/request).
std::vector<std::string> unusedOptions(const ModelRequest& request, const Compilation& compilation);

}  // namespace pipescope::compile
