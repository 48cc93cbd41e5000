#include "app/cli/plan_trust.h"

#include <fmt/format.h>

#include "profiler/sections/frame/column_text.h"

namespace pipescope::cli {

RateInterval ratesWithin(const plan::TriedPlan& tried, const app::PlanIntervals& intervals) {
  const double rate = tried.samplesPerSecond;
  if (!intervals.step || !(rate > 0) || !(intervals.step->factors.least > 0)) return {};
  return {rate / intervals.step->factors.most, rate / intervals.step->factors.least};
}

std::optional<double> shareBehind(const plan::TriedPlan& best, const app::PlanIntervals& ofBest,
                                  const plan::TriedPlan& other, const app::PlanIntervals& ofOther) {
  if (!ofBest.step || !ofOther.step || other.value.missing > 0 || best.value.missing > 0 ||
      !(other.samplesPerSecond > 0))
    return std::nullopt;
  return figures::shareAhead(best.samplesPerSecond / other.samplesPerSecond,
                             figures::errorOf(ofBest.step->factors), figures::errorOf(ofOther.step->factors),
                             figures::kModelCorrelation);
}

void addInterval(const plan::TriedPlan& tried, const app::PlanIntervals& intervals,
                 sections::Section& section) {
  const RateInterval rates = ratesWithin(tried, intervals);
  if (!rates.least) return;
  const auto add = [&](const char* label, std::string value) {
    section.facts.push_back({"", label, std::move(value), sections::Format::plain, ""});
  };
  add("  80 %", fmt::format("{} … {}", sections::formatCell(*rates.least, sections::Format::rate),
                            sections::formatCell(*rates.most, sections::Format::rate)));
  add("  interval from", intervals.step->basis);
}

}  // namespace pipescope::cli
