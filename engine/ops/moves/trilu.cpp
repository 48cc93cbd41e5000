// Trilu keeps the upper or lower triangle of each matrix and sets the rest to zero. The gradient keeps the
// same triangle.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/index_reader.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferTrilu(const OperatorCall& call) {
  if (call.input(0).shape.size() < 2) {
    return base::badInput(fmt::format("{}: its input is {}; it must be one matrix or many", call.title(),
                                      graph::toString(call.input(0))));
  }
  if (call.has(1)) {
    PIPESCOPE_TRY(requireIndices(call, 1));
    if (call.input(1).elements() != 1) {
      return base::badInput(fmt::format("{}: k (input 1) is {}; it must be one number", call.title(),
                                        graph::toString(call.input(1))));
    }
  }
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> triluKernel(const OperatorCall& call) {
  const Shape& shape = call.input(0).shape;
  const std::int64_t columns = shape.back(), rows = shape[shape.size() - 2];
  const std::int64_t matrices = extentsWithin(shape, 0, shape.size() - 2);
  const bool upper = graph::intAttribute(call.node, "upper", 1) != 0;
  const bool wide = call.has(1) && wideIndices(call, 1);
  const bool given = call.has(1);
  return kernelForSizes(call.input(0).element, [=]<class Element>(Element) {
    return Kernel{[=](const KernelArguments& a) -> Status {
                    const std::int64_t k =
                        given ? std::clamp(IndexReader(a.inputs[1].data(), wide)[0], -rows, columns) : 0;
                    const Element* x = a.input<Element>(0);
                    Element* y = a.output<Element>(0);
                    for (std::int64_t r = 0; r < matrices * rows; ++r, x += columns, y += columns) {
                      // Columns before `cut` lie below diagonal k, the others on or above it.
                      const std::int64_t cut =
                          std::clamp<std::int64_t>(r % rows + k + (upper ? 0 : 1), 0, columns);
                      const std::int64_t from = upper ? cut : 0, to = upper ? columns : cut;
                      std::fill(y, y + from, Element(0));
                      if (x != y) std::copy(x + from, x + to, y + from);
                      std::fill(y + to, y + columns, Element(0));
                    }
                    return {};
                  },
                  0};
  });
}

std::vector<Work> triluWork(const OperatorCall& call) {
  const TensorType& x = call.input(0);
  return {{Rearrange{x.elements(), x.shape.back(), x.element}, 1, ""}};
}

Status triluGradient(GradientBuilder& builder) {
  std::vector<graph::TensorId> inputs = builder.node().inputs;
  inputs[0] = builder.outputGradient(0);
  return builder.addFor(0, "Trilu", "grad_input", std::move(inputs),
                        {{"upper", graph::intAttribute(builder.node(), "upper", 1)}});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(trilu) {
  registry.add({.type = "Trilu",
                .attributes = {{"upper", AttributeKind::integer}},
                .maxInputs = 2,
                .infer = inferTrilu,
                .kernel = triluKernel,
                .work = triluWork,
                .gradient = triluGradient,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
