// ScatterND copies the data and writes or adds rows where tuples of indices point, in their order.
// GradScatterND sets to zero what was overwritten.
#include <fmt/format.h>

#include "engine/ops/moves/indexing/index_kernels.h"
#include "engine/ops/moves/row_walk.h"

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

Result<Kernel> scatterNdKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const RowWalk walk, rowWalk(call, call.input(0).shape, 1, 0));
  return scatterKernel(call, walk);
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
  return addScatterGradients(builder, "GatherND", {});
}

// --- GradScatterND: indices, dy → gradient by the data ---------------------------------

Result<std::vector<TensorType>> inferScatterNdGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(rowWalk(call, call.input(1).shape, 0, 0));
  return std::vector<TensorType>{call.input(1)};
}

Result<Kernel> scatterNdGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const RowWalk walk, rowWalk(call, call.input(1).shape, 0, 0));
  return zeroingKernel(call, walk);
}

std::vector<Work> scatterNdGradientWork(const OperatorCall& call) {
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
                .infer = inferScatterNdGradient,
                .kernel = scatterNdGradientKernel,
                .work = scatterNdGradientWork,
                .inPlaceInput = 1});
}

}  // namespace pipescope::ops
