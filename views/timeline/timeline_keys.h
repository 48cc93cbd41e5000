#pragma once
#include <QtCore/qnamespace.h>

namespace pipescope::timeline {

class TimelineCanvas;

/// Does what a key means on a timeline. False if it means nothing there.
bool pressTimelineKey(TimelineCanvas& canvas, int key, Qt::KeyboardModifiers modifiers);

}  // namespace pipescope::timeline
