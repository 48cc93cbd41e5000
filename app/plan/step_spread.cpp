#include "app/plan/step_spread.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "engine/devices/core/bands.h"
#include "profiler/base/number_text.h"

namespace pipescope::app {

std::optional<double> stepSpread(const devices::System& system, bool training) {
  for (const auto& figure : system.figures()) {
    if (figure.name != "step_error") continue;
    if (const auto error = base::numberOf(figure.value); error && *error > 0) return *error;
  }
  const auto bands = devices::embeddedBands();
  if (!bands.ok() || system.devices().empty()) return std::nullopt;
  constexpr double kNinety = 1.6449;  // 90 % of a normal distribution lie within ± so many deviations
  for (const std::string_view kind : {training ? "training step" : "decoding step", "prefill"}) {
    for (const devices::Band& band : *bands) {
      if (band.kind == kind && band.device == system.devices().front().kind && band.p90)
        return *band.p90 / kNinety;
    }
    if (training) break;
  }
  return std::nullopt;
}

double shareOfDrawsAhead(double ratio, double spread) {
  if (!(spread > 0)) return ratio > 1 ? 1 : 0.5;
  return std::erfc(-std::log(ratio) / spread / std::sqrt(2.0)) / 2;
}

}  // namespace pipescope::app
