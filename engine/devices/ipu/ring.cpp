#include "engine/devices/ipu/ring.h"

#include <algorithm>

namespace pipescope::devices::ipu {

std::vector<int> ringOrder(std::vector<int> devices) {
  std::sort(devices.begin(), devices.end(), [](int a, int b) {
    if (a % 2 != b % 2) return a % 2 == 0;
    return a % 2 == 0 ? a < b : a > b;
  });
  return devices;
}

double collectiveSeconds(const Ladder& ladder, ops::Collective::Kind kind, std::int64_t bytes,
                         const std::vector<std::vector<int>>& groups) {
  std::vector<Flow> flows;
  std::size_t largest = 1;
  bool far = false;
  for (const std::vector<int>& group : groups) {
    largest = std::max(largest, group.size());
    const std::vector<int> ring = ringOrder(group);
    const auto count = static_cast<std::int64_t>(ring.size());
    for (std::size_t i = 0; i < ring.size() && count > 1; ++i) {
      const int to = ring[(i + 1) % ring.size()];
      flows.push_back({ring[i], to, Bytes((bytes + count - 1) / count)});
      far = far || !ladder.oneDomain(ring[i], to);
    }
  }
  if (flows.empty()) return 0;
  double transfer = 0;
  for (const double seconds : ladder.transferSeconds(flows)) transfer = std::max(transfer, seconds);
  const auto n = static_cast<double>(largest);
  if (far)
    transfer = std::max(transfer, static_cast<double>(bytes) / n / ladder.farCollectiveBytesPerSecond());
  const double steps = (kind == ops::Collective::Kind::allReduce ? 2 : 1) * (n - 1);
  return steps * (ladder.collectiveStartup() + transfer);
}

}  // namespace pipescope::devices::ipu
