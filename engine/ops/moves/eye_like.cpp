// EyeLike: a matrix of its input's shape with ones on the k-th diagonal.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferEyeLike(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType element, elementTypeAttribute(call, "dtype", call.input(0).element));
  if (call.input(0).shape.size() != 2) {
    return base::badInput(fmt::format("{}: its input is {}; it must be a matrix", call.title(),
                                      graph::toString(call.input(0))));
  }
  return std::vector<TensorType>{{element, call.input(0).shape}};
}

Result<Kernel> eyeLikeKernel(const OperatorCall& call) {
  const std::int64_t rows = call.input(0).shape[0], columns = call.input(0).shape[1];
  const std::int64_t k = std::clamp(graph::intAttribute(call.node, "k", 0), -rows, columns);
  return kernelForAll(call, call.outputs[0].element, [=]<class T>(T) {
    return Kernel{[=](const KernelArguments& a) -> Status {
                    T* y = a.output<T>(0);
                    std::fill_n(y, rows * columns, T(0));
                    for (std::int64_t i = std::max<std::int64_t>(0, -k); i < rows && i + k < columns; ++i)
                      y[i * columns + i + k] = T(1);
                    return {};
                  },
                  0};
  });
}

std::vector<Work> eyeLikeWork(const OperatorCall& call) {
  const TensorType& y = call.outputs[0];
  return {{Rearrange{y.elements(), y.elements(), y.element}, 1, "Fill"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(eye_like) {
  registry.add({.type = "EyeLike",
                .attributes = {{"dtype", AttributeKind::integer}, {"k", AttributeKind::integer}},
                .infer = inferEyeLike,
                .kernel = eyeLikeKernel,
                .work = eyeLikeWork});
}

}  // namespace pipescope::ops
