#pragma once
// How progress is shown on standard error, and how Ctrl-C reaches the work.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "profiler/base/progress.h"

namespace pipescope::cli {

/// bar: one line that is rewritten (plain where standard error is no terminal); plain: a line about once a
/// second; json: a line {"fraction", "what"} per report, at most ten a second; off: nothing.
std::unique_ptr<base::Progress> makeProgress(const std::string& mode);
/// Ends a bar's line, so that what follows starts on its own.
void finishProgress(base::Progress& progress);

/// From here on the first SIGINT or SIGTERM asks the work to stop (Progress::cancelled), the second ends the
/// program.
void catchInterrupts();

}  // namespace pipescope::cli
