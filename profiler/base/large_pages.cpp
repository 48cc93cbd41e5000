#include "profiler/base/large_pages.h"

#ifdef __linux__
#include <sys/mman.h>

#include <cstdint>
#endif

namespace pipescope::base {

void preferLargePages(void* memory, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t kLarge = 2 << 20;  // size on x86 and most other processors
  constexpr std::size_t kLeast = 8 * kLarge;  // less than this gains nothing
  if (memory == nullptr || bytes < kLeast) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kLarge - 1) / kLarge * kLarge,
                       end = (begin + bytes) / kLarge * kLarge;
  // A system that refuses maps small pages, as without this call.
  if (first < end) static_cast<void>(madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE));
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

}  // namespace pipescope::base
