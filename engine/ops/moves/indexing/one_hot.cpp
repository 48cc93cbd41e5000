// OneHot makes a row of depth elements for each index: all have the off value except the one at the index. A
// row whose index is outside [−depth, depth) has only off values.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

struct OneHotSetup {
  std::int64_t outer = 1, depth = 1, inner = 1;
  std::size_t axis = 0;
};

Result<OneHotSetup> oneHotSetupOf(const OperatorCall& call) {
  const Shape& indices = call.input(0).shape;
  OneHotSetup setup;
  PIPESCOPE_ASSIGN(const double depth, scalarNumber(call, 1, "depth"));
  if (!(depth >= 0 && depth < 0x1p48)) {
    return base::badInput(fmt::format("{}: depth is {}; it must be 0 or more", call.title(), depth));
  }
  setup.depth = static_cast<std::int64_t>(depth);
  PIPESCOPE_ASSIGN(setup.axis, axisAttribute(call, -1, indices.size() + 1));
  setup.outer = extentsWithin(indices, 0, setup.axis);
  setup.inner = extentsWithin(indices, setup.axis, indices.size());
  return setup;
}

Result<std::vector<TensorType>> inferOneHot(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const OneHotSetup setup, oneHotSetupOf(call));
  if (call.input(2).elements() != 2) {
    return base::badInput(fmt::format("{}: its values (input 2) are {}; give two numbers, off and on",
                                      call.title(), graph::toString(call.input(2))));
  }
  Shape shape = call.input(0).shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(setup.axis), setup.depth);
  return inferredAs(call, call.input(2).element, std::move(shape));
}

/// The place in the row; outside [0, depth) if there is none. Fractions are cut off.
template <class Index>
std::int64_t placeOf(Index index, std::int64_t depth) {
  if constexpr (std::is_floating_point_v<Index>) {
    if (!(index > static_cast<Index>(-depth - 1) && index < static_cast<Index>(depth))) return -1;
  } else if constexpr (std::is_unsigned_v<Index>) {
    if (index >= static_cast<std::uint64_t>(depth)) return -1;
  }
  const auto whole = static_cast<std::int64_t>(index);
  if (whole < -depth || whole >= depth) return -1;
  return whole < 0 ? whole + depth : whole;
}

template <class Index, class Element>
Kernel fillKernel(const OneHotSetup& setup) {
  return {[setup](const KernelArguments& a) -> Status {
            const Index* indices = a.input<Index>(0);
            const Element* values = a.input<Element>(2);
            Element* y = a.output<Element>(0);
            std::fill_n(y, setup.outer * setup.depth * setup.inner, values[0]);
            for (std::int64_t o = 0; o < setup.outer; ++o) {
              for (std::int64_t i = 0; i < setup.inner; ++i) {
                const std::int64_t place = placeOf(indices[o * setup.inner + i], setup.depth);
                if (place >= 0) y[(o * setup.depth + place) * setup.inner + i] = values[1];
              }
            }
            return {};
          },
          0};
}

Result<Kernel> oneHotKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const OneHotSetup setup, oneHotSetupOf(call));
  const auto byIndex = [&]<class Index>(Index) {
    return kernelForSizes(call.input(2).element,
                          [&setup]<class Element>(Element) { return fillKernel<Index, Element>(setup); });
  };
  switch (call.input(0).element) {
    case ElementType::float32:
      return byIndex(float{});
    case ElementType::float64:
      return byIndex(double{});
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::boolean:
      return unsupportedType(call, call.input(0).element, "indices of whole numbers, float32 and float64");
    default:
      break;
  }
  return kernelForIntegers(call, call.input(0).element, [&byIndex](auto index) { return *byIndex(index); });
}

std::vector<Work> oneHotWork(const OperatorCall& call) {
  const TensorType& y = call.outputs[0];
  return {{Rearrange{y.elements(), y.elements(), y.element}, 1, "Fill"},
          {Scatter{call.input(0).elements(), 1, y.elements(), false, y.element}, 1, "Set"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(one_hot) {
  registry.add({.type = "OneHot",
                .attributes = {{"axis", AttributeKind::integer}},
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferOneHot,
                .kernel = oneHotKernel,
                .work = oneHotWork});
}

}  // namespace pipescope::ops
