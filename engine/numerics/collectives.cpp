#include "engine/numerics/collectives.h"

#include <algorithm>

#include "profiler/base/check.h"

namespace pipescope::numerics {

void InProcessCollectives::allReduceSum(std::span<const std::span<float>> parts) const {
  if (parts.empty()) return;
  const std::span<float> sum = parts.front();
  for (const std::span<float> part : parts.subspan(1)) {
    PIPESCOPE_CHECK(part.size() == sum.size(), "replicas with tensors of different sizes");
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  for (const std::span<float> part : parts.subspan(1)) std::ranges::copy(sum, part.begin());
}

}  // namespace pipescope::numerics
