#pragma once
// Mixture-of-experts layers. Sources: Shazeer et al. 2017 (arXiv 1701.06538); Switch (2101.03961) and
// Megatron-LM for the auxiliary loss; DeepSeek-V3 (2412.19437) for shared experts and sigmoid scores.
#include <functional>
#include <string>

#include "engine/builders/model_writer.h"

namespace pipescope::builders {

struct MixtureOfExperts {
  std::int64_t experts = 8, perToken = 2;
  std::int64_t width = 0, inner = 0;  ///< of the tokens and within an expert
  bool gated = false;
  std::string activation;
  bool sigmoid = false;    ///< scores are sigmoids instead of a softmax
  bool normalised = true;  ///< the weights of a token's experts add up to `scale`
  double scale = 1;        ///< factor of the weights
  /// Choices go by score + bias. No gradient trains the biases; balancing moves them (Wang et al. 2024, arXiv
  /// 2408.15664).
  bool biased = false;
  /// A token chooses experts of `groupChoices` of so many groups only: those whose two best scores have the
  /// largest sum. 1: of all experts.
  std::int64_t groups = 1, groupChoices = 1;
  double capacity = 0;       ///< most tokens of an expert ÷ the mean; 0: none is dropped
  double auxiliaryLoss = 0;  ///< coefficient of the loss that balances the experts; 0: there is none
  graph::Initializer initializer;
};

/// Result of a layer. `loss` is a scalar; not valid: there is none.
struct MixtureResult {
  TensorId y, loss;
};

/// Adds the layer "<path>/router" and "<path>/experts" for x (tokens × width).
MixtureResult addMixture(ModelWriter& writer, const MixtureOfExperts& spec, TensorId x);

}  // namespace pipescope::builders
