#include "app/run/interface/returned_outputs.h"

#include <algorithm>

#include "engine/ops/core/cast_elements.h"

namespace pipescope::run {

using emulate::OutputRule;
using graph::ElementType;
using numerics::Keep;

ReturnedOutputs::ReturnedOutputs(const emulate::ExecutableFacts& facts, const ExecutableInfo& info,
                                 const std::map<std::string, OutputRule>& own)
    : facts_(facts), info_(info), bytes_(info.outputs.size()), sums_(info.outputs.size()) {
  if (isSum(facts.output)) returned_.resize(info.hasLoss ? static_cast<std::size_t>(facts.replicas) : 0);
  for (std::size_t i = 0; i < info.outputs.size(); ++i) {
    const auto found = own.find(info.outputs[i].name);
    rules_.push_back(found == own.end() ? facts.output : found->second);
    if (isSum(rules_[i]))
      sums_[i].resize(static_cast<std::size_t>(info.outputs[i].type.elements() * facts.replicas));
  }
}

Keep ReturnedOutputs::keep(std::int64_t iteration) const {
  const auto isFinal = [](const OutputRule& rule) { return rule.mode == OutputRule::Mode::final; };
  if (!isFinal(facts_.output) || !std::ranges::all_of(rules_, isFinal)) return Keep::all;
  return iteration + 1 == facts_.iterations ? Keep::last : Keep::none;
}

bool ReturnedOutputs::returns(const OutputRule& rule, std::int64_t iteration, std::int64_t k) const {
  return isSum(rule) || rule.returns(iteration, k / facts_.replicas, facts_.iterations, facts_.microBatches);
}

void ReturnedOutputs::append(std::size_t output, std::span<const std::byte> microBatch) {
  bytes_[output].insert(bytes_[output].end(), microBatch.begin(), microBatch.end());
}

void ReturnedOutputs::addTo(std::size_t output, std::size_t replica, std::span<const std::byte> microBatch) {
  const graph::TensorType& type = info_.outputs[output].type;
  const auto count = static_cast<std::size_t>(type.elements());
  std::vector<double> wide(count);
  ops::castElements(type.element, microBatch.data(), ElementType::float64,
                    std::as_writable_bytes(std::span(wide)).data(), type.elements());
  for (std::size_t i = 0; i < count; ++i) sums_[output][replica * count + i] += wide[i];
}

void ReturnedOutputs::add(std::int64_t iteration, const numerics::Results& results) {
  losses_.insert(losses_.end(), results.losses.begin(), results.losses.end());
  const Keep kept = keep(iteration);
  if (kept == Keep::none) return;
  const std::int64_t replicas = facts_.replicas;
  for (std::int64_t k = 0; k < facts_.microBatches * replicas; ++k) {
    const auto place = static_cast<std::size_t>(k), replica = static_cast<std::size_t>(k % replicas);
    if (!results.losses.empty() && returns(facts_.output, iteration, k)) {
      if (isSum(facts_.output)) returned_[replica] += results.losses[place];
      if (!isSum(facts_.output)) returned_.push_back(results.losses[place]);
    }
    for (std::size_t i = 0; i < info_.outputs.size(); ++i) {
      if (!returns(rules_[i], iteration, k)) continue;
      const auto width = static_cast<std::size_t>(info_.outputs[i].type.bytes().count);
      const std::span<const std::byte> microBatch =
          std::span(results.outputs[i]).subspan((kept == Keep::last ? replica : place) * width, width);
      isSum(rules_[i]) ? addTo(i, replica, microBatch) : append(i, microBatch);
    }
  }
}

void ReturnedOutputs::finish(CallResult& result) {
  for (std::size_t i = 0; i < info_.outputs.size(); ++i) {
    graph::TensorType type = info_.outputs[i].type;
    const std::int64_t elements = type.elements();
    if (isSum(rules_[i])) {
      bytes_[i].resize(sums_[i].size() * static_cast<std::size_t>(graph::sizeOf(type.element)));
      ops::castElements(ElementType::float64, std::as_bytes(std::span(sums_[i])).data(), type.element,
                        bytes_[i].data(), static_cast<std::int64_t>(sums_[i].size()));
    }
    const std::int64_t count = static_cast<std::int64_t>(bytes_[i].size()) / graph::sizeOf(type.element);
    const std::int64_t blocks = elements == 0 ? 0 : count / elements;
    if (type.shape.empty()) {
      type.shape = {blocks};
    } else {
      type.shape.front() *= blocks;
    }
    result.outputs.push_back({info_.outputs[i].name, std::move(type), std::move(bytes_[i])});
  }
  result.losses = std::move(losses_);
  result.returnedLosses = std::move(returned_);
}

}  // namespace pipescope::run
