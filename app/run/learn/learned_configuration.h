#pragma once
// Makes a configuration of system fixed of what was learned from a run (profiler/replay/learned_model.h).
#include <string>
#include <vector>

#include "engine/config/configuration.h"
#include "profiler/replay/learned_model.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::app {

/// Parts into which a stage can be divided if nobody says how many layers it has.
inline constexpr int kUnknownLayers = 12;

/// The division of the learned stages into layers.
struct LearnedLayers {
  std::vector<int> ofStage;  ///< number of layers of each stage
  bool known = false;        ///< false: each stage is divided into kUnknownLayers equal parts
};

/// The layers of each stage: `given` has one number for each stage, or one for all of them together; empty:
/// nobody knows. Errors: another number, or one that the stages do not divide.
base::Result<LearnedLayers> layersOfStages(const replay::LearnedModel& learned,
                                           const std::vector<std::int64_t>& given);

/// The configuration as TOML; a unit is a millisecond. `source` names the profile.
std::string learnedToml(const replay::LearnedModel& learned, const LearnedLayers& layers,
                        const std::string& source);

/// The step that the configuration gives, in seconds. Errors: those of the configuration.
base::Result<double> stepOfLearned(const std::string& toml);

/// The answer of `pipescope learn`.
sections::Section learnedSection(const replay::LearnedModel& learned, const LearnedLayers& layers,
                                 double emulatedStep);

}  // namespace pipescope::app
