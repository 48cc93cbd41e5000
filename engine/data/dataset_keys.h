#pragma once
#include <vector>

#include "engine/config/key.h"
#include "engine/data/dataset_registry.h"

namespace pipescope::data {

/// The key data.dataset, and one for each setting that a registered format has.
std::vector<config::Key> datasetKeys(const DatasetRegistry& registry);

}  // namespace pipescope::data
