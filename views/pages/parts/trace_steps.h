#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "profiler/analysis/timeline/trace.h"

namespace pipescope::pages {

/// Index of the step that a time lies in, or of the one before it; −1: the trace has none.
int stepAt(const analysis::Trace& trace, base::Ticks time);
/// "Step 1 of 0–3": numbered within its call, as micro-batches are within their step.
QString stepText(const analysis::Trace& trace, int index);
/// The call before (−1) or after (+1) one of `runs`; none: it is the first or last.
std::optional<model::RunId> neighbourCall(const std::vector<const model::Run*>& runs, model::RunId of,
                                          int direction);

}  // namespace pipescope::pages
