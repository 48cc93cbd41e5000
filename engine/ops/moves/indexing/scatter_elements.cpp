// ScatterElements (formerly Scatter) copies the data and writes or adds updates at indices along an axis, in
// the order of the indices. GradScatterElements sets to zero what was overwritten.
#include <fmt/format.h>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/moves/element_walk.h"
#include "engine/ops/moves/indexing/index_kernels.h"

namespace pipescope::ops {
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

Result<Kernel> scatterElementsKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementWalk walk, elementWalk(call, call.input(0).shape, 1));
  return scatterKernel(call, walk);
}

std::vector<Work> scatterElementsWork(const OperatorCall& call) {
  const bool adds = *scatterReduction(call) != ScatterReduction::none;
  const TensorType& data = call.input(0);
  return {{Rearrange{data.elements(), data.elements(), data.element}, 1, "Copy"},
          {Scatter{call.input(1).elements(), 1, data.elements(), adds, data.element}, 1, "Update"}};
}

Status scatterElementsGradient(GradientBuilder& builder) {
  return addScatterGradients(builder, "GatherElements",
                             {{"axis", graph::intAttribute(builder.node(), "axis", 0)}});
}

// --- GradScatterElements: indices, dy → gradient by the data; attribute axis -----------

Result<std::vector<TensorType>> inferScatterElementsGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(elementWalk(call, call.input(1).shape, 0));
  return std::vector<TensorType>{call.input(1)};
}

Result<Kernel> scatterElementsGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementWalk walk, elementWalk(call, call.input(1).shape, 0));
  return zeroingKernel(call, walk);
}

std::vector<Work> scatterElementsGradientWork(const OperatorCall& call) {
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
                .infer = inferScatterElementsGradient,
                .kernel = scatterElementsGradientKernel,
                .work = scatterElementsGradientWork,
                .inPlaceInput = 1});
}

}  // namespace pipescope::ops
