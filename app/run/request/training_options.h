#pragma once
// Reads from [training] and [execution] how training computes.
#include "engine/config/configuration.h"
#include "engine/graph/graph.h"
#include "engine/numerics/session_options.h"
#include "engine/optimizers/learning_rate.h"

namespace pipescope::app {

/// The type of samples, weights and activations; with float8, of all but the factors of products.
graph::ElementType precisionOf(const config::Configuration& configuration);
/// Operators that compute in float32 in a model of another type. Refuses unknown operators, and models that
/// are float32 already.
base::Result<std::vector<std::string>> keptInFloat32(const config::Configuration& configuration);
/// True if the loss is multiplied by a scale.
bool scalesLoss(const config::Configuration& configuration);

/// Refuses settings that would have no effect or that exclude each other.
base::Result<numerics::SessionOptions> trainingOptions(const config::Configuration& configuration);
/// Options of numerics without training.
numerics::SessionOptions inferenceOptions(const config::Configuration& configuration);

/// The learning rate of each update of a run.
class LearningRates {
 public:
  /// The run has made `before` updates and will make `updates` more. An epoch has `perEpoch` updates.
  static base::Result<LearningRates> create(const config::Configuration& configuration, std::int64_t before,
                                            std::int64_t updates, std::int64_t perEpoch);
  double at(std::int64_t update) const { return schedule_.at(update / unit_); }

 private:
  optimizers::LearningRateSchedule schedule_;
  std::int64_t unit_ = 1;  ///< updates for which the rate stays the same
};

}  // namespace pipescope::app
