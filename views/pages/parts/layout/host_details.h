#pragma once
// Texts of the page about the host for a call, span, event or value.
#include <QStringList>

#include "profiler/geometry/timeline/host_scene.h"
#include "views/pages/parts/layout/facts.h"

namespace pipescope::pages {

/// A heading, then lines, for the callout at the pointer.
QStringList hostCallout(const analysis::HostTimeline& timeline, const geometry::HostHit& hit);
/// Everything that is known of it.
std::vector<ShownFact> hostFacts(const analysis::HostTimeline& timeline, const geometry::HostHit& hit);
/// The name of a span or event; −1: it has none.
int hostNameOf(const analysis::HostTimeline& timeline, const geometry::HostHit& hit);

}  // namespace pipescope::pages
