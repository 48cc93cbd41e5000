// Shape gives the extents of the input, and Size the number of its elements. Both are known before the run,
// so a compiled program holds them as constants.
#include <algorithm>

#include "engine/ops/core/common_work.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

Ints extentsOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  const auto rank = static_cast<std::int64_t>(x.size());
  const auto within = [rank](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t begin = within(graph::intAttribute(call.node, "start", 0));
  const std::int64_t end = within(graph::intAttribute(call.node, "end", rank));
  return begin < end ? Ints(x.begin() + begin, x.begin() + end) : Ints();
}

Result<std::vector<TensorType>> inferShape(const OperatorCall& call) {
  return std::vector<TensorType>{{ElementType::int64, {static_cast<std::int64_t>(extentsOf(call).size())}}};
}

Result<std::vector<TensorType>> inferSize(const OperatorCall&) {
  return std::vector<TensorType>{{ElementType::int64, {}}};
}

Kernel writes(Ints numbers) {
  return {[numbers = std::move(numbers)](const KernelArguments& a) -> Status {
            std::ranges::copy(numbers, a.output<std::int64_t>(0));
            return {};
          },
          0};
}

Result<Kernel> shapeKernel(const OperatorCall& call) {
  return writes(extentsOf(call));
}

Result<Kernel> sizeKernel(const OperatorCall& call) {
  return writes({call.input(0).elements()});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(shape) {
  registry.add({.type = "Shape",
                .attributes = {{"end", AttributeKind::integer}, {"start", AttributeKind::integer}},
                .infer = inferShape,
                .kernel = shapeKernel,
                .work = noWork});
  registry.add({.type = "Size", .infer = inferSize, .kernel = sizeKernel, .work = noWork});
}

}  // namespace pipescope::ops
