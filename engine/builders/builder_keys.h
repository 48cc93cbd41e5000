#pragma once
#include <vector>

#include "engine/builders/builder.h"
#include "engine/config/key.h"

namespace pipescope::builders {

/// The key model.builder, and one for each setting that a registered builder has.
std::vector<config::Key> builderKeys(const BuilderRegistry& registry);

}  // namespace pipescope::builders
