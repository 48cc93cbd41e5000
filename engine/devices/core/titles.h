#pragma once
#include <string>

#include "engine/ops/core/functions.h"

namespace pipescope::devices {

/// The function as a step's name starts with it: "Scaled_add".
std::string titleOf(ops::MapFunction function);

}  // namespace pipescope::devices
