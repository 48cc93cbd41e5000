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
/// The ends of the interval of the step time and what it is taken from. Text shows them where they have a
/// value.
std::vector<Fact> stepIntervalFacts(const figures::Analyses& from);
/// The same facts of a recorded call and of its replay with changes: "before_KEY" and "after_KEY".
std::vector<Fact> replayedFacts(std::string_view key, const Cell& before, const Cell& after);

/// The column of a stage's figure.
SectionColumn columnOf(const figures::StageFigure& figure);
SectionColumn columnOf(std::string_view stageFigure);

/// The text with "tile" or "device" where figures say "tile or device", because all devices are alike.
std::string forUnits(std::string text, bool tiles);

}  // namespace pipescope::sections
