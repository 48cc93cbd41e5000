#include "engine/compile/plan.h"

#include <algorithm>

namespace pipescope::compile {

std::string toString(TensorUse use) {
  static constexpr const char* names[] = {"weight", "constant", "accumulator", "optimizer_state",
                                          "stash",  "input",    "activation",  "gradient"};
  return names[static_cast<std::size_t>(use)];
}

std::vector<int> Replication::group(int device, std::int64_t count) const {
  const int size = count > 0 ? static_cast<int>(count) : replicas;
  const int own = device / devicesPerReplica, first = own / size * size;
  std::vector<int> devices;
  const int place = device % devicesPerReplica;
  for (int replica = first; replica < first + size; ++replica) {
    devices.push_back(replica * devicesPerReplica + place);
    if (mirrored && count == 0) devices.push_back((replica + 1) * devicesPerReplica - 1 - place);
  }
  std::sort(devices.begin(), devices.end());
  return devices;
}

}  // namespace pipescope::compile
