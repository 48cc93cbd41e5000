#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "profiler/analysis/timeline/trace.h"

namespace pipescope::pages {

/// The index of the step at a time, or of the one before it; −1: the trace has no steps.
int stepAt(const analysis::Trace& trace, base::Ticks time);
/// Writes "Iteration 1 of 0–3". Iterations are numbered within their call. Training steps that the host marks
/// have its numbers: "Training step 12 of 10–15".
QString stepText(const analysis::Trace& trace, int index);
/// Names the steps that lie in a visible range: "Iteration 1 of 0–3", "Iterations 1–2 of 0–3"; empty if it
/// shows all or none of them. A step of which less than a hundredth of the range is visible does not count.
QString stepsText(const analysis::Trace& trace, base::Ticks from, base::Ticks to);
/// The call before (−1) or after (+1) one of `runs`; none for the first or last.
std::optional<model::RunId> neighbourCall(const std::vector<const model::Run*>& runs, model::RunId of,
                                          int direction);

}  // namespace pipescope::pages
