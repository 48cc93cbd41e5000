#pragma once
// Bytes that tokens take to their experts if each of them goes once to each box with an expert that it chose,
// and there from the card that receives it to each card with such an expert, as DeepEP and HybridEP send
// them. Sources: deepseek-ai/DeepEP; DeepSeek-V3 (arXiv 2412.19437), section 3.2.2.
#include <cstdint>

#include "engine/ops/core/work.h"

namespace pipescope::devices::card {

/// Probability that a token chose an expert of one of `parts` equal parts of the experts, which lie one after
/// another. Tokens choose perToken different experts, each as likely as any other, out of the groups that
/// they chose just so. Groups that overlap parts only in parts (neither number divides the other) count as
/// none.
double chanceOfPart(const ops::ExpertChoices& choices, std::int64_t parts);

/// Bytes that each card sends. `tokenBytes`: bytes of the tokens of a card, each of them once. The cards are
/// `boxes` · `perBox`, each of which has an equal part of the experts.
struct ExpertTraffic {
  double outside = 0;  ///< to other boxes: tokens · (expected boxes beside its own)
  double inside =
      0;  ///< to other cards of its box: its own tokens, and those that it received from other boxes
};
ExpertTraffic expertTraffic(double tokenBytes, const ops::ExpertChoices& choices, std::int64_t boxes,
                            std::int64_t perBox);

}  // namespace pipescope::devices::card
