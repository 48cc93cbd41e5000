#pragma once
// Runs a configuration: validates and compiles it, emulates, trains and infers, and writes the profile.
#include <functional>
#include <optional>
#include <string>

#include "engine/config/configuration.h"
#include "profiler/base/files/output_file.h"
#include "profiler/base/progress.h"

namespace pipescope::app {

struct RunOptions {
  std::string output = "profile.pop";
  std::string commandLine;
  /// The files that the command reads besides those that the configuration names, such as the configuration's
  /// own file; and what its outputs may replace.
  base::OutputRules rules = {};
  /// See ModelOptions::sayVerdictTo; may be empty.
  std::function<void(const std::string&)> sayVerdict = {};
};

struct RunResult {
  bool cancelled = false;
  bool written = true;  ///< false if the run was stopped before its first call, and an older profile is kept
  bool isFirst = true;  ///< false if another instance of the program writes the files
  bool fits = true;
  std::optional<double> finalLoss, testAccuracy;
  double hostSamplesPerSecond = 0;
  double emulatedSeconds = 0;
  double emulatedUnits = 0;           ///< cost units, for system fixed without fixed.unit
  std::vector<std::string> notices;   ///< messages for the user
  std::vector<std::string> overflow;  ///< places in which the model does not fit
};

/// Checks the configuration, the model, the data and all outputs before it writes anything. An error of these
/// checks leaves no file and an older profile untouched. A later error leaves the profile so far and marks it
/// as incomplete, with the reason; an older profile is replaced when the first call is recorded.
base::Result<RunResult> runConfiguration(const config::Configuration& configuration,
                                         const RunOptions& options, base::Progress& progress);

}  // namespace pipescope::app
