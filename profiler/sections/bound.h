#pragma once
#include <string>

#include "profiler/base/result.h"

namespace pipescope::sections {

struct Bound {
  double value = 0;
  bool usesBaseline = false;
};

/// Computes an expression of numbers, "baseline", "true" (1), "false" (0), + − * / and parentheses. The
/// error says what is wrong with the expression.
base::Result<Bound> evaluateBound(const std::string& expression, double baseline);

}  // namespace pipescope::sections
