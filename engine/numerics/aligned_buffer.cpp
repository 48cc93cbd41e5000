#include "engine/numerics/aligned_buffer.h"

#include <algorithm>

namespace pipescope::numerics {

AlignedBuffer::AlignedBuffer(std::int64_t bytes) : size_(static_cast<std::size_t>(bytes)) {
  memory_.reset(static_cast<std::byte*>(::operator new[](size_, std::align_val_t{kAlignment})));
  std::fill_n(memory_.get(), size_, std::byte{0});
}

}  // namespace pipescope::numerics
