#pragma once
// Compiles a model to everything that runs: validates the request, lays out stages, adds gradients, runs the
// compiler's passes, and lowers each stage for its device.
#include "engine/compiler/compilation.h"
#include "engine/compiler/lowered_stages.h"
#include "engine/compiler/model_request.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Compiles a request that states its stages; plan::compileDivided (engine/plan) searches them first where it
/// does not. Every refusal is a sentence that names the key, block, layer or stage. Devices are lowered side
/// by side on `executor`. `known` remembers what devices made of stages, for further compilations; null:
/// nothing does. The result depends on neither.
base::Result<Compilation> compileModel(const ModelRequest& request, base::Executor& executor,
                                       LoweredStages* known = nullptr);

/// True if training in so many stages computes all that a stage does not keep again. Scores of attention that
/// are computed again do not count.
bool recomputes(const ModelRequest& request, int stages);

}  // namespace pipescope::compile
