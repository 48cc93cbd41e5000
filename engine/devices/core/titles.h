#pragma once
#include <string>

#include "engine/ops/core/functions.h"

namespace pipescope::devices {

/// The function's name as it begins the name of a step: "Scaled_add".
std::string titleOf(ops::MapFunction function);

}  // namespace pipescope::devices
