#pragma once
// Names from the model down to an operator, a program or a variable.
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::pages {

/// The names from the model down to a context. For workers, because it reads the profile.
std::vector<model::DebugContext> namesAbove(const analysis::Catalog& catalog, model::DebugContextId id);
/// The chain as a table: each name, what it belongs to, and the path so far.
sections::SectionTable debugTable(const std::vector<model::DebugContext>& chain);

}  // namespace pipescope::pages
