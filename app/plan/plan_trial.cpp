#include "app/plan/plan_trial.h"

#include "engine/compiler/model_compiler.h"

namespace pipescope::app {

compile::ModelRequest withSplit(const compile::ModelRequest& request, const plan::SplitPlan& split) {
  compile::ModelRequest plain = request;
  plain.layout.splitInto = 0;
  plain.layout.cuts = split.cuts;
  plain.layout.cutDevices.assign(split.devices.begin(), split.devices.end());
  plain.layout.whole = split.cuts.empty();
  return plain;
}

base::Result<compile::Compilation> tryRequest(const compile::ModelRequest& request,
                                              const TrialContext& context) {
  if (context.progress.cancelled()) return base::cancelled("Stopped before the search was complete.");
  context.progress.report(0.97, "trying settings of single stages");
  ++context.compiled;
  return plan::compileDivided(request, context.executor, &context.known);
}

}  // namespace pipescope::app
