#include "engine/ops/moves/row_walk.h"

#include <fmt/format.h>

#include <algorithm>

namespace pipescope::ops {

using base::badInput;

Status RowWalk::check(const IndexReader& indices) const {
  std::int64_t next = 0;
  for (std::int64_t number = 0; number < rows(); ++number) {
    for (const std::int64_t extent : extents) {
      const std::int64_t index = indices[next++];
      if (index < -extent || index >= extent) return indexOutside(title, index, extent);
    }
  }
  return {};
}

Result<RowWalk> rowWalk(const OperatorCall& call, const Shape& data, std::size_t indices,
                        std::int64_t batchAxes) {
  PIPESCOPE_TRY(requireIndices(call, indices));
  const Shape& shape = call.input(indices).shape;
  const auto least = static_cast<std::int64_t>(std::min(shape.size(), data.size()));
  const bool batched = batchAxes >= 0 && batchAxes < std::max<std::int64_t>(least, 1) && !shape.empty() &&
                       std::equal(data.begin(), data.begin() + batchAxes, shape.begin());
  if (!batched) {
    return badInput(
        fmt::format("{}: its data is {} and its indices {}; with batch_dims {} they need that many "
                    "equal leading axes, and the indices one more",
                    call.title(), extentsText(data), extentsText(shape), batchAxes));
  }
  const auto first = static_cast<std::size_t>(batchAxes);
  const std::int64_t named = shape.back();
  if (named < 0 || named > static_cast<std::int64_t>(data.size() - first)) {
    return badInput(fmt::format("{}: its tuples have {} indices (indices are {}), but its data has {} axes",
                                call.title(), named, extentsText(shape), data.size() - first));
  }
  const std::size_t rowAxis = first + static_cast<std::size_t>(named);
  const Ints strides = stridesOf(data);
  RowWalk walk;
  walk.batches = extentsWithin(data, 0, first);
  walk.tuples = extentsWithin(shape, first, shape.size() - 1);
  walk.extents.assign(data.begin() + batchAxes, data.begin() + batchAxes + named);
  walk.strides.assign(strides.begin() + batchAxes, strides.begin() + batchAxes + named);
  walk.row = extentsWithin(data, rowAxis, data.size());
  walk.block = extentsWithin(data, first, data.size());
  walk.wide = wideIndices(call, indices);
  walk.title = call.title();
  walk.result.assign(shape.begin(), shape.end() - 1);
  walk.result.insert(walk.result.end(), data.begin() + batchAxes + named, data.end());
  return walk;
}

}  // namespace pipescope::ops
