#pragma once
#include <cstdint>

#include "engine/graph/tensor_type.h"
#include "engine/numerics/loss_scale.h"

namespace pipescope::numerics {

/// How the mean over micro-batches is formed: their sum divided at the end, or a running mean, which cannot
/// overflow a half accumulator: s ← f/(f+1)·s + g/(f+1) for f = 0, 1 …
enum class MeanStrategy : std::uint8_t { post, running };

/// Most replicas that one process computes.
inline constexpr std::int64_t kMostReplicas = 64;

struct SessionOptions {
  std::uint64_t seed = 42;
  bool meanGradient = true;  ///< the optimizer gets the mean over micro-batches; false: their sum
  /// Memory for gradients of micro-batches that are computed at the same time.
  std::int64_t gradientBytes = std::int64_t{256} << 20;
  /// Replicas of the model: micro-batch k of the rows is replica k mod R's.
  std::int64_t replicas = 1;
  /// Neighbouring replicas that get the same rows; divides the replicas.
  std::int64_t inputGroup = 1;
  /// Each replica has weights and optimizer state of its own, and updates them by its own sum; otherwise they
  /// share one, which is the same as long as the sums are.
  bool ownWeights = false;
  MeanStrategy meanStrategy = MeanStrategy::post;
  /// Type that sums of gradients are kept in: float32 or float16.
  graph::ElementType accumulator = graph::ElementType::float32;
  /// Results and weights in half precision are rounded up or down at random, without bias.
  bool stochasticRounding = false;
  /// Half weights have a float32 copy that the optimizer moves.
  bool masterWeights = false;
  /// Gradients whose norm over all parameters is larger are scaled down to it; 0: never.
  double clipNorm = 0;
  /// False: parameters of at most one axis (biases, norms) have no weight decay.
  bool decayVectors = true;
  LossScaleOptions lossScale;
};

}  // namespace pipescope::numerics
