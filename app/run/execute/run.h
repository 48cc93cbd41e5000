#pragma once
// Runs a configuration: validates and compiles it, emulates, trains and infers, and writes the profile.
#include <optional>
#include <string>

#include "engine/config/configuration.h"
#include "profiler/base/progress.h"

namespace pipescope::app {

struct RunOptions {
  std::string output = "profile.pop";
  std::string commandLine;
};

struct RunResult {
  bool cancelled = false;
  bool fits = true;
  std::optional<double> finalLoss, testAccuracy;
  double hostSamplesPerSecond = 0;
  double emulatedSeconds = 0;
  double emulatedUnits = 0;           ///< cost units, for system fixed
  std::vector<std::string> notices;   ///< messages for the user
  std::vector<std::string> overflow;  ///< where the model does not fit
};

/// An error before the first commit leaves no file at the output path. A later error leaves the profile so
/// far and marks it as incomplete, with the reason.
base::Result<RunResult> runConfiguration(const config::Configuration& configuration,
                                         const RunOptions& options, base::Progress& progress);

}  // namespace pipescope::app
