#include "engine/numerics/aligned_buffer.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <new>

namespace pipescope::numerics {
namespace {

/// Buffers of several large pages start at a large page. Kernels visit rows that are far apart, and with
/// small pages they would spend much of their time on address translation.
constexpr std::size_t kLargePage = std::size_t{2} << 20, kLeastLarge = 2 * kLargePage;

}  // namespace

AlignedBuffer::AlignedBuffer(std::int64_t bytes) : size_(static_cast<std::size_t>(bytes)) {
  const std::size_t alignment = size_ >= kLeastLarge ? kLargePage : static_cast<std::size_t>(kAlignment);
  const std::size_t whole = std::max<std::size_t>(1, (size_ + alignment - 1) / alignment) * alignment;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, whole)));
  if (!memory_) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // This is only a hint. If the system ignores it, nothing changes.
  if (alignment == kLargePage) static_cast<void>(madvise(memory_.get(), whole, MADV_HUGEPAGE));
#endif
  std::fill_n(memory_.get(), size_, std::byte{0});
}

}  // namespace pipescope::numerics
