#pragma once
// How training computes, as [training] and [execution] ask for it.
#include "engine/config/configuration.h"
#include "engine/graph/graph.h"
#include "engine/numerics/session_options.h"
#include "engine/optimizers/learning_rate.h"

namespace pipescope::app {

/// The type of samples, weights and activations.
graph::ElementType precisionOf(const config::Configuration& configuration);
/// Operators that stay in float32 although the model does not. Refused: unknown operators, and a model that
/// is float32.
base::Result<std::vector<std::string>> keptInFloat32(const config::Configuration& configuration);
/// True if the loss is multiplied by a scale.
bool scalesLoss(const config::Configuration& configuration);

/// Refuses settings that would have no effect or that exclude each other.
base::Result<numerics::SessionOptions> trainingOptions(const config::Configuration& configuration);
numerics::SessionOptions inferenceOptions(const config::Configuration& configuration);

/// The learning rate of each update of a run.
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
