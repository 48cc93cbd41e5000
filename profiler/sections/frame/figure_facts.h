#pragma once
// Figures of profiler/figures as facts and columns of sections.
#include <string_view>

#include "profiler/figures/figure.h"
#include "profiler/figures/stage_figure.h"
#include "profiler/sections/frame/reports.h"

namespace pipescope::sections {

/// All analyses of the executable from which figures are read. They live as long as the context's reports. A
/// section that shows few figures asks for what these need, because analyses of large profiles take time.
base::Result<figures::Analyses> analysesOf(const Context& context);

/// The fact of a figure, which stands alone.
Fact factOf(std::string_view key, const figures::Analyses& from);
/// A fact that text shows only where it has a value.
Fact ifKnown(Fact fact);
/// The fact of a figure that is a part of the fact before it.
Fact partOf(std::string_view key, const figures::Analyses& from);
/// The ends of an interval and what it is taken from, such as "step_least_cycles", "step_most_cycles" and
/// "step_interval_basis". Text shows both ends in one line, where they have a value.
std::vector<Fact> intervalFacts(std::string_view least, std::string_view most, std::string_view basis,
                                const figures::Analyses& from, const ShownTime& time = {});
std::vector<Fact> stepIntervalFacts(const figures::Analyses& from);
/// The interval of the fullest tile or device.
std::vector<Fact> memoryIntervalFacts(const figures::Analyses& from);
/// Makes text show the first two of three facts, the ends of an interval and its basis, in one line:
/// "494.5 … 870.2 µs".
void showAsRange(std::vector<Fact>& facts, const ShownTime& time);
/// The same facts of a recorded call and of its replay with changes: "before_KEY" and "after_KEY".
std::vector<Fact> replayedFacts(std::string_view key, const Cell& before, const Cell& after);

/// The column of a stage's figure.
SectionColumn columnOf(const figures::StageFigure& figure);
SectionColumn columnOf(std::string_view stageFigure);

/// The text with "tile" or "device" where figures say "tile or device", because all devices are alike.
std::string forUnits(std::string text, bool tiles);

}  // namespace pipescope::sections
