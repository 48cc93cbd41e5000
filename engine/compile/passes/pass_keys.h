#pragma once
#include <vector>

#include "engine/compile/passes/pass.h"
#include "engine/config/key.h"

namespace pipescope::compile {

/// A switch compile.NAME for each registered pass; all are on by default.
std::vector<config::Key> passKeys(const PassRegistry& registry);

}  // namespace pipescope::compile
