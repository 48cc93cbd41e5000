#include "profiler/base/byte_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace pipescope::base {

std::string byteText(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  constexpr double kStep = 1024, kRounded = 1023.95;  // what rounds to 1024.0 is shown in the next unit
  constexpr std::int64_t kSmall = 103;                // 0.1 KiB
  if (std::abs(bytes) < kSmall) return std::to_string(bytes) + " B";
  double amount = static_cast<double>(bytes) / kStep;
  std::size_t unit = 0;
  for (; unit + 1 < std::size(kUnits) && std::fabs(amount) >= kRounded; ++unit) amount /= kStep;
  char text[64];
  std::snprintf(text, sizeof text, "%.1f %s", amount, kUnits[unit]);
  return text;
}

}  // namespace pipescope::base
