// ArgMax and ArgMin along one axis give int64 indices. The first of equal elements counts, or with
// select_last_index the last. A NaN counts as the extremum, as in numpy.
#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferArg(const OperatorCall& call) {
  Shape shape = call.input(0).shape;
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, 0, shape.size()));
  if (graph::intAttribute(call.node, "keepdims", 1) != 0) {
    shape[axis] = 1;
  } else {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return std::vector<TensorType>{{ElementType::int64, shape}};
}

template <bool kLargest, class T>
std::int64_t find(const T* x, const Rows& rows, bool last) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < rows.depth; ++i) {
    const T value = x[i * rows.inner], held = x[best * rows.inner];
    const bool heldIsNan = held != held, isNan = value != value;
    const bool beats = kLargest ? value > held : value < held;
    if ((!heldIsNan && (isNan || beats)) || (last && (value == held || (heldIsNan && isNan)))) best = i;
  }
  return best;
}

template <bool kLargest>
Result<Kernel> argKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, 0, call.input(0).shape.size()));
  const Rows rows = Rows::around(call.input(0).shape, axis, axis + 1);
  const bool last = graph::intAttribute(call.node, "select_last_index", 0) != 0;
  return kernelForNumbers(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[rows, last](const KernelArguments& a) -> Status {
                    const T* x = a.input<T>(0);
                    auto* y = a.output<std::int64_t>(0);
                    for (std::int64_t row = 0; row < rows.outer * rows.inner; ++row) {
                      const std::int64_t at = row / rows.inner * rows.depth * rows.inner + row % rows.inner;
                      y[row] = find<kLargest>(x + at, rows, last);
                    }
                    return {};
                  },
                  0};
  });
}

template <bool kLargest>
std::vector<Work> argWork(const OperatorCall& call) {
  const Rows rows = [&] {
    const std::size_t axis = *axisAttribute(call, 0, call.input(0).shape.size());
    return Rows::around(call.input(0).shape, axis, axis + 1);
  }();
  return {{Reduce{kLargest ? ReduceFunction::argmax : ReduceFunction::argmin, rows.outer * rows.inner,
                  rows.depth, rows.inner == 1, call.input(0).element},
           1, ""}};
}

template <bool kLargest>
void addArg(OperatorRegistry& registry, const char* type) {
  registry.add({.type = type,
                .attributes = {{"axis", AttributeKind::integer},
                               {"keepdims", AttributeKind::integer},
                               {"select_last_index", AttributeKind::integer}},
                .infer = inferArg,
                .kernel = argKernel<kLargest>,
                .work = argWork<kLargest>});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(arg_extremum) {
  addArg<true>(registry, "ArgMax");
  addArg<false>(registry, "ArgMin");
}

}  // namespace pipescope::ops
