#include "app/run/io/host_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

namespace pipescope::app {

std::int64_t hostMemory() {
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  std::int64_t bytes = pages > 0 && page > 0 ? pages * page : std::numeric_limits<std::int64_t>::max();
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min(bytes, static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, 1ULL << 62U)));
  return bytes;
}

base::Status checkHostMemory(const graph::Graph& graph, std::int64_t arenaBytes) {
  std::int64_t weights = 0;
  for (const graph::Tensor& tensor : graph.tensors()) {
    if (tensor.role != graph::TensorRole::parameter) continue;
    const bool trained = graph.parameterGradients.contains(tensor.id);
    weights += tensor.type.bytes().count * (trained ? 2 : 1);
  }
  const std::int64_t there = hostMemory();
  constexpr double kGiB = 1 << 30;
  const auto refuse = [&](const char* what, std::int64_t bytes) {
    return base::badInput(
        fmt::format("Computing this model takes {:.1f} GiB for {} alone, but this machine has {:.1f} GiB: "
                    "run it with --no-numerics "
                    "for time and memory on the devices, or with a smaller micro-batch or model.",
                    static_cast<double>(bytes) / kGiB, what, static_cast<double>(there) / kGiB));
  };
  if (weights > there) return refuse("weights and their gradients", weights);
  if (arenaBytes > there - weights) return refuse("one micro-batch's results", arenaBytes);
  return {};
}

}  // namespace pipescope::app
