// Slice takes every step-th element between start and end along some axes. GradSlice puts the gradient back
// between zeros. Starts, ends, axes and steps are inputs, or attributes (up to opset 9, and in gradients).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/moves/element_move.h"
#include "engine/ops/moves/slice.h"

namespace pipescope::ops {
namespace {

/// One axis by ONNX's rules: negative numbers count from the end; then start and end are clamped to the axis.
void cut(SliceSetup& setup, std::size_t axis, std::int64_t start, std::int64_t end, std::int64_t step) {
  const std::int64_t extent = setup.extents[axis];
  const auto fromEnd = [extent](std::int64_t at) { return at < 0 ? at + extent : at; };
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  const std::int64_t first = std::clamp<std::int64_t>(
      fromEnd(start), step > 0 ? 0 : std::min<std::int64_t>(0, high), std::max<std::int64_t>(high, 0));
  const std::int64_t last = std::clamp(fromEnd(end), low, std::max(low, high));
  // |step| may exceed any extent; then there is one element.
  const std::int64_t distance = step > 0 ? last - first : first - last;
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  std::int64_t count = 0;
  if (extent > 0 && distance > 0)
    count = static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / stride) + 1;
  setup.begin[axis] = count > 0 ? first : 0;
  setup.step[axis] = count > 1 ? step : 1;
  setup.extents[axis] = count;
}

Result<SliceSetup> sliceSetupFor(const OperatorCall& call, const Shape& x, const Ints& starts,
                                 const Ints& ends, const std::optional<Ints>& axes,
                                 const std::optional<Ints>& steps) {
  const std::size_t count = starts.size();
  if (ends.size() != count || (axes && axes->size() != count) || (steps && steps->size() != count) ||
      count > x.size()) {
    return base::badInput(
        fmt::format("{}: {} starts, {} ends, {} axes and {} steps; it needs as many of each, and no more "
                    "than the {} axes of "
                    "its input",
                    call.title(), count, ends.size(), axes ? axes->size() : count,
                    steps ? steps->size() : count, x.size()));
  }
  Ints named;
  for (std::size_t i = 0; i < count; ++i) named.push_back(axes ? (*axes)[i] : static_cast<std::int64_t>(i));
  PIPESCOPE_ASSIGN(const std::vector<std::size_t> at, axesWithin(call, named, x.size(), "axes"));
  SliceSetup setup{Ints(x.size(), 0), Ints(x.size(), 1), x};
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (step == 0)
      return base::badInput(fmt::format("{}: a step is 0; steps go forward or back", call.title()));
    cut(setup, at[i], starts[i], ends[i], step);
  }
  return setup;
}

}  // namespace

Result<SliceSetup> sliceSetupOf(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::optional<Ints> starts, intsFrom(call, 1, "starts"));
  PIPESCOPE_ASSIGN(const std::optional<Ints> ends, intsFrom(call, 2, "ends"));
  PIPESCOPE_ASSIGN(const std::optional<Ints> axes, intsFrom(call, 3, "axes"));
  PIPESCOPE_ASSIGN(const std::optional<Ints> steps, intsFrom(call, 4, "steps"));
  if (!starts || !ends)
    return base::badInput(fmt::format("{}: give starts and ends, as inputs 1 and 2", call.title()));
  return sliceSetupFor(call, call.input(0).shape, *starts, *ends, axes, steps);
}

namespace {

ElementMove sliceMoveOf(const OperatorCall& call) {
  const SliceSetup setup = *sliceSetupOf(call);
  return blockMove(setup.extents, call.input(0).shape, setup.begin, setup.step, setup.extents, {}, {},
                   graph::sizeOf(call.input(0).element));
}

// --- Slice: data, [starts, ends, axes, steps] → output ---------------------------------

Result<std::vector<TensorType>> inferSlice(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const SliceSetup setup, sliceSetupOf(call));
  return std::vector<TensorType>{{call.input(0).element, setup.extents}};
}

Result<Kernel> sliceKernel(const OperatorCall& call) {
  return Kernel{[setup = sliceMoveOf(call)](const KernelArguments& a) -> Status {
                  setup.run(a, a.inputs[0].data(), a.outputs[0].data());
                  return {};
                },
                0};
}

std::vector<Work> sliceWork(const OperatorCall& call) {
  return {moveWork(sliceMoveOf(call), call.input(0).element)};
}

Status sliceGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(const SliceSetup setup, sliceSetupOf(builder.call()));
  return builder.addFor(
      0, "GradSlice", "grad_input", {builder.outputGradient(0)},
      {{"input_shape", builder.call().input(0).shape}, {"begin", setup.begin}, {"steps", setup.step}});
}

// --- GradSlice: dy → dx; attributes input_shape, begin and steps (of each axis) --------

Result<std::vector<TensorType>> inferGradSlice(const OperatorCall& call) {
  const Shape x = graph::intsAttribute(call.node, "input_shape", {});
  const Ints begin = graph::intsAttribute(call.node, "begin", {});
  const Ints step = graph::intsAttribute(call.node, "steps", {});
  const Shape& dy = call.input(0).shape;
  bool fits = begin.size() == x.size() && step.size() == x.size() && dy.size() == x.size();
  for (std::size_t i = 0; fits && i < x.size(); ++i) {
    const std::int64_t last = begin[i] + (dy[i] - 1) * step[i];
    fits = dy[i] == 0 || (begin[i] >= 0 && begin[i] < x[i] && last >= 0 && last < x[i]);
  }
  if (!fits) {
    return base::badInput(
        fmt::format("{}: a slice of {} does not fit into {}", call.title(), extentsText(dy), extentsText(x)));
  }
  return inferredAs(call, call.input(0).element, x);
}

ElementMove putBack(const OperatorCall& call) {
  const Shape& dy = call.input(0).shape;
  return blockMove(dy, dy, {}, {}, graph::intsAttribute(call.node, "input_shape", {}),
                   graph::intsAttribute(call.node, "begin", {}), graph::intsAttribute(call.node, "steps", {}),
                   graph::sizeOf(call.input(0).element));
}

Result<Kernel> gradSliceKernel(const OperatorCall& call) {
  return Kernel{[setup = putBack(call)](const KernelArguments& a) -> Status {
                  std::ranges::fill(a.outputs[0], std::byte{0});
                  setup.run(a, a.inputs[0].data(), a.outputs[0].data());
                  return {};
                },
                0};
}

std::vector<Work> gradSliceWork(const OperatorCall& call) {
  const std::int64_t elements = graph::elementCount(graph::intsAttribute(call.node, "input_shape", {}));
  return {{Rearrange{elements, elements, call.input(0).element}, 1, "Zero"},
          moveWork(putBack(call), call.input(0).element, "Copy")};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(slice) {
  registry.add({.type = "Slice",
                .attributes = {{"axes", AttributeKind::integers},
                               {"ends", AttributeKind::integers},
                               {"starts", AttributeKind::integers},
                               {"steps", AttributeKind::integers}},
                .maxInputs = 5,
                .infer = inferSlice,
                .kernel = sliceKernel,
                .work = sliceWork,
                .gradient = sliceGradient});
  registry.add({.type = "GradSlice",
                .attributes = {{"begin", AttributeKind::integers},
                               {"input_shape", AttributeKind::integers},
                               {"steps", AttributeKind::integers}},
                .infer = inferGradSlice,
                .kernel = gradSliceKernel,
                .work = gradSliceWork});
}

}  // namespace pipescope::ops
