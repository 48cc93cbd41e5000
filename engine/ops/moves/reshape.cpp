// Reshape. The new shape is a constant second input, or the attribute `shape` (up to opset 4, and in
// gradients).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/ops/core/common_work.h"
#include "engine/ops/core/copy_kernel.h"
#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {
namespace {

using base::badInput;

Result<std::vector<std::int64_t>> requestedShape(const OperatorCall& call) {
  const bool attribute = call.node.attributes.contains("shape");
  if (attribute == call.has(1)) {
    return badInput(fmt::format("{}: give its shape {}", call.title(),
                                attribute ? "as second input or as attribute, not both" : "as second input"));
  }
  if (attribute) return graph::intsAttribute(call.node, "shape", {});
  return call.constantInts(1, "its shape (input 1)");
}

Result<std::vector<TensorType>> inferReshape(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::vector<std::int64_t> wanted, requestedShape(call));
  const bool allowZero = graph::intAttribute(call.node, "allowzero", 0) != 0;
  const Shape& x = call.input(0).shape;
  Shape shape = wanted;
  std::size_t open = wanted.size();  // the axis that is −1
  std::int64_t known = 1;
  for (std::size_t axis = 0; axis < wanted.size(); ++axis) {
    if (wanted[axis] == 0 && !allowZero) {
      if (axis >= x.size()) {
        return badInput(fmt::format("{}: shape {} copies axis {}, but its input has {} axes", call.title(),
                                    fmt::join(wanted, "x"), axis, x.size()));
      }
      shape[axis] = x[axis];
    }
    if (shape[axis] < -1 || (shape[axis] == -1 && open < wanted.size())) {
      return badInput(fmt::format("{}: shape {} may hold −1 once and no smaller number", call.title(),
                                  fmt::join(wanted, "x")));
    }
    if (shape[axis] == -1) {
      open = axis;
    } else if (__builtin_mul_overflow(known, shape[axis], &known)) {
      return badInput(fmt::format("{}: shape {} is too large", call.title(), fmt::join(wanted, "x")));
    }
  }
  const std::int64_t elements = graph::elementCount(x);
  if (open < wanted.size() && known != 0 && elements % known == 0) {
    shape[open] = elements / known;
    known = elements;
  }
  if (known != elements || (open < wanted.size() && shape[open] < 0)) {
    return badInput(fmt::format("{}: cannot make {} out of {}: the numbers of elements differ", call.title(),
                                fmt::join(wanted, "x"), graph::toString(call.input(0))));
  }
  return std::vector<TensorType>{{call.input(0).element, shape}};
}

Result<Kernel> reshapeKernel(const OperatorCall&) {
  return copyKernel();
}

Status reshapeGradient(GradientBuilder& builder) {
  return builder.addFor(0, "Reshape", "grad_input", {builder.outputGradient(0)},
                        {{"shape", builder.call().input(0).shape}, {"allowzero", std::int64_t{1}}});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(reshape) {
  registry.add({.type = "Reshape",
                .attributes = {{"allowzero", AttributeKind::integer}, {"shape", AttributeKind::integers}},
                .maxInputs = 2,
                .infer = inferReshape,
                .kernel = reshapeKernel,
                .work = noWork,
                .gradient = reshapeGradient,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
