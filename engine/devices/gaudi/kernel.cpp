#include "engine/devices/gaudi/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

namespace pipescope::devices::gaudi {

base::Result<EngineKernel> lowerWork(const ops::WorkItem& item, const GaudiLoweringContext& context) {
  return std::visit([&](const auto& work) { return lower(work, context); }, item);
}

EngineKernel tpcKernel(const Card& card, const std::string& name, std::int64_t elements, ElementType type,
                       double instructions) {
  EngineKernel kernel;
  kernel.engine = Engine::vector;
  kernel.name = name;
  const std::int64_t bytes = elements * graph::sizeOf(type);
  const std::int64_t vectors = (bytes + card.vectorBytes - 1) / card.vectorBytes;
  const std::int64_t each = (vectors + card.tpcs - 1) / card.tpcs;
  kernel.units = std::min(vectors, card.tpcs);
  // Unrolling keeps the pipeline full, so its latency counts only once.
  kernel.arithmetic = (static_cast<double>(each) * instructions + card.tpcLatency) / card.tpcSustainedHz;
  return kernel;
}

double accessSeconds(const Card& card, double bytes) {
  const double vectors = std::ceil(bytes / static_cast<double>(card.vectorBytes));
  return std::ceil(vectors / static_cast<double>(card.tpcs)) * card.accessInterval / card.tpcSustainedHz;
}

base::Status checkElements(const std::string& extent, const std::vector<std::int64_t>& factors,
                           const GaudiLoweringContext& context) {
  return hbm_card::checkElements(extent, factors, context.what);
}

base::Status checkComputes(ElementType type, const GaudiLoweringContext& context) {
  if (type == ElementType::float16 && context.card.macsFp16 == 0) {
    return base::badInput(
        fmt::format("{}: {} does not compute in float16; use --precision bfloat16 or float32.", context.what,
                    context.card.name));
  }
  if (graph::isFloat8(type) && context.card.macsFp8 == 0) {
    return base::badInput(fmt::format("{}: {} does not compute in {}; use --precision bfloat16 or float32.",
                                      context.what, context.card.name, toString(type)));
  }
  if (type != ElementType::float64) return {};
  return base::badInput(fmt::format("{}: Gaudis do not compute in {}; use --precision bfloat16 or float32.",
                                    context.what, toString(type)));
}

}  // namespace pipescope::devices::gaudi
