#include "app/run/call_metrics.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/numerics/values.h"

namespace pipescope::app {

using emulate::OutputRule;
using numerics::Keep;

Keep CallMetrics::keep(std::int64_t iteration) const {
  switch (facts_.output.mode) {
    case OutputRule::Mode::all:
    case OutputRule::Mode::everyN:
      return Keep::all;
    case OutputRule::Mode::final:
      return iteration + 1 == facts_.iterations ? Keep::last : Keep::none;
    case OutputRule::Mode::sum:
      return Keep::none;
  }
  return Keep::all;
}

void CallMetrics::add(std::int64_t iteration, const numerics::Results& results,
                      std::span<const std::int32_t> labels) {
  const std::int64_t microBatches = facts_.microBatches;
  const auto count = static_cast<std::size_t>(scores_.labels),
             elements = count * static_cast<std::size_t>(scores_.classes);
  const Keep kept = keep(iteration);
  for (std::int64_t k = 0; k < microBatches; ++k) {
    const bool returned = isSum() || facts_.output.returns(iteration, k, facts_.iterations, microBatches);
    if (!returned) continue;
    if (!results.losses.empty()) {
      lossSum_ += static_cast<double>(results.losses[static_cast<std::size_t>(k)]);
      ++losses_;
    }
    rows_ += facts_.microBatchSize;
    if (kept == Keep::none || results.outputs.empty() || scores_.classes < 2) continue;
    const std::size_t place = kept == Keep::last ? 0 : static_cast<std::size_t>(k);
    std::span<const float> scores;
    if (scores_.element == graph::ElementType::float32) {
      scores = results.output<float>(0).subspan(place * elements, elements);
    } else {
      wide_.resize(elements);
      numerics::readFloats(scores_.element, results.outputs[0], place * elements, wide_);
      scores = wide_;
    }
    compare(scores, labels.subspan(static_cast<std::size_t>(k) * count, count));
  }
}

void CallMetrics::compare(std::span<const float> scores, std::span<const std::int32_t> labels) {
  const auto classes = static_cast<std::size_t>(scores_.classes), inner = static_cast<std::size_t>(scores_.inner);
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float* first = scores.data() + i / inner * classes * inner + i % inner;
    std::size_t best = 0;
    for (std::size_t c = 1; c < classes; ++c) {
      if (first[best * inner] < first[c * inner]) best = c;
    }
    correct_ += static_cast<std::int64_t>(best) == labels[i] ? 1 : 0;
    if (!crossEntropy_ || static_cast<std::size_t>(labels[i]) >= classes) continue;
    double exponentials = 0;
    for (std::size_t c = 0; c < classes; ++c)
      exponentials += std::exp(static_cast<double>(first[c * inner]) - static_cast<double>(first[best * inner]));
    sum += std::log(exponentials) + static_cast<double>(first[best * inner]) -
           static_cast<double>(first[static_cast<std::size_t>(labels[i]) * inner]);
  }
  predictions_ += static_cast<std::int64_t>(labels.size());
  if (!crossEntropy_ || labels.empty()) return;
  lossSum_ += sum / static_cast<double>(labels.size());
  ++losses_;
}

std::optional<double> CallMetrics::loss() const {
  if (losses_ == 0) return std::nullopt;
  return isSum() ? lossSum_ : lossSum_ / static_cast<double>(losses_);
}

std::optional<double> CallMetrics::accuracy() const {
  if (predictions_ == 0 || isSum()) return std::nullopt;
  return static_cast<double>(correct_) / static_cast<double>(predictions_);
}

std::string CallMetrics::basis() const {
  const std::int64_t all = facts_.microBatchSize * facts_.microBatches * facts_.iterations;
  switch (facts_.output.mode) {
    case OutputRule::Mode::all:
      return fmt::format("all {} rows of the call (output mode all)", all);
    case OutputRule::Mode::everyN:
      return fmt::format("{} of the call's {} rows (output mode every_n, period {})", rows_, all,
                         facts_.output.period);
    case OutputRule::Mode::final:
      return fmt::format("the last micro-batch's {} of the call's {} rows (output mode final)", rows_, all);
    case OutputRule::Mode::sum:
      return fmt::format("sum over the call's {} micro-batches (output mode sum)",
                         facts_.microBatches * facts_.iterations);
  }
  return {};
}

}  // namespace pipescope::app
