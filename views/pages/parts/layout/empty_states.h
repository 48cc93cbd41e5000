#pragma once
// Sentences that say why a page has nothing to show, for each kind of profile.
#include <QString>

#include "profiler/analysis/catalog.h"

namespace pipescope::pages {

/// Each of these is empty where the profile may have what is asked for.
QString whyNothingRan(const analysis::Catalog& catalog, model::ExecutableId executable);
QString whyNoWaits(const analysis::Catalog& catalog, model::ExecutableId executable);
QString whyNoStragglers(const analysis::Catalog& catalog, model::ExecutableId executable);
QString whyNoOperations(const analysis::Catalog& catalog);
QString whyNoPipeline(const analysis::Catalog& catalog, model::ExecutableId executable);
QString whyNotRecorded(const analysis::Catalog& catalog);
QString whyNoOperators(const analysis::Catalog& catalog);
QString whyNoPrograms(const analysis::Catalog& catalog);
QString whyNoHost(const analysis::Catalog& catalog);
/// Says why there are no bytes of memory.
QString whyNoMemory(const analysis::Catalog& catalog);
/// Says why nothing is known about what is live when.
QString whyNoLiveness(const analysis::Catalog& catalog);
/// Says why the executable has no loss and no other counters.
QString whyNoLoss(const analysis::Catalog& catalog, model::ExecutableId executable);
/// The same sentence, if nothing that the page Training shows is recorded or can still come.
QString whyNoTraining(const analysis::Catalog& catalog, model::ExecutableId executable);

}  // namespace pipescope::pages
