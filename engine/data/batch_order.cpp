#include "engine/data/batch_order.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "engine/data/data_random.h"
#include "profiler/base/number_text.h"

namespace pipescope::data {

base::Status checkBatchShape(const BatchShape& shape) {
  constexpr std::int64_t mostRows = std::numeric_limits<std::int32_t>::max();
  const std::pair<std::string_view, std::int64_t> factors[] = {
      {"micro-batch size", shape.microBatch},
      {"number of device iterations", shape.deviceIterations},
      {"gradient accumulation", shape.accumulation},
      {"number of replicas", shape.replicas}};
  std::int64_t rows = 1;
  for (const auto& [name, value] : factors) {
    if (value < 1)
      return base::badInput(
          fmt::format("a {} of {} leaves a call without samples; give at least 1", name, value));
    if (value > mostRows / rows) {
      return base::badInput(fmt::format(
          "one call would take more than {} samples ({} micro-batch size × {} device iterations × {} "
          "gradient accumulation × {} replicas); make one of them smaller",
          base::groupedText(mostRows), shape.microBatch, shape.deviceIterations, shape.accumulation,
          shape.replicas));
    }
    rows *= value;
  }
  return {};
}

OrderRange rangeOf(std::int64_t size, std::int64_t rows, const Partition& partition, std::int64_t epoch,
                   bool shuffle) {
  const std::int64_t each = size / (rows * partition.instances) * rows;
  const std::int64_t left = size - each * partition.instances;
  const bool rotated = shuffle && partition.instances > 1 && epoch % 2 == 1;
  return {(rotated ? left : 0) + partition.instance * each, each};
}

std::vector<std::int64_t> epochOrder(std::int64_t size, std::uint64_t seed, std::int64_t epoch,
                                     bool shuffle) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (!shuffle) return order;
  DataRandom random(seed, RandomPurpose::shuffle, static_cast<std::uint64_t>(epoch));
  for (std::size_t last = order.size(); last > 1; --last)
    std::swap(order[last - 1], order[random.below(last)]);
  return order;
}

}  // namespace pipescope::data
