#include "profiler/base/byte_text.h"

#include <cmath>
#include <cstdlib>
#include <iterator>

#include "profiler/base/number_text.h"

namespace pipescope::base {

std::string byteText(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  constexpr double kStep = 1024, kRounded = 1023.95;  // a value that rounds to 1024.0 has the next unit
  constexpr std::int64_t kSmall = 103;                // 0.1 KiB
  if (std::abs(bytes) < kSmall) return std::to_string(bytes) + " B";
  double amount = static_cast<double>(bytes) / kStep;
  std::size_t unit = 0;
  for (; unit + 1 < std::size(kUnits) && std::fabs(amount) >= kRounded; ++unit) amount /= kStep;
  return fixedText(amount, 1) + " " + kUnits[unit];
}

}  // namespace pipescope::base
