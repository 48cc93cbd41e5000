#include "engine/devices/hbm_card/engine_kernel.h"

#include <fmt/format.h>

namespace pipescope::devices::hbm_card {

model::LaneRole laneOf(Engine engine) {
  switch (engine) {
    case Engine::matrix:
      return model::LaneRole::matrix;
    case Engine::vector:
      return model::LaneRole::vector;
    case Engine::copy:
      return model::LaneRole::copy;
    case Engine::network:
      return model::LaneRole::network;
    default:
      return model::LaneRole::host;
  }
}

model::StepKind kindOf(Engine engine) {
  switch (engine) {
    case Engine::copy:
      return model::StepKind::exchange;
    case Engine::network:
      return model::StepKind::globalExchange;
    case Engine::host:
      return model::StepKind::streamCopy;
    default:
      return model::StepKind::compute;
  }
}

base::Status checkElements(const std::string& extent, const std::vector<std::int64_t>& factors,
                           const std::string& what) {
  constexpr double kMost = 1LL << 48;
  double product = 1;
  for (const std::int64_t factor : factors) {
    if (factor < 1)
      return base::badInput(fmt::format("{}: the {} is {}, but must be at least 1.", what, extent, factor));
    product *= static_cast<double>(factor);
  }
  if (product <= kMost) return {};
  return base::badInput(
      fmt::format("{}: the {} is {:.3g}, but must be at most {:.3g}.", what, extent, product, kMost));
}

}  // namespace pipescope::devices::hbm_card
