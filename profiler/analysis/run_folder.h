#pragma once
// The files that a recorded run has read, found from any folder.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// The options of the run. A profile keeps paths as they were given, and relative ones begin at the folder in
/// which the run was started (the property run_folder). Here the model, the data and the weights that the run
/// has read have absolute paths, so that the options can be used in another folder. Profiles without this
/// property keep their paths.
std::vector<model::ConfigurationEntry> optionsForAnyFolder(const Catalog& catalog);

}  // namespace pipescope::analysis
