// ScatterND: a copy of the data with rows written or added where tuples of indices point, in their order.
// GradScatterND zeroes what was overwritten.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/ops/dispatch.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/row_walk.h"
#include "engine/ops/scatter_reduction.h"

namespace pipescope::ops {
namespace {

// --- ScatterND: data, indices, updates → output ----------------------------------------

Result<std::vector<TensorType>> inferScatterNd(const OperatorCall& call) {
  PIPESCOPE_TRY(scatterReduction(call));
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 2}));
  PIPESCOPE_ASSIGN(const RowWalk walk, rowWalk(call, call.input(0).shape, 1, 0));
  if (call.input(2).shape != walk.result) {
    return base::badInput(fmt::format("{}: its updates are {}; its indices point at {}", call.title(),
                                      extentsText(call.input(2).shape), extentsText(walk.result)));
  }
  return std::vector<TensorType>{call.input(0)};
}

template <class T>
Kernel scatterKernel(const RowWalk& walk, ScatterReduction reduction) {
  return {[walk, reduction](const KernelArguments& a) -> Status {
            const IndexReader indices(a.inputs[1].data(), walk.wide);
            PIPESCOPE_TRY(walk.check(indices));
            const T* updates = a.input<T>(2);
            T* y = a.output<T>(0);
            if (!a.outputs[0].empty() && a.inputs[0].data() != a.outputs[0].data())
              std::memcpy(y, a.inputs[0].data(), a.outputs[0].size());
            walk.run(indices, [=, row = walk.row](std::int64_t number, std::int64_t at) {
              for (std::int64_t i = 0; i < row; ++i)
                y[at + i] = combined(y[at + i], updates[number * row + i], reduction);
            });
            return {};
          },
          0};
}

Result<Kernel> scatterNdKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const RowWalk walk, rowWalk(call, call.input(0).shape, 1, 0));
  PIPESCOPE_ASSIGN(const ScatterReduction reduction, scatterReduction(call));
  const auto maker = [&]<class T>(T) { return scatterKernel<T>(walk, reduction); };
  const ElementType element = call.input(0).element;
  return reduction == ScatterReduction::none ? kernelForSizes(element, maker)
                                             : kernelForNumbers(call, element, maker);
}

Work rowsWork(const OperatorCall& call, const RowWalk& walk, const TensorType& data, bool adds,
              const char* label) {
  const std::int64_t tableRows = walk.row > 0 ? data.elements() / walk.row : 0;
  return {Scatter{walk.rows(), walk.row, tableRows, adds, call.outputs[0].element}, 1, label};
}

std::vector<Work> scatterNdWork(const OperatorCall& call) {
  const TensorType& data = call.input(0);
  const RowWalk walk = *rowWalk(call, data.shape, 1, 0);
  return {{Rearrange{data.elements(), data.elements(), data.element}, 1, "Copy"},
          rowsWork(call, walk, data, *scatterReduction(call) != ScatterReduction::none, "Update")};
}

Status scatterNdGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(const ScatterReduction reduction, scatterReduction(builder.call()));
  if (reduction != ScatterReduction::none && reduction != ScatterReduction::add) {
    return base::badInput(fmt::format("{}: cannot train through reduction {}; only through none and add",
                                      builder.call().title(),
                                      graph::stringAttribute(builder.node(), "reduction", "")));
  }
  const graph::TensorId indices = builder.node().inputs[1], dy = builder.outputGradient(0);
  if (builder.wants(0) && reduction == ScatterReduction::add) builder.setInputGradient(0, dy);
  if (builder.wants(0) && reduction == ScatterReduction::none)
    PIPESCOPE_TRY(builder.addFor(0, "GradScatterND", "grad_input", {indices, dy}, {}));
  if (builder.wants(2)) PIPESCOPE_TRY(builder.addFor(2, "GatherND", "grad_updates", {dy, indices}, {}));
  return {};
}

// --- GradScatterND: indices, dy → gradient by the data ---------------------------------

Result<std::vector<TensorType>> inferGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(rowWalk(call, call.input(1).shape, 0, 0));
  return std::vector<TensorType>{call.input(1)};
}

Result<Kernel> gradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const RowWalk walk, rowWalk(call, call.input(1).shape, 0, 0));
  return kernelForSizes(call.input(1).element, [&walk]<class Element>(Element) {
    return Kernel{[walk](const KernelArguments& a) -> Status {
                    const IndexReader indices(a.inputs[0].data(), walk.wide);
                    PIPESCOPE_TRY(walk.check(indices));
                    Element* dx = a.output<Element>(0);
                    if (a.inputs[1].data() != a.outputs[0].data())
                      std::memcpy(dx, a.inputs[1].data(), a.outputs[0].size());
                    walk.run(indices, [dx, row = walk.row](std::int64_t, std::int64_t at) {
                      std::fill_n(dx + at, row, Element(0));
                    });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gradientWork(const OperatorCall& call) {
  const TensorType& dy = call.input(1);
  return {{Rearrange{dy.elements(), dy.elements(), dy.element}, 1, "Copy"},
          rowsWork(call, *rowWalk(call, dy.shape, 0, 0), dy, false, "Zero")};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(scatter_nd) {
  registry.add({.type = "ScatterND",
                .attributes = {{"reduction", AttributeKind::text}},
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferScatterNd,
                .kernel = scatterNdKernel,
                .work = scatterNdWork,
                .gradient = scatterNdGradient,
                .inPlaceInput = 0});
  registry.add({.type = "GradScatterND",
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferGradient,
                .kernel = gradientKernel,
                .work = gradientWork,
                .inPlaceInput = 1});
}

}  // namespace pipescope::ops
