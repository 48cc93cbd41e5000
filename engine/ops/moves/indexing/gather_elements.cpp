// GatherElements picks the element at each index along an axis. GradGatherElements adds every gradient to its
// element in the order of the indices; it also serves TopK.
#include <fmt/format.h>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/moves/element_walk.h"
#include "engine/ops/moves/indexing/index_kernels.h"

namespace pipescope::ops {
namespace {

// --- GatherElements: data, indices → output --------------------------------------------

Result<std::vector<TensorType>> inferGatherElements(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementWalk walk, elementWalk(call, call.input(0).shape, 1));
  return inferredAs(call, call.input(0).element, walk.extents);
}

Result<Kernel> gatherElementsKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementWalk walk, elementWalk(call, call.input(0).shape, 1));
  return kernelForSizes(call.input(0).element, [&walk]<class Element>(Element) {
    return Kernel{[walk](const KernelArguments& a) -> Status {
                    const IndexReader indices(a.inputs[1].data(), walk.wide);
                    PIPESCOPE_TRY(walk.check(indices));
                    const Element* data = a.input<Element>(0);
                    Element* to = a.output<Element>(0);
                    walk.run(indices, [=](std::int64_t flat, std::int64_t from) { to[flat] = data[from]; });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gatherElementsWork(const OperatorCall& call) {
  return {{Gather{call.input(1).elements(), 1, call.input(0).elements(), call.input(0).element}, 1, ""}};
}

Status gatherElementsGradient(GradientBuilder& builder) {
  if (!builder.wants(0)) return {};
  return builder.addFor(0, "GradGatherElements", "grad_input",
                        {builder.node().inputs[1], builder.outputGradient(0)},
                        {{"axis", graph::intAttribute(builder.node(), "axis", 0)},
                         {"input_shape", builder.call().input(0).shape}});
}

// --- GradGatherElements: indices, dy → dx; attributes axis, input_shape ----------------

Result<std::vector<TensorType>> inferGatherElementsGradient(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_TRY(elementWalk(call, shape, 0));
  if (call.input(1).shape != call.input(0).shape) {
    return base::badInput(fmt::format("{}: its gradient is {}, its indices {}; they must be alike",
                                      call.title(), extentsText(call.input(1).shape),
                                      extentsText(call.input(0).shape)));
  }
  return inferredAs(call, call.input(1).element, shape);
}

Result<Kernel> gatherElementsGradientKernel(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_ASSIGN(const ElementWalk walk, elementWalk(call, shape, 0));
  return gatherGradientKernel(call, walk, graph::elementCount(shape));
}

std::vector<Work> gatherElementsGradientWork(const OperatorCall& call) {
  return {
      {Scatter{call.input(0).elements(), 1, call.outputs[0].elements(), true, call.input(1).element}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(gather_elements) {
  registry.add({.type = "GatherElements",
                .attributes = {{"axis", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferGatherElements,
                .kernel = gatherElementsKernel,
                .work = gatherElementsWork,
                .gradient = gatherElementsGradient});
  registry.add({.type = "GradGatherElements",
                .attributes = {{"axis", AttributeKind::integer}, {"input_shape", AttributeKind::integers}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferGatherElementsGradient,
                .kernel = gatherElementsGradientKernel,
                .work = gatherElementsGradientWork});
}

}  // namespace pipescope::ops
