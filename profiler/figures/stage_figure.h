#pragma once
// The figures of one stage, each said once, as figure.h does for those of a whole executable.
#include <string_view>
#include <vector>

#include "profiler/analysis/pipeline/stages.h"
#include "profiler/figures/value.h"

namespace pipescope::figures {

struct StageFigure {
  const char* key;    ///< JSON key, snake_case with the unit
  const char* label;  ///< heading of its column
  Format format;
  const char* doc;  ///< denominator
  Cell (*value)(const analysis::StageReport& stage);
};

/// Times of passes, copies and transfers, in the order of the tables.
const std::vector<StageFigure>& stageTimes();
/// Memory of the stage's device.
const std::vector<StageFigure>& stageMemory();
/// One of these; the caller knows that it exists.
const StageFigure& stageFigure(std::string_view key);

/// True if a stage computes forward passes again.
bool hasRecompute(const analysis::StagesReport& report);
/// The label of the sum of a stage's passes: "F+R+B", or "F+B" where nothing is computed again.
const char* busyLabel(bool recomputes);

}  // namespace pipescope::figures
