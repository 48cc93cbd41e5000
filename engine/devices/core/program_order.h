#pragma once
// The order of passes in the program of one device, which may hold several stages.
#include <vector>

#include "engine/compile/ir.h"

namespace pipescope::devices {

struct OrderedPass {
  const compile::StageIr* stage = nullptr;
  const compile::PassIr* pass = nullptr;
};

/// The order is: host in; forward; then for each stage from the last one backward and weight gradients;
/// then collectives, update, any other pass, and host out.
std::vector<OrderedPass> programOrder(const std::vector<const compile::StageIr*>& stages);

}  // namespace pipescope::devices
