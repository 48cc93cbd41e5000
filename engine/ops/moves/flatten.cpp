// Flatten merges all axes before `axis` into the first of two axes, and all others into the second.
#include <fmt/format.h>

#include "engine/ops/core/common_work.h"
#include "engine/ops/core/copy_kernel.h"
#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferFlatten(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  const auto rank = static_cast<std::int64_t>(x.size());
  const std::int64_t given = graph::intAttribute(call.node, "axis", 1);
  if (given < -rank || given > rank) {
    return base::badInput(fmt::format("{}: axis is {}; its input has {} axes, so it must be {} to {}",
                                      call.title(), given, rank, -rank, rank));
  }
  const std::int64_t axis = given < 0 ? given + rank : given;
  const Shape before(x.begin(), x.begin() + axis), after(x.begin() + axis, x.end());
  return std::vector<TensorType>{
      {call.input(0).element, {graph::elementCount(before), graph::elementCount(after)}}};
}

Result<Kernel> flattenKernel(const OperatorCall&) {
  return copyKernel();
}

Status flattenGradient(GradientBuilder& builder) {
  return builder.addFor(0, "Reshape", "grad_input", {builder.outputGradient(0)},
                        {{"shape", builder.call().input(0).shape}, {"allowzero", std::int64_t{1}}});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(flatten) {
  registry.add({.type = "Flatten",
                .attributes = {{"axis", AttributeKind::integer}},
                .infer = inferFlatten,
                .kernel = flattenKernel,
                .work = noWork,
                .gradient = flattenGradient,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
