// MaxUnpool is a partial inverse of MaxPool by its Indices. GradMaxUnpool reads the gradient at those places.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

using base::badInput;

/// (input − 1)·stride + kernel − padding on each spatial axis.
Result<Shape> pooledFrom(const OperatorCall& call, const Shape& x) {
  const Ints kernel = graph::intsAttribute(call.node, "kernel_shape", {});
  const std::size_t axes = kernel.size();
  const Ints strides = graph::intsAttribute(call.node, "strides", Ints(axes, 1));
  const Ints pads = graph::intsAttribute(call.node, "pads", Ints(2 * axes, 0));
  bool fits = axes > 0 && x.size() == axes + 2 && strides.size() == axes && pads.size() == 2 * axes;
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (const Ints* list : {&kernel, &strides, &pads})
    fits = fits && std::ranges::all_of(*list, [](std::int64_t n) { return n >= 0 && n < kMost; });
  fits = fits && std::ranges::all_of(x, [](std::int64_t n) { return n < kMost; });
  if (!fits) {
    return badInput(fmt::format("{}: kernel_shape, strides and pads do not fit its input {}", call.title(),
                                extentsText(x)));
  }
  Shape shape{x[0], x[1]};
  for (std::size_t i = 0; i < axes; ++i)
    shape.push_back((x[2 + i] - 1) * strides[i] + kernel[i] - pads[i] - pads[axes + i]);
  return shape;
}

Result<std::vector<TensorType>> inferMaxUnpool(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(Shape shape, pooledFrom(call, call.input(0).shape));
  if (call.input(1) != TensorType{ElementType::int64, call.input(0).shape}) {
    return badInput(fmt::format("{}: its indices are {}; they must be int64 and like its input {}",
                                call.title(), graph::toString(call.input(1)),
                                graph::toString(call.input(0))));
  }
  if (call.has(2)) {
    PIPESCOPE_ASSIGN(const Ints wanted, call.constantInts(2, "output_shape (input 2)"));
    if (wanted != shape) {
      // ONNX's versions differ in whether the indices then count within the wanted or the computed shape.
      return badInput(
          fmt::format("{}: output_shape is {}, but kernel, strides and pads make {}; another shape than "
                      "that is not supported",
                      call.title(), extentsText(wanted), extentsText(shape)));
    }
  }
  return inferredAs(call, call.input(0).element, std::move(shape));
}

Status checkPlaces(const std::string& title, const std::int64_t* places, std::int64_t count,
                   std::int64_t extent) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (places[i] >= 0 && places[i] < extent) continue;
    return badInput(
        fmt::format("{}: index {} is outside its output of {} elements", title, places[i], extent));
  }
  return {};
}

Result<Kernel> maxUnpoolKernel(const OperatorCall& call) {
  const std::int64_t count = call.input(0).elements(), extent = call.outputs[0].elements();
  return kernelForSizes(call.input(0).element, [&]<class Element>(Element) {
    return Kernel{[count, extent, title = call.title()](const KernelArguments& a) -> Status {
                    const std::int64_t* places = a.input<std::int64_t>(1);
                    PIPESCOPE_TRY(checkPlaces(title, places, count, extent));
                    const Element* x = a.input<Element>(0);
                    Element* y = a.output<Element>(0);
                    std::fill_n(y, extent, Element(0));
                    for (std::int64_t i = 0; i < count; ++i) y[places[i]] = x[i];
                    return {};
                  },
                  0};
  });
}

std::vector<Work> maxUnpoolWork(const OperatorCall& call) {
  const TensorType& y = call.outputs[0];
  return {{Rearrange{y.elements(), y.elements(), y.element}, 1, "Zero"},
          {Scatter{call.input(0).elements(), 1, y.elements(), false, y.element}, 1, "Set"}};
}

Status maxUnpoolGradient(GradientBuilder& builder) {
  return builder.addFor(0, "GradMaxUnpool", "grad_input",
                        {builder.outputGradient(0), builder.node().inputs[1]}, {});
}

// --- GradMaxUnpool: dy, indices → dx ---------------------------------------------------

Result<std::vector<TensorType>> inferMaxUnpoolGradient(const OperatorCall& call) {
  if (call.input(1).element != ElementType::int64)
    return unsupportedType(call, call.input(1).element, "int64 indices");
  return std::vector<TensorType>{{call.input(0).element, call.input(1).shape}};
}

Result<Kernel> maxUnpoolGradientKernel(const OperatorCall& call) {
  const std::int64_t count = call.input(1).elements(), extent = call.input(0).elements();
  return kernelForSizes(call.input(0).element, [&]<class Element>(Element) {
    return Kernel{[count, extent, title = call.title()](const KernelArguments& a) -> Status {
                    const std::int64_t* places = a.input<std::int64_t>(1);
                    PIPESCOPE_TRY(checkPlaces(title, places, count, extent));
                    const Element* dy = a.input<Element>(0);
                    Element* dx = a.output<Element>(0);
                    for (std::int64_t i = 0; i < count; ++i) dx[i] = dy[places[i]];
                    return {};
                  },
                  0};
  });
}

std::vector<Work> maxUnpoolGradientWork(const OperatorCall& call) {
  return {{Gather{call.input(1).elements(), 1, call.input(0).elements(), call.input(0).element}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(max_unpool) {
  registry.add({.type = "MaxUnpool",
                .attributes = {{"kernel_shape", AttributeKind::integers},
                               {"pads", AttributeKind::integers},
                               {"strides", AttributeKind::integers}},
                .minInputs = 2,
                .maxInputs = 3,
                .infer = inferMaxUnpool,
                .kernel = maxUnpoolKernel,
                .work = maxUnpoolWork,
                .gradient = maxUnpoolGradient});
  registry.add({.type = "GradMaxUnpool",
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferMaxUnpoolGradient,
                .kernel = maxUnpoolGradientKernel,
                .work = maxUnpoolGradientWork});
}

}  // namespace pipescope::ops
