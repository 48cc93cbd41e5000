// Squeeze drops axes of extent 1, and Unsqueeze adds some. The axes are input 1, or an attribute up to opset
// 12.
#include <fmt/format.h>

#include "engine/ops/core/common_work.h"
#include "engine/ops/core/copy_kernel.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferSqueeze(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  PIPESCOPE_ASSIGN(const std::optional<Ints> given, intsFrom(call, 1, "axes"));
  std::vector<bool> dropped(x.size(), false);
  if (given) {
    PIPESCOPE_ASSIGN(const std::vector<std::size_t> axes, axesWithin(call, *given, x.size(), "axes"));
    for (const std::size_t axis : axes) dropped[axis] = true;
  }
  Shape shape;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    if (dropped[axis] && x[axis] != 1) {
      return base::badInput(fmt::format("{}: cannot drop axis {} of {}: its extent is not 1", call.title(),
                                        axis, extentsText(x)));
    }
    if (!dropped[axis] && (given || x[axis] != 1)) shape.push_back(x[axis]);
  }
  return std::vector<TensorType>{{call.input(0).element, shape}};
}

Result<std::vector<TensorType>> inferUnsqueeze(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  PIPESCOPE_ASSIGN(const std::optional<Ints> given, intsFrom(call, 1, "axes"));
  if (!given) return base::badInput(fmt::format("{}: give the axes to add, as input 1", call.title()));
  const std::size_t rank = x.size() + given->size();
  PIPESCOPE_ASSIGN(const std::vector<std::size_t> axes, axesWithin(call, *given, rank, "axes"));
  Shape shape(rank, 1);
  std::size_t next = 0;
  std::vector<bool> added(rank, false);
  for (const std::size_t axis : axes) added[axis] = true;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (!added[axis]) shape[axis] = x[next++];
  }
  return std::vector<TensorType>{{call.input(0).element, shape}};
}

Result<Kernel> sameBytes(const OperatorCall&) {
  return copyKernel();
}

Status reshapeBack(GradientBuilder& builder) {
  if (!builder.wants(0)) return {};
  return builder.addFor(0, "Reshape", "grad_input", {builder.outputGradient(0)},
                        {{"shape", builder.call().input(0).shape}, {"allowzero", std::int64_t{1}}});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(squeeze) {
  registry.add({.type = "Squeeze",
                .attributes = {{"axes", AttributeKind::integers}},
                .maxInputs = 2,
                .infer = inferSqueeze,
                .kernel = sameBytes,
                .work = noWork,
                .gradient = reshapeBack,
                .inPlaceInput = 0});
  registry.add({.type = "Unsqueeze",
                .attributes = {{"axes", AttributeKind::integers}},
                .maxInputs = 2,
                .infer = inferUnsqueeze,
                .kernel = sameBytes,
                .work = noWork,
                .gradient = reshapeBack,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
