#pragma once
#include <cstddef>
#include <string>

#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// A heading that is indented below another one stands with it: "Idle, of the device". Columns may be hidden
/// or sorted, so that "of the device" alone would say nothing.
std::string wholeHeading(const SectionTable& table, std::size_t column);

}  // namespace pipescope::sections
