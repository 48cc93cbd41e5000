#include "engine/devices/core/least_time.h"

#include <variant>

namespace pipescope::devices {
namespace {

/// The type in which the work computes; float32 if it only moves data.
graph::ElementType typeOfWork(const ops::WorkItem& item) {
  return std::visit(
      [](const auto& work) {
        if constexpr (requires { work.type; }) {
          return work.type;
        } else {
          return graph::ElementType::float32;
        }
      },
      item);
}

}  // namespace

void addLeastTime(LoweredOperator& lowered, const std::vector<ops::Work>& work, const PeakOf& peakOf) {
  for (const ops::Work& each : work) {
    const auto* product = std::get_if<ops::Contraction>(&each.item);
    const graph::ElementType type = typeOfWork(each.item);
    double peak = peakOf(type, product ? product->accumulate : graph::ElementType::float32);
    if (peak <= 0) peak = peakOf(graph::ElementType::float32, graph::ElementType::float32);
    if (peak > 0) lowered.leastSeconds += flopsOf(each) / peak;
    lowered.product = lowered.product || product != nullptr;
  }
}

}  // namespace pipescope::devices
