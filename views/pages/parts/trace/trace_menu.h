#pragma once
// Entries of the context menu of the timeline for the item under the pointer.
#include "views/shell/page.h"
#include "views/timeline/timeline_canvas.h"

class QMenu;

namespace pipescope::pages {

/// Adds "Zoom to", "Copy name", "Find the same" and "Show in" with the pages that can show the item. Entries
/// that do not apply to the item are disabled.
void addItemActions(QMenu& menu, timeline::TimelineCanvas& canvas, const geometry::TimelineItem& item,
                    const QString& name, shell::PageContext& context);

}  // namespace pipescope::pages
