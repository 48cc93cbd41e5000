#pragma once
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// The remark of a section about memory if the profile has no memory data.
inline const char* noMemory(const Context& context) {
  return context.catalog.measured()
             ? "The trace does not say what is in memory. What it counts over time, such as allocated "
               "memory, "
               "is in the section kernels (page Recorded) and on the page Trace."
             : "This profile holds no memory, because the device model of its system has none.";
}

}  // namespace pipescope::sections
