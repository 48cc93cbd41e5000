// Expand broadcasts the input against a shape, both ways as in numpy. The gradient is a sum over the spread
// axes.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/moves/element_move.h"

namespace pipescope::ops {
namespace {

Result<Shape> resultOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  PIPESCOPE_ASSIGN(const std::optional<Ints> wanted, intsFrom(call, 1, "shape"));
  if (!wanted) return base::badInput(fmt::format("{}: give the shape, as input 1", call.title()));
  const std::size_t rank = std::max(x.size(), wanted->size());
  Shape shape(rank, 1);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t fromEnd = rank - axis;
    const std::int64_t own = fromEnd <= x.size() ? x[x.size() - fromEnd] : 1;
    const std::int64_t asked = fromEnd <= wanted->size() ? (*wanted)[wanted->size() - fromEnd] : 1;
    if ((own != asked && own != 1 && asked != 1) || asked < 0) {
      return base::badInput(
          fmt::format("{}: cannot expand {} to {}", call.title(), extentsText(x), extentsText(*wanted)));
    }
    shape[axis] = own == 1 ? asked : own;
  }
  return shape;
}

ElementMove expandSetupOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  const Shape result = *resultOf(call);
  const Ints from = stridesOf(x), to = stridesOf(result);
  const std::size_t added = result.size() - x.size();
  std::vector<MoveAxis> axes;
  for (std::size_t axis = 0; axis < result.size(); ++axis) {
    const bool spread = axis < added || x[axis - added] == 1;
    axes.push_back({result[axis], spread ? 0 : from[axis - added], to[axis]});
  }
  return {std::move(axes), graph::sizeOf(call.input(0).element)};
}

Result<std::vector<TensorType>> inferExpand(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(Shape shape, resultOf(call));
  return inferredAs(call, call.input(0).element, std::move(shape));
}

Result<Kernel> expandKernel(const OperatorCall& call) {
  return Kernel{[setup = expandSetupOf(call)](const KernelArguments& a) -> Status {
                  setup.run(a, a.inputs[0].data(), a.outputs[0].data());
                  return {};
                },
                0};
}

std::vector<Work> expandWork(const OperatorCall& call) {
  return {moveWork(expandSetupOf(call), call.input(0).element)};
}

Status expandGradient(GradientBuilder& builder) {
  if (!builder.wants(0)) return {};
  const Shape& x = builder.call().input(0).shape;
  PIPESCOPE_ASSIGN(const Shape result, resultOf(builder.call()));
  const std::size_t added = result.size() - x.size();
  Ints axes;
  for (std::size_t axis = 0; axis < result.size(); ++axis) {
    if (axis < added || (x[axis - added] == 1 && result[axis] != 1))
      axes.push_back(static_cast<std::int64_t>(axis));
  }
  graph::TensorId gradient = builder.outputGradient(0);
  if (!axes.empty()) {
    PIPESCOPE_ASSIGN(gradient, builder.add("ReduceSum", "grad_sum", {gradient},
                                           {{"axes", axes}, {"keepdims", std::int64_t{1}}}));
  }
  return builder.addFor(0, "Reshape", "grad_input", {gradient},
                        {{"shape", x}, {"allowzero", std::int64_t{1}}});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(expand) {
  registry.add({.type = "Expand",
                .attributes = {{"shape", AttributeKind::integers}},
                .maxInputs = 2,
                .infer = inferExpand,
                .kernel = expandKernel,
                .work = expandWork,
                .gradient = expandGradient});
}

}  // namespace pipescope::ops
