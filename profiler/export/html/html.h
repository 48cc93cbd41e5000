#pragma once
// Reports as web pages: one file that needs no network, for people who do not have the profile.
#include <string>

#include "profiler/base/progress.h"
#include "profiler/base/result.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::exporting {

/// The most bytes of a page. Tables show their first rows and the timeline fewer details where they would
/// need more.
inline constexpr std::size_t kMostReportBytes = 5'000'000;

/// A page of an executable: first what one sees at a glance (the verdict, the pipeline of an iteration, bars
/// of stages and memory, findings), then the timeline, then tables. `title` is the name of the profile.
base::Result<std::string> htmlReport(const sections::Context& context, const std::string& title,
                                     base::Progress& progress);

/// A page that compares two executables: options that differ, the step, and the parts of its change.
base::Result<std::string> htmlComparison(const sections::Context& before, const sections::Context& after,
                                         const std::string& beforeTitle, const std::string& afterTitle);

}  // namespace pipescope::exporting
