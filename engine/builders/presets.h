#pragma once
#include "engine/builders/builder.h"

namespace pipescope::builders {

/// Adds the known models of resources/models to the builders: each is a builder with other defaults, so every
/// setting can still be given. Errors: a file that is no TOML, an unknown builder or setting, a value of
/// another kind.
base::Status addPresets(BuilderRegistry& registry);

}  // namespace pipescope::builders
