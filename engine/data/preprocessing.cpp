#include "engine/data/preprocessing.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

namespace pipescope::data {

base::Result<std::array<float, 256>> preprocessingTable(const Preprocessing& preprocessing) {
  if (preprocessing.normalise && !std::isfinite(preprocessing.mean)) {
    return base::badInput(fmt::format("samples cannot be normalised with a mean of {}; give a finite number",
                                      preprocessing.mean));
  }
  if (preprocessing.normalise && !(std::isfinite(preprocessing.deviation) && preprocessing.deviation > 0)) {
    return base::badInput(fmt::format(
        "samples cannot be normalised with a standard deviation of {}; give a finite number above 0",
        preprocessing.deviation));
  }
  std::array<float, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    double value = static_cast<double>(byte);
    if (preprocessing.scale) value /= 255.0;
    if (preprocessing.normalise) value = (value - preprocessing.mean) / preprocessing.deviation;
    table[byte] = static_cast<float>(value);
  }
  return table;
}

std::vector<config::SettingRow> preprocessingSettings() {
  const Preprocessing usual;
  return {{.name = "mean",
           .fallback = usual.mean,
           .least = -1e9,
           .most = 1e9,
           .help = "Subtracted from samples that were scaled to 0…1."},
          {.name = "std",
           .fallback = usual.deviation,
           .least = 1e-9,
           .most = 1e9,
           .help = "Samples are divided by this after the mean is subtracted."}};
}

}  // namespace pipescope::data
