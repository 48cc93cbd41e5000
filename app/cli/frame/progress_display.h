#pragma once
// Shows progress on standard error, and lets Ctrl-C stop the work.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "profiler/base/progress.h"

namespace pipescope::cli {

/// The modes are:
///   - bar rewrites one line. If standard error is not a terminal, it is the same as plain.
///   - plain prints about one line per second.
///   - json prints a line {"fraction", "what"} for each report, at most ten per second.
///   - off prints nothing.
std::unique_ptr<base::Progress> makeProgress(const std::string& mode);
/// Ends the line of a bar, so that later output starts on a new line.
void finishProgress(base::Progress& progress);

/// After this call, the first SIGINT, SIGTERM or SIGHUP asks the work to stop (Progress::cancelled). The
/// second ends the program, and so does the first if the work does not ask within a second.
void catchInterrupts();

/// The exit status of work that a signal stopped: 128 and the number of the signal.
int interruptStatus();

}  // namespace pipescope::cli
