#pragma once
// Words and tables about stages that the sections and the pages share.
#include <string>
#include <vector>

#include "profiler/analysis/pipeline/stages.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {

/// "1–3, 5 and 7–9": three or more consecutive numbers become a range.
std::string numberRanges(const std::vector<int>& numbers);

/// "stage 1", "stages 0 and 2", or "all stages" if there are no others; empty for none.
std::string stageNames(const std::vector<int>& stages, std::size_t all);

/// Names the stage that holds the others up: "stage 2". Stages whose times are equal (kEqualStages) are named
/// together: "stages 0 and 3", "stages 1–11", or "all stages". Empty if nothing has run.
std::string limitingStages(const analysis::StagesReport& report);

/// Names the stages of a recorded run that are missing in its trace, and the figures that cannot be given
/// without them. Empty if no stage is missing.
std::string missingStagesText(const analysis::StagesReport& report);

/// Says which stage of another replica is slower than that of the first one.
std::string slowReplicaText(const analysis::SlowReplica& slow);

/// Sentences: which stages are equal, or why the limiting stage is not the one that computes longest. `time`
/// is the unit of the ticks in them.
std::vector<std::string> limitingRemarks(const analysis::StagesReport& report, const ShownTime& time);

/// Returns a table of what makes a stage slow: its operations, host copies and exchange.
SectionTable stageOperationTable(const analysis::StagesReport& report, int stage, const Words& words);

}  // namespace pipescope::sections
