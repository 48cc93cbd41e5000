#pragma once
// Content of the page Summary. It is read from the profile on a worker.
#include <memory>
#include <vector>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/geometry/timeline/time_axis.h"
#include "profiler/sections/frame/reports.h"
#include "views/pages/parts/layout/facts.h"

namespace pipescope::pages {

struct SummaryData {
  sections::Section section;
  sections::Section options, bands;
  sections::Section kernels;  ///< of a recorded run whose stages are not known; otherwise empty
  sections::SectionTable figures;
  sections::SectionTable overflow, advice;  ///< tables without rows if the model fits
  analysis::Memory memory;
  QString memoryInterval;  ///< of the fullest tile or device; empty: nothing is modelled
  analysis::Execution execution;
  std::shared_ptr<const analysis::StagesReport> stages;
  sections::SectionTable engines;
  geometry::TimeScale scale;
  bool ran = false;
};

base::Result<SummaryData> collectSummaryPage(const sections::Context& context);

/// Describes the system that the profile was made for, and the profile itself.
std::vector<ShownFact> targetFacts(const analysis::Catalog& catalog);

}  // namespace pipescope::pages
