#pragma once
#include "engine/ops/core/work.h"

namespace pipescope::devices::hbm_card {

/// The vector instructions that a function takes for each vector of float32.
struct MapInstructions {
  double instructions = 0;
  bool wide = false;  ///< computed in float32 for every type: a vector of 16-bit elements becomes two vectors
};

/// The vector instructions of functions that vector engines look up or approximate in float32. Each family of
/// cards states its own; all other functions are made of these and of simple instructions. `fastExp`
/// is for a vector of 16-bit elements.
struct SpecialFunctions {
  double reciprocal = 0, divide = 0, sqrt = 0, rsqrt = 0;
  double exp = 0, fastExp = 0, log = 0, pow = 0, remainder = 0;
  double tanh = 0, sigmoid = 0, erf = 0;
  double sin = 0, cos = 0, tan = 0, asin = 0, atan = 0;
  double cast = 0;  ///< between two types, for a vector of either
};

/// The instructions of a kernel for each vector. It inverts the divisor of a row once, and multiplies by it;
/// an exponential in the precision of float32 operands is the plain one. (D: simple instructions,
/// docs.habana.ai. X: functions that are made of others take the sum.)
MapInstructions instructionsOf(const ops::Map& work, const SpecialFunctions& special);

}  // namespace pipescope::devices::hbm_card
