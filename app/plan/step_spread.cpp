#include "app/plan/step_spread.h"

#include <string_view>

#include "engine/devices/core/bands.h"
#include "profiler/analysis/model/error_bands.h"
#include "profiler/base/number_text.h"
#include "profiler/figures/error_interval.h"

namespace pipescope::app {

namespace {

/// An error that a calibration states.
std::optional<double> calibratedError(const devices::System& system, std::string_view name) {
  for (const auto& figure : system.figures()) {
    if (figure.name != name) continue;
    if (const auto error = base::numberOf(figure.value); error && *error > 0) return *error;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> memorySpread(const devices::System& system) {
  return calibratedError(system, "memory_error");
}

std::optional<double> stepSpread(const devices::System& system, bool training) {
  if (const auto error = calibratedError(system, "step_error")) return error;
  const auto bands = devices::embeddedBands();
  if (!bands.ok() || system.devices().empty()) return std::nullopt;
  for (const std::string_view kind : {training ? "training step" : "decoding step", "prefill"}) {
    for (const devices::Band& band : *bands) {
      if (band.kind != kind || band.device != system.devices().front().kind) continue;
      return figures::errorOf({band.device, band.kind, band.quantity, band.points, band.median, band.p90,
                               band.bias, band.against})
          .spread;
    }
    if (training) break;
  }
  return std::nullopt;
}

}  // namespace pipescope::app
