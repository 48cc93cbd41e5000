#pragma once
// Words of a report: the verdict, and the findings with what their changes would gain.
#include <string>

#include "profiler/sections/frame/section.h"

namespace pipescope::exporting {

/// The words with which the page begins, from the section "summary": does it fit, how fast is it, and what
/// holds it back. It is empty if the section states none of these.
std::string verdictOf(const sections::Section& summary);

/// The work of a trace's accelerators, from the section "kernels"; empty: the trace names no kernels.
std::string recordedVerdictOf(const sections::Section& kernels);

/// The findings of the section "insights" as HTML: what was found, what to do, and what that would gain.
std::string findingsHtml(const sections::Section& insights);

}  // namespace pipescope::exporting
