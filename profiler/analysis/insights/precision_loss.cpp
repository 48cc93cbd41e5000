// Numbers leave the range of their type.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findPrecisionLoss(const InsightInput& input, const InsightRule& rule) {
  Insight found;
  found.page = "summary";
  const bool isHalf = input.option("execution.precision") == "float16";
  if (input.loss && !input.loss->finite) {
    found.severe = true;
    found.what = "The loss is no finite number from some step on, so the training is worthless.";
    found.advice = isHalf ? "Let the loss scale adapt itself, or use a type with a larger range."
                          : "Use a smaller learning rate, or clip the gradients.";
    if (isHalf && input.option("training.automatic_loss_scaling") == "false")
      found.alternatives = {{{"training.automatic_loss_scaling", "true"}}};
    return {found};
  }
  if (!input.lossScale || input.lossScale->first <= 0) return {};
  found.figure = input.lossScale->last / input.lossScale->first;
  if (!rule.exceeds(found.figure)) return {};
  found.what = fmt::format("The loss scale fell from {:g} to {:g}: gradients overflow in 16 bits.",
                           input.lossScale->first, input.lossScale->last);
  found.advice = "Begin with the smaller scale, clip the gradients, or use a type with a larger range.";
  found.alternatives = {{{"training.loss_scaling", fmt::format("{:g}", input.lossScale->last)}}};
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(precision_loss) {
  registry.add({"precision_loss", "last ÷ first loss scale; 0 where the loss is not finite", 0.25, true,
                findPrecisionLoss});
}

}  // namespace pipescope::analysis
