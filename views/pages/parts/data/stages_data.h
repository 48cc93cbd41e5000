#pragma once
// Content of the page Stages. It is read from the profile on a worker.
#include <QString>
#include <vector>

#include "profiler/analysis/pipeline/stages.h"
#include "profiler/geometry/timeline/time_axis.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/words.h"
#include "views/shell/profile_session.h"

namespace pipescope::pages {

struct StagesData {
  analysis::StagesReport report;
  sections::Section section;
  sections::Words words;
  bool measured = false;                 ///< times are those of an imported trace
  std::vector<std::int64_t> capacities;  ///< capacity of each stage's device in bytes; 0: unknown
  bool remote = false;                   ///< remote buffers take some of the time
  geometry::TimeScale scale;
  /// The stages beside those of the profile that the window compares with; empty without one.
  std::vector<sections::SectionTable> compared;
  double comparedPerUnit = 1;
  QString source;  ///< title of that profile
};

base::Result<StagesData> collectStagesPage(const sections::Context& context);

/// Adds passes, waits and memory of each stage in both profiles.
base::Status addCompared(const shell::ProfileSnapshot& source, const sections::Context& own,
                         StagesData& data);

}  // namespace pipescope::pages
