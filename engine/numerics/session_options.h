#pragma once
#include <cstdint>

#include "engine/graph/tensor_type.h"
#include "engine/numerics/instances.h"
#include "engine/numerics/loss_scale.h"
#include "engine/optimizers/optimizer_group.h"

namespace pipescope::numerics {

/// Formation of the mean over micro-batches. `post` divides the sum at the end. `running` keeps a running
/// mean, which cannot overflow a half-precision accumulator: s ← f/(f+1)·s + g/(f+1) for f = 0, 1 …
enum class MeanStrategy : std::uint8_t { post, running };

/// Most replicas that one process computes.
inline constexpr std::int64_t kMostReplicas = 64;

struct SessionOptions {
  std::uint64_t seed = 42;
  bool meanGradient = true;  ///< hand the mean over micro-batches to the optimizer; false: their sum
  /// Memory for the gradients of micro-batches that run in parallel.
  std::int64_t gradientBytes = std::int64_t{256} << 20;
  /// Number of replicas R of this process. Micro-batch k of the rows belongs to replica k mod R.
  std::int64_t replicas = 1;
  /// Several processes train together: this one has the replicas from R · index on. Null: there is one
  /// process.
  std::shared_ptr<const Instances> instances;
  /// Number of neighbouring replicas that get the same rows. It divides the number of replicas.
  std::int64_t inputGroup = 1;
  /// Each replica has its own weights and optimizer state and updates them by its own sum. Otherwise replicas
  /// share their weights, which gives the same result as long as their sums are equal.
  bool ownWeights = false;
  MeanStrategy meanStrategy = MeanStrategy::post;
  /// Type of the sums of gradients: float32 or float16.
  graph::ElementType accumulator = graph::ElementType::float32;
  /// Round half-precision results and weights up or down at random, without bias.
  bool stochasticRounding = false;
  /// Keep a float32 copy of half-precision weights, which the optimizer updates.
  bool masterWeights = false;
  /// Gradients are scaled down if their norm over all parameters exceeds this value. 0: never.
  double clipNorm = 0;
  /// False if parameters with at most one axis (biases, norms) have no weight decay.
  bool decayVectors = true;
  LossScaleOptions lossScale;
  /// End with an error if an operator or an update makes an infinite number or a NaN from finite ones.
  bool checksFinite = false;
  /// Parameters with settings of their own; all others take those of the session's optimizer.
  optimizers::OptimizerGroups groups;

  std::int64_t instanceCount() const { return instances ? instances->count() : 1; }
};

}  // namespace pipescope::numerics
