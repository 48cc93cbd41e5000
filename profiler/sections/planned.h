#pragma once
#include "profiler/replay/planned_order.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// Chooses the order with which the section `planned` of this context compares. Without a choice it is the
/// schedule that fits best.
void setPlan(const Context& context, replay::PlannedOrder plan);

}  // namespace pipescope::sections
