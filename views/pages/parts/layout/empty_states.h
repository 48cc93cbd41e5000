#pragma once
// Sentences that say why a page has nothing to show, for each kind of profile.
#include <QString>

#include "profiler/analysis/catalog.h"

namespace pipescope::pages {

/// Says why there are no bytes of memory.
QString whyNoMemory(const analysis::Catalog& catalog);
/// Says why nothing is known about what is live when.
QString whyNoLiveness(const analysis::Catalog& catalog);
/// Says why the executable has no loss and no other counters.
QString whyNoLoss(const analysis::Catalog& catalog, model::ExecutableId executable);

}  // namespace pipescope::pages
