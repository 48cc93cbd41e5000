#pragma once
// Says a split in the words of frameworks, so that it can be used there.
#include <optional>
#include <string>
#include <vector>

#include "app/cli/plan_framework_options.h"
#include "profiler/base/result.h"

namespace pipescope::cli {

/// A split into contiguous stages.
struct FrameworkSplit {
  std::vector<std::vector<std::string>> layers;  ///< one for each stage; empty if a stage ends within a layer
  std::vector<std::string> starts;               ///< first names of the stages after the first one
  std::vector<int> devices;                      ///< one for each stage
  std::string schedule = {};                     ///< the name of the schedule
  std::optional<FrameworkRun> run = {};          ///< none: only the stages are known
};

/// "megatron", "deepspeed", "torchtitan", "poptorch".
std::vector<std::string> frameworkNames();
/// The split as text for the framework. Refused: a split that the framework has no words for.
base::Result<std::string> writeForFramework(const std::string& framework, const FrameworkSplit& split);

}  // namespace pipescope::cli
