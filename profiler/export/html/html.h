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

/// A page with the verdict, the pipeline of an iteration, the timeline, stages, memory, insights where a
/// section has them, operations and options of an executable. `title` is the name of the profile.
base::Result<std::string> htmlReport(const sections::Context& context, const std::string& title,
                                     base::Progress& progress);

/// The words with which the page begins, from the section "summary": does it fit, how fast is it, and what
/// holds it back. It is empty if the section states none of these.
std::string verdictOf(const sections::Section& summary);

/// A page that compares two executables: options that differ, the step, and the parts of its change.
base::Result<std::string> htmlComparison(const sections::Context& before, const sections::Context& after,
                                         const std::string& beforeTitle, const std::string& afterTitle);

}  // namespace pipescope::exporting
