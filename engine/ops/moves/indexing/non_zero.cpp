// NonZero: the positions of all elements that are not 0, one column each, in row-major order. The data decide
// how many there are, so they must be known before the run. NaN is not 0, but −0 is.
#include <algorithm>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

/// Positions in the flat tensor.
Result<Ints> positionsOf(const OperatorCall& call) {
  const TensorType& x = call.input(0);
  PIPESCOPE_ASSIGN(const std::vector<std::byte>* bytes, shapingValue(call, 0, "X"));
  const auto size = static_cast<std::size_t>(graph::sizeOf(x.element));
  Ints positions;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::byte* element = bytes->data() + static_cast<std::size_t>(i) * size;
    std::byte any{0};
    for (std::size_t b = 0; b < size; ++b) {
      // The highest bit of a floating-point number is its sign.
      any |= isFloat(x.element) && b + 1 == size ? element[b] & std::byte{0x7f} : element[b];
    }
    if (any != std::byte{0}) positions.push_back(i);
  }
  return positions;
}

Result<std::vector<TensorType>> inferNonZero(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Ints positions, positionsOf(call));
  const auto axes = static_cast<std::int64_t>(std::max<std::size_t>(1, call.input(0).shape.size()));
  return std::vector<TensorType>{{ElementType::int64, {axes, static_cast<std::int64_t>(positions.size())}}};
}

Result<Kernel> nonZeroKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(Ints positions, positionsOf(call));
  Shape shape = call.input(0).shape;
  if (shape.empty()) shape = {1};  // a scalar counts as a list of one element
  return Kernel{[positions = std::move(positions), shape](const KernelArguments& a) -> Status {
                  const auto count = static_cast<std::int64_t>(positions.size());
                  std::int64_t* to = a.output<std::int64_t>(0);
                  for (std::int64_t i = 0; i < count; ++i) {
                    std::int64_t rest = positions[static_cast<std::size_t>(i)];
                    for (std::size_t axis = shape.size(); axis-- > 0;) {
                      to[static_cast<std::int64_t>(axis) * count + i] = rest % shape[axis];
                      rest /= shape[axis];
                    }
                  }
                  return {};
                },
                0};
}

std::vector<Work> nonZeroWork(const OperatorCall& call) {
  const TensorType& x = call.input(0);
  return {{Map{MapFunction::notEqual, x.elements(), 1, x.element, false}, 1, "Compare"},
          {Scatter{call.outputs[0].elements(), 1, call.outputs[0].elements(), false, ElementType::int64}, 1,
           "Positions"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(non_zero) {
  registry.add({.type = "NonZero", .infer = inferNonZero, .kernel = nonZeroKernel, .work = nonZeroWork});
}

}  // namespace pipescope::ops
