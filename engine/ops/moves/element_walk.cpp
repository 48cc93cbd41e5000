#include "engine/ops/moves/element_walk.h"

#include <fmt/format.h>

namespace pipescope::ops {

Result<ElementWalk> elementWalk(const OperatorCall& call, const Shape& data, std::size_t indices) {
  PIPESCOPE_TRY(requireIndices(call, indices));
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, 0, data.size()));
  ElementWalk walk{call.input(indices).shape,  stridesOf(data), 1, data[axis],
                   wideIndices(call, indices), call.title()};
  bool fits = walk.extents.size() == data.size();
  for (std::size_t i = 0; fits && i < data.size(); ++i) fits = i == axis || walk.extents[i] <= data[i];
  if (!fits) {
    return base::badInput(
        fmt::format("{}: its indices are {}, its data {}; they need as many axes, none longer "
                    "than the data's but for axis {}",
                    call.title(), extentsText(walk.extents), extentsText(data), axis));
  }
  walk.axisStride = walk.strides[axis];
  walk.strides[axis] = 0;
  return walk;
}

}  // namespace pipescope::ops
