#include "app/run/interface/returned_outputs.h"

#include <algorithm>

#include "engine/ops/core/cast_elements.h"

namespace pipescope::run {

using emulate::OutputRule;
using graph::ElementType;
using numerics::Keep;

ReturnedOutputs::ReturnedOutputs(const emulate::ExecutableFacts& facts, const ExecutableInfo& info)
    : facts_(facts), info_(info), bytes_(info.outputs.size()) {
  if (!isSum()) return;
  returned_.resize(info.hasLoss ? static_cast<std::size_t>(facts.replicas) : 0);
  for (const TensorInfo& output : info.outputs)
    sums_.emplace_back(static_cast<std::size_t>(output.type.elements() * facts.replicas));
}

Keep ReturnedOutputs::keep(std::int64_t iteration) const {
  if (facts_.output.mode != OutputRule::Mode::final) return Keep::all;
  return iteration + 1 == facts_.iterations ? Keep::last : Keep::none;
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
  const std::int64_t replicas = facts_.replicas;
  for (std::int64_t k = 0; k < facts_.microBatches * replicas; ++k) {
    const auto place = static_cast<std::size_t>(k), replica = static_cast<std::size_t>(k % replicas);
    const bool isReturned =
        isSum() || facts_.output.returns(iteration, k / replicas, facts_.iterations, facts_.microBatches);
    if (!isReturned) continue;
    if (!results.losses.empty() && isSum()) returned_[replica] += results.losses[place];
    if (!results.losses.empty() && !isSum()) returned_.push_back(results.losses[place]);
    for (std::size_t i = 0; i < info_.outputs.size(); ++i) {
      const auto width = static_cast<std::size_t>(info_.outputs[i].type.bytes().count);
      const std::span<const std::byte> microBatch =
          std::span(results.outputs[i]).subspan((kept == Keep::last ? replica : place) * width, width);
      isSum() ? addTo(i, replica, microBatch) : append(i, microBatch);
    }
  }
}

void ReturnedOutputs::finish(CallResult& result) {
  for (std::size_t i = 0; i < info_.outputs.size(); ++i) {
    graph::TensorType type = info_.outputs[i].type;
    const std::int64_t elements = type.elements();
    if (isSum()) {
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
