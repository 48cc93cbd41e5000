#pragma once
// Copies between a host and a card.
#include <string>

#include "engine/devices/hbm_card/card_model.h"
#include "engine/devices/hbm_card/engine_kernel.h"
#include "engine/ops/core/work.h"

namespace pipescope::devices::hbm_card {

/// Lowers a copy, which takes the latency and the bandwidth between host and card. `what` names the operator.
/// Refused: copies to or from streaming memory, which cards do not have.
base::Result<EngineKernel> lowerHostCopy(const ops::HostCopy& work, const CardFigures& card,
                                         const std::string& what);

}  // namespace pipescope::devices::hbm_card
