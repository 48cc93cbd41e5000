#pragma once
// From a model to everything that runs: validates the request, lays out stages, adds gradients, runs the
// compiler's passes, and lowers each stage for its device.
#include "engine/compile/model/compilation.h"
#include "engine/compile/model/lowered_stages.h"
#include "engine/compile/model/model_request.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Every refusal is a sentence that names the key, block, layer or stage. Devices are lowered side by side on
/// `executor`. `known` remembers what devices made of stages, for further compilations; null: nothing does.
/// The result depends on neither.
base::Result<Compilation> compileModel(const ModelRequest& request, base::Executor& executor,
                                       LoweredStages* known = nullptr);

/// Compiles a request whose stages a split has already named (StageSplits::applied).
base::Result<Compilation> compileSplit(const ModelRequest& split, base::Executor& executor,
                                       LoweredStages* known = nullptr);

/// Whether training in so many stages computes activations again.
bool recomputes(const ModelRequest& request, int stages);

}  // namespace pipescope::compile
