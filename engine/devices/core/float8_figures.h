#pragma once
// The figures that say how a chip defines its float8 types.
#include "engine/devices/core/figures.h"

namespace pipescope::devices {

/// Figures that define the float8 numbers of one chip: the bias of the exponent and the largest number of
/// both types.
struct Float8Figures {
  double bias143 = 0, largest143 = 0, bias152 = 0, largest152 = 0;
};

/// Reads float8_143_bias, float8_143_largest, float8_152_bias and float8_152_largest. A missing one is 0.
Float8Figures readFloat8(FigureReader& read);

/// The types that a chip with these figures has; `rest` gives the 16-bit type and the sums. Fails with a
/// sentence if no known type has the figures.
base::Result<Float8Support> float8Support(const FigureFile& file, const Float8Figures& figures,
                                          Float8Support rest);

}  // namespace pipescope::devices
