#pragma once
#include <cstddef>

namespace pipescope::base {

/// Asks the system to map memory that is about to be filled in large pages. Millions of rows otherwise cost
/// as much time for their pages as for their values. Does nothing for small memory, or if the system has no
/// such pages.
void preferLargePages(void* memory, std::size_t bytes);

}  // namespace pipescope::base
