#pragma once
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// The table of memory spaces that the section "system" has, without its tables of devices and links, which
/// are long for a large system.
base::Result<SectionTable> memorySpaces(const Context& context);

}  // namespace pipescope::sections
