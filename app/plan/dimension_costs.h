#pragma once
// Costs of one rank of a model as a whole, from which times and memory of all divisions into stages and
// replicas are bounded and estimated.
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/compiler/lowered_stages.h"
#include "engine/config/configuration.h"
#include "engine/plan/block_split.h"
#include "engine/plan/closed_forms.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// A figure of the whole model, of which each of the repeated layers has the same part.
struct LayeredFigure {
  double all = 0, layer = 0;
};

/// Times are ticks of a micro-batch, bytes those of the mean unit (tile, card) of a rank.
struct RankCosts {
  plan::BlockCosts blocks;
  /// Ticks of its products at the peak of the device, forward, and forward and backward together. No rank is
  /// quicker.
  double leastForward = 0, leastWork = 0;
  double leastForwardOfBlock = 0;  ///< the largest part of leastForward that one block has
  std::int64_t layers = 1;         ///< number of repeated layers
  LayeredFigure weights, optimizer, accumulators;
  LayeredFigure used;    ///< bytes of the fullest unit, with the activations of one micro-batch
  LayeredFigure update;  ///< ticks of the weight update
  double boundary = 0;   ///< bytes that a stage gets from the one before it
  double room = 0;       ///< bytes of a unit
  double units = 1;      ///< units of a rank's memory
  std::shared_ptr<const devices::System> system;

  plan::HeldBytes held() const { return {weights.all, optimizer.all, accumulators.all}; }
};

/// Compiles a rank of the configuration's model without stages and replicas. A builder's model of many equal
/// layers is compiled with three and with four of them; each further layer costs what the fourth one does.
/// `blocks` are the names of the blocks of the whole model. Errors: those of the compiler, such as ranks that
/// cannot share the model.
base::Result<RankCosts> rankCosts(const config::Configuration& configuration,
                                  const std::vector<std::string>& blocks, compile::LoweredStages& known);

}  // namespace pipescope::app
