#pragma once
// Advice for a model that does not fit.
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/compiler/compilation.h"
#include "engine/config/configuration.h"
#include "engine/plan/divided_model.h"
#include "profiler/base/executor.h"
#include "profiler/base/progress.h"

namespace pipescope::app {

/// The bytes that memories lack, summed over their units (for example tiles), by index of the executable,
/// index of the device and memory space. 0: it fits.
using MissingBytes = std::map<std::array<int, 3>, base::Bytes>;

/// A change of the configuration that was tried, or several changes together.
struct FitProposal {
  std::vector<std::pair<std::string, std::string>> settings;  ///< keys and values, as in a configuration file
  MissingBytes missing;                                       ///< bytes that are missing with the change
  base::Bytes all() const;                                    ///< sum over all memories
  /// Sentence about it: "training.micro_batch_size = 10: everything fits."
  std::string text(base::Bytes before) const;
};

/// Bytes that each memory of the compilation lacks, summed over its units; 0 where all fits.
MissingBytes bytesMissing(const compile::Compilation& compilation);
/// Says that the model does not fit; empty: it fits.
std::string verdictOf(const compile::Compilation& compilation);

/// Tries changes that could save most memory, each of which costs one compilation (plan::ModelTrials), and
/// returns what helps, largest effect first. Four changes are tried where stages were searched, which took
/// several compilations, and three otherwise; where none is enough, those that help are tried together. A
/// change that the configuration refuses is left out. None if the model fits. A search that the user stops
/// gives what it has found. `known`: compileRun() made the compilation with it.
std::vector<FitProposal> proposeChanges(const config::Configuration& configuration,
                                        const compile::Compilation& compilation, plan::SharedStages& known,
                                        base::Executor& executor, base::Progress& progress);

/// Adds a line for each change that helps to the sentences of the memories that it helps
/// (LoweredMemory::overflow).
void addFitAdvice(const config::Configuration& configuration, compile::Compilation& compilation,
                  plan::SharedStages& known, base::Executor& executor, base::Progress& progress);

}  // namespace pipescope::app
