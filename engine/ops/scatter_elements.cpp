// ScatterElements (and Scatter, its older name): a copy of the data with updates written or added at indices
// along an axis, in the order of the indices. GradScatterElements zeroes what was overwritten.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/ops/dispatch.h"
#include "engine/ops/element_walk.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/scatter_reduction.h"

namespace pipescope::ops {

Result<ScatterReduction> scatterReduction(const OperatorCall& call) {
  const std::string name = graph::stringAttribute(call.node, "reduction", "none");
  if (name == "none") return ScatterReduction::none;
  if (name == "add") return ScatterReduction::add;
  if (name == "mul") return ScatterReduction::mul;
  if (name == "min") return ScatterReduction::min;
  if (name == "max") return ScatterReduction::max;
  return base::badInput(
      fmt::format("{}: reduction is {}; it must be none, add, mul, min or max", call.title(), name));
}

namespace {

// --- ScatterElements: data, indices, updates → output ----------------------------------

Result<std::vector<TensorType>> inferScatterElements(const OperatorCall& call) {
  PIPESCOPE_TRY(scatterReduction(call));
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 2}));
  PIPESCOPE_ASSIGN(const ElementWalk walk, elementWalk(call, call.input(0).shape, 1));
  if (call.input(2).shape != walk.extents) {
    return base::badInput(fmt::format("{}: its updates are {}, its indices {}; they must be alike",
                                      call.title(), extentsText(call.input(2).shape),
                                      extentsText(walk.extents)));
  }
  return std::vector<TensorType>{call.input(0)};
}

template <class T>
Kernel scatterKernel(const ElementWalk& walk, ScatterReduction reduction) {
  return {[walk, reduction](const KernelArguments& a) -> Status {
            const IndexReader indices(a.inputs[1].data(), walk.wide);
            PIPESCOPE_TRY(walk.check(indices));
            const T* updates = a.input<T>(2);
            T* y = a.output<T>(0);
            if (!a.outputs[0].empty() && a.inputs[0].data() != a.outputs[0].data())
              std::memcpy(y, a.inputs[0].data(), a.outputs[0].size());
            walk.run(indices, [=](std::int64_t flat, std::int64_t to) {
              y[to] = combined(y[to], updates[flat], reduction);
            });
            return {};
          },
          0};
}

Result<Kernel> scatterElementsKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementWalk walk, elementWalk(call, call.input(0).shape, 1));
  PIPESCOPE_ASSIGN(const ScatterReduction reduction, scatterReduction(call));
  const auto maker = [&]<class T>(T) { return scatterKernel<T>(walk, reduction); };
  const ElementType element = call.input(0).element;
  return reduction == ScatterReduction::none ? kernelForSizes(element, maker)
                                             : kernelForNumbers(call, element, maker);
}

std::vector<Work> scatterElementsWork(const OperatorCall& call) {
  const bool adds = *scatterReduction(call) != ScatterReduction::none;
  const TensorType& data = call.input(0);
  return {{Rearrange{data.elements(), data.elements(), data.element}, 1, "Copy"},
          {Scatter{call.input(1).elements(), 1, data.elements(), adds, data.element}, 1, "Update"}};
}

Status scatterElementsGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(const ScatterReduction reduction, scatterReduction(builder.call()));
  if (reduction != ScatterReduction::none && reduction != ScatterReduction::add) {
    return base::badInput(fmt::format("{}: cannot train through reduction {}; only through none and add",
                                      builder.call().title(),
                                      graph::stringAttribute(builder.node(), "reduction", "")));
  }
  const graph::TensorId indices = builder.node().inputs[1], dy = builder.outputGradient(0);
  const graph::Attributes axis{{"axis", graph::intAttribute(builder.node(), "axis", 0)}};
  if (builder.wants(0) && reduction == ScatterReduction::add) builder.setInputGradient(0, dy);
  if (builder.wants(0) && reduction == ScatterReduction::none)
    PIPESCOPE_TRY(builder.addFor(0, "GradScatterElements", "grad_input", {indices, dy}, axis));
  if (builder.wants(2))
    PIPESCOPE_TRY(builder.addFor(2, "GatherElements", "grad_updates", {dy, indices}, axis));
  return {};
}

// --- GradScatterElements: indices, dy → gradient by the data; attribute axis -----------

Result<std::vector<TensorType>> inferGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(elementWalk(call, call.input(1).shape, 0));
  return std::vector<TensorType>{call.input(1)};
}

Result<Kernel> gradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementWalk walk, elementWalk(call, call.input(1).shape, 0));
  return kernelForSizes(call.input(1).element, [&walk]<class Element>(Element) {
    return Kernel{[walk](const KernelArguments& a) -> Status {
                    const IndexReader indices(a.inputs[0].data(), walk.wide);
                    PIPESCOPE_TRY(walk.check(indices));
                    Element* dx = a.output<Element>(0);
                    if (a.inputs[1].data() != a.outputs[0].data())
                      std::memcpy(dx, a.inputs[1].data(), a.outputs[0].size());
                    walk.run(indices, [dx](std::int64_t, std::int64_t to) { dx[to] = 0; });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gradientWork(const OperatorCall& call) {
  const TensorType& dy = call.input(1);
  return {{Rearrange{dy.elements(), dy.elements(), dy.element}, 1, "Copy"},
          {Scatter{call.input(0).elements(), 1, dy.elements(), false, dy.element}, 1, "Zero"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(scatter_elements) {
  OperatorDefinition definition{
      .type = "ScatterElements",
      .attributes = {{"axis", AttributeKind::integer}, {"reduction", AttributeKind::text}},
      .minInputs = 3,
      .maxInputs = 3,
      .infer = inferScatterElements,
      .kernel = scatterElementsKernel,
      .work = scatterElementsWork,
      .gradient = scatterElementsGradient,
      .inPlaceInput = 0};
  registry.add(definition);
  definition.type = "Scatter";
  definition.attributes = {{"axis", AttributeKind::integer}};
  registry.add(definition);
  registry.add({.type = "GradScatterElements",
                .attributes = {{"axis", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferGradient,
                .kernel = gradientKernel,
                .work = gradientWork,
                .inPlaceInput = 1});
}

}  // namespace pipescope::ops
