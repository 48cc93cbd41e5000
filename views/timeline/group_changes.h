#pragma once
#include <QMenu>
#include <functional>
#include <optional>

#include "profiler/geometry/timeline/timeline_layout.h"

namespace pipescope::timeline {

/// Actions of users on the rows of one device, or (from showAll on) of all devices.
enum class GroupChange { fold, pin, hide, up, down, showAll, byStage, foldAll, alike };

/// The options after a change; nothing if it cannot be done: no device was named, the last visible device
/// cannot be hidden, the first cannot move up.
std::optional<geometry::TimelineOptions> changed(const geometry::TimelineOptions& options, GroupChange change,
                                                 int device, const analysis::Trace& trace);

/// True if a trace has so many devices that those which do the same are shown as one.
bool foldsDevices(const analysis::Trace& trace);

/// The entries for a device (−1: only those for all devices) of a context menu.
void addGroupChanges(QMenu& menu, const geometry::TimelineOptions& options, int device, bool anyAlike,
                     const std::function<void(GroupChange)>& apply);

}  // namespace pipescope::timeline
