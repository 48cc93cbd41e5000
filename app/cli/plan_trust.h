#pragma once
// Shows how sure the rates of plans are.
#include <optional>

#include "app/plan/plan_intervals.h"
#include "engine/plan/tried_plan.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::cli {

/// Samples per second. None: the interval is not known.
struct RateInterval {
  std::optional<double> least, most;
};
/// The interval that holds the plan's true rate with 80 %.
RateInterval ratesWithin(const plan::TriedPlan& tried, const app::PlanIntervals& intervals);

/// Share of draws of the device model's errors in which the best plan is faster than another one. None: the
/// errors are not known, or one of the two does not fit.
std::optional<double> shareBehind(const plan::TriedPlan& best, const app::PlanIntervals& ofBest,
                                  const plan::TriedPlan& other, const app::PlanIntervals& ofOther);

/// Adds the interval of a plan's rate below the rate.
void addInterval(const plan::TriedPlan& tried, const app::PlanIntervals& intervals,
                 sections::Section& section);

/// Remark on plans whose rates have intervals.
inline constexpr const char* kSharedErrors =
    "Two plans of one model share half of the errors of its device model, so that the gain is surer than the "
    "rates.";

}  // namespace pipescope::cli
