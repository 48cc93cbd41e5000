#pragma once
#include <string>
#include <string_view>

#include "profiler/base/result.h"

namespace pipescope::sections {

struct Bound {
  double value = 0;
  bool usesBaseline = false;
};

/// Computes an expression of numbers, "baseline", "true" (1), "false" (0), + − * / and parentheses. A number
/// may end in % (1.2 and 120 % are equal) or in a unit of time or bytes (ns us ms s, kB MB GB TB, KiB MiB GiB
/// TiB), which is then turned into that of `key`, such as time_us or memory_bytes, or into ticks of
/// `ticksPerSecond`, such as for step_cycles. Without a number of ticks (0), times are cost units, which have
/// no unit. An empty key takes any unit. The error says what is wrong with the expression.
///
/// A percentage that is added to the baseline is that part of it: "baseline + 5 %" is 1.05 * baseline. If the
/// figure is a share itself, it is a difference of shares: 30 % + 5 % are 35 %.
base::Result<Bound> evaluateBound(const std::string& expression, double baseline, std::string_view key,
                                  double ticksPerSecond = 1, bool isShare = false);

}  // namespace pipescope::sections
