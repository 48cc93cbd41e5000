#include "engine/devices/core/least_time.h"

#include <functional>
#include <numeric>
#include <variant>

namespace pipescope::devices {
namespace {

/// True for whole numbers and truth values.
bool isWhole(graph::ElementType type) {
  return type >= graph::ElementType::int8 && type <= graph::ElementType::boolean;
}

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

/// Number of products that each result of the phase sums.
std::int64_t termsOf(const ops::Contraction& c) {
  const auto volume = [](const std::vector<std::int64_t>& extents) {
    return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
  };
  switch (c.phase) {
    case ops::Contraction::Phase::forward:
      return c.inputChannels * volume(c.kernel);
    case ops::Contraction::Phase::inputGradient:
      return c.outputChannels * volume(c.kernel);
    case ops::Contraction::Phase::weightGradient:
      return c.batch * volume(c.output);
  }
  return 0;
}

}  // namespace

void addLeastTime(LoweredOperator& lowered, const std::vector<ops::Work>& work, const PeakOf& peakOf) {
  for (const ops::Work& each : work) {
    const auto* product = std::get_if<ops::Contraction>(&each.item);
    graph::ElementType type = typeOfWork(each.item);
    // Products of whole numbers may be much faster, but comparisons and masks, which are no products, are
    // not.
    if (product == nullptr && isWhole(type)) type = graph::ElementType::float32;
    double peak = product ? peakOf(type, product->accumulate, termsOf(*product))
                          : peakOf(type, graph::ElementType::float32, 0);
    if (peak <= 0) peak = peakOf(graph::ElementType::float32, graph::ElementType::float32, 0);
    if (peak > 0) lowered.leastSeconds += flopsOf(each) / peak;
    lowered.product = lowered.product || product != nullptr;
    if (const auto* collective = std::get_if<ops::Collective>(&each.item)) {
      const std::int64_t elements = collective->elements * each.repeat;
      if (lowered.collective) {
        lowered.collective->elements += elements;
      } else {
        lowered.collective = *collective;
        lowered.collective->elements = elements;
      }
    }
  }
}

}  // namespace pipescope::devices
