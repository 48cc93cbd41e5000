#pragma once
// Runs a configuration: validate, compile, emulate, train and infer, write the profile.
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
  double emulatedUnits = 0;           ///< of `fixed`: cost units
  std::vector<std::string> notices;   ///< sentences for the user
  std::vector<std::string> overflow;  ///< where the model does not fit
};

/// Errors before the first commit leave nothing at the output path; later ones leave the profile so far,
/// marked incomplete with the reason.
base::Result<RunResult> runConfiguration(const config::Configuration& configuration,
                                         const RunOptions& options, base::Progress& progress);

}  // namespace pipescope::app
