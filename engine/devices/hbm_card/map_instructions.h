#pragma once
#include "engine/ops/core/functions.h"

namespace pipescope::devices::hbm_card {

/// The vector instructions of an elementwise function for each vector of float32.
struct MapInstructions {
  double instructions = 0;
  bool wide = false;  ///< computed in float32 for every type: a vector of 16-bit elements becomes two vectors
};

/// (D: simple instructions, docs.habana.ai. R: special functions, which vector engines look up and
/// interpolate in float32. X: functions made of others take the sum.)
MapInstructions instructionsOf(ops::MapFunction function);

}  // namespace pipescope::devices::hbm_card
