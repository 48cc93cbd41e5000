#include "app/run/execute/call_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/numerics/values.h"
#include "profiler/base/number_text.h"

namespace pipescope::app {

using base::groupedText;
using emulate::OutputRule;

std::vector<double> iterationLosses(const emulate::ExecutableFacts& facts, std::span<const float> losses) {
  const auto flush = static_cast<std::size_t>(facts.microBatches * facts.replicas);
  std::vector<double> means;
  for (std::size_t first = 0; first + flush <= losses.size(); first += flush) {
    double sum = 0;
    for (const float loss : losses.subspan(first, flush)) sum += static_cast<double>(loss);
    means.push_back(sum / static_cast<double>(flush));
  }
  return means;
}

CallMetrics::CallMetrics(const emulate::ExecutableFacts& facts, const ScoreShape& scores,
                         const std::string& loss)
    : facts_(facts), scores_(scores) {
  if (loss == "cross_entropy") lossKind_ = Loss::crossEntropy;
  if (loss == "nll") lossKind_ = Loss::logLikelihood;
  if (loss == "mse") lossKind_ = Loss::squares;
  if (loss == "bce") lossKind_ = Loss::binaryCrossEntropy;
}

void CallMetrics::add(const run::CallResult& results, const BatchLabels& labels) {
  const std::int64_t replicas = facts_.replicas, group = facts_.inputGroup,
                     flush = facts_.microBatches * replicas;
  const auto count = static_cast<std::size_t>(scores_.labels);
  std::size_t place = 0;  // position among the outputs that the call returned
  for (std::int64_t k = 0; k < facts_.iterations * flush; ++k) {
    const std::int64_t iteration = k / flush, step = k % flush / replicas, block = k / replicas;
    const bool returned =
        isSum() || facts_.output.returns(iteration, step, facts_.iterations, facts_.microBatches);
    if (!returned) continue;
    if (!results.losses.empty()) {
      lossSum_ += static_cast<double>(results.losses[static_cast<std::size_t>(k)]);
      ++losses_;
    }
    rows_ += facts_.microBatchSize;
    if (isSum() || results.outputs.empty()) continue;
    const std::int64_t rows = block * (replicas / group) + k % replicas / group;
    const std::size_t first = static_cast<std::size_t>(rows) * count;
    if (!labels.classes.empty() && scores_.classes >= 2)
      compare(scoresOf(results, place), labels.classes.subspan(first, count));
    if (!labels.numbers.empty() && scores_.elements == scores_.labels && lossKind_ != Loss::none)
      compareNumbers(scoresOf(results, place), labels.numbers.subspan(first, count));
    ++place;
  }
}

void CallMetrics::addInstances(const numerics::Instances& instances, const std::vector<float>& allLosses) {
  for (std::int64_t* count : {&rows_, &predictions_, &correct_}) *count = instances.sum(*count);
  if (allLosses.empty()) return;
  lossSum_ = 0;
  losses_ = 0;
  const std::int64_t replicas = facts_.replicas * instances.count();
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(allLosses.size()); ++k) {
    const std::int64_t step = k / replicas, iteration = step / facts_.microBatches;
    if (!isSum() &&
        !facts_.output.returns(iteration, step % facts_.microBatches, facts_.iterations, facts_.microBatches))
      continue;
    lossSum_ += static_cast<double>(allLosses[static_cast<std::size_t>(k)]);
    ++losses_;
  }
}

std::span<const float> CallMetrics::scoresOf(const run::CallResult& results, std::size_t place) {
  const auto elements = static_cast<std::size_t>(scores_.elements);
  const run::OutputTensor& output = results.outputs[0];
  if (scores_.element == graph::ElementType::float32)
    return output.values<float>().subspan(place * elements, elements);
  wide_.resize(elements);
  numerics::readFloats(scores_.element, output.bytes, place * elements, wide_);
  return wide_;
}

void CallMetrics::compare(std::span<const float> scores, std::span<const std::int32_t> labels) {
  const auto classes = static_cast<std::size_t>(scores_.classes),
             inner = static_cast<std::size_t>(scores_.inner);
  const bool scored = lossKind_ == Loss::crossEntropy || lossKind_ == Loss::logLikelihood;
  double sum = 0;
  std::int64_t counted = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == scores_.ignored) continue;
    ++counted;
    const float* first = scores.data() + i / inner * classes * inner + i % inner;
    std::size_t best = 0;
    for (std::size_t c = 1; c < classes; ++c) {
      if (first[best * inner] < first[c * inner]) best = c;
    }
    correct_ += static_cast<std::int64_t>(best) == labels[i] ? 1 : 0;
    if (!scored || static_cast<std::size_t>(labels[i]) >= classes) continue;
    const auto hit = static_cast<double>(first[static_cast<std::size_t>(labels[i]) * inner]);
    if (lossKind_ == Loss::logLikelihood) {
      sum -= hit;
      continue;
    }
    double exponentials = 0;
    for (std::size_t c = 0; c < classes; ++c)
      exponentials +=
          std::exp(static_cast<double>(first[c * inner]) - static_cast<double>(first[best * inner]));
    sum += std::log(exponentials) + static_cast<double>(first[best * inner]) - hit;
  }
  predictions_ += counted;
  if (!scored || counted == 0) return;
  lossSum_ += sum / static_cast<double>(counted);
  ++losses_;
}

void CallMetrics::compareNumbers(std::span<const float> scores, std::span<const float> labels) {
  if (lossKind_ != Loss::squares && lossKind_ != Loss::binaryCrossEntropy) return;
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto p = static_cast<double>(scores[i]), t = static_cast<double>(labels[i]);
    if (lossKind_ == Loss::squares) {
      sum += (p - t) * (p - t);
    } else {
      sum -= t * std::max(-100.0, std::log(p)) + (1 - t) * std::max(-100.0, std::log(1 - p));
    }
  }
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
  const std::int64_t all = facts_.microBatchSize * facts_.microBatches * facts_.iterations * facts_.replicas;
  if (all == 1 && facts_.output.mode != OutputRule::Mode::sum) return "the only sample of the call";
  switch (facts_.output.mode) {
    case OutputRule::Mode::all:
      return fmt::format("all {} samples of the call (output mode all)", groupedText(all));
    case OutputRule::Mode::everyN:
      return fmt::format("{} of the call's {} samples (output mode every_n, period {})", groupedText(rows_),
                         groupedText(all), facts_.output.period);
    case OutputRule::Mode::final:
      return fmt::format("the last micro-batch's {} of the call's {} samples{} (output mode final)",
                         groupedText(rows_), groupedText(all),
                         facts_.replicas > 1 ? ", of each replica" : "");
    case OutputRule::Mode::sum:
      return fmt::format("sum over the call's {} micro-batches (output mode sum)",
                         groupedText(facts_.microBatches * facts_.iterations * facts_.replicas));
  }
  return {};
}

}  // namespace pipescope::app
