#pragma once
// How training computes, from training.* and execution.*.
#include "engine/config/configuration.h"
#include "engine/graph/graph.h"
#include "engine/numerics/session_options.h"
#include "engine/optimizers/learning_rate.h"

namespace pipescope::app {

/// The type of samples, weights and activations.
graph::ElementType precisionOf(const config::Configuration& configuration);
/// Operators that stay in float32 where the model does not; refused where there is no such operator, or the
/// model is float32.
base::Result<std::vector<std::string>> keptInFloat32(const config::Configuration& configuration);
/// True where the loss is multiplied by a scale.
bool scalesLoss(const config::Configuration& configuration);

/// Refuses settings that do nothing or exclude each other.
base::Result<numerics::SessionOptions> trainingOptions(const config::Configuration& configuration);
numerics::SessionOptions inferenceOptions(const config::Configuration& configuration);

/// The rate by update, over all updates of the run.
class LearningRates {
 public:
  /// `before` updates are done already, `updates` follow, `perEpoch` of them in an epoch.
  static base::Result<LearningRates> create(const config::Configuration& configuration, std::int64_t before,
                                            std::int64_t updates, std::int64_t perEpoch);
  double at(std::int64_t update) const { return schedule_.at(update / unit_); }

 private:
  optimizers::LearningRateSchedule schedule_;
  std::int64_t unit_ = 1;  ///< updates of one unit
};

}  // namespace pipescope::app
