#pragma once
// Pictures of a report: the pipeline of one iteration, and bars of stages and memory.
#include <string>

#include "profiler/base/progress.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::exporting {

/// The passes of the first iteration of the last call as an SVG element, 1,100 pixels wide, with the axis and
/// the meaning of the colours. `sentence` says why there is none if it is empty.
std::string pipelinePicture(const sections::Context& context, base::Progress& progress,
                            std::string& sentence);

/// Shares of what devices with a stage do, as one bar of HTML; empty: the summary has none.
std::string shareBar(const sections::Section& summary);

/// The time of each stage per micro-batch by pass, with host copies and exchange, as HTML; empty: the section
/// has no stages.
std::string stageBars(const sections::Section& stages);

/// The work of each accelerator of a trace, from its first kernel to its last, as HTML; empty: the section
/// "kernels" has no devices.
std::string acceleratorBars(const sections::Section& kernels);

/// The bytes of each device that are always live, and the most that are live besides, beside the capacity if
/// that is not much larger; empty: the section has no devices.
std::string memoryBars(const sections::Section& memory);

}  // namespace pipescope::exporting
