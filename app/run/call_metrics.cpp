#include "app/run/call_metrics.h"

#include <fmt/format.h>

#include <algorithm>

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
  const auto size = static_cast<std::size_t>(facts_.microBatchSize);
  const Keep kept = keep(iteration);
  const auto rowLength = static_cast<std::size_t>(classes_);
  for (std::int64_t k = 0; k < microBatches; ++k) {
    const bool returned = isSum() || facts_.output.returns(iteration, k, facts_.iterations, microBatches);
    if (!returned) continue;
    if (!results.losses.empty()) {
      lossSum_ += static_cast<double>(results.losses[static_cast<std::size_t>(k)]);
      ++losses_;
    }
    rows_ += facts_.microBatchSize;
    if (kept == Keep::none || results.outputs.empty()) continue;
    const std::size_t place = kept == Keep::last ? 0 : static_cast<std::size_t>(k);
    addAccuracy(results.output<float>(0).subspan(place * size * rowLength, size * rowLength),
                labels.subspan(static_cast<std::size_t>(k) * size, size));
  }
}

void CallMetrics::addAccuracy(std::span<const float> predictions, std::span<const std::int32_t> labels) {
  const auto classes = static_cast<std::size_t>(classes_);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto values = predictions.subspan(row * classes, classes);
    const auto best = std::max_element(values.begin(), values.end()) - values.begin();
    correct_ += best == labels[row] ? 1 : 0;
  }
}

std::optional<double> CallMetrics::loss() const {
  if (losses_ == 0) return std::nullopt;
  return isSum() ? lossSum_ : lossSum_ / static_cast<double>(losses_);
}

std::optional<double> CallMetrics::accuracy() const {
  if (rows_ == 0 || isSum()) return std::nullopt;
  return static_cast<double>(correct_) / static_cast<double>(rows_);
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
