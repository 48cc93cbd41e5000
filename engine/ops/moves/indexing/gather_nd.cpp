// GatherND picks the row that each tuple of indices names. GradGatherND adds the gradients of the rows in the
// order of the tuples.
#include <fmt/format.h>

#include <cstring>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/moves/indexing/index_kernels.h"
#include "engine/ops/moves/row_walk.h"

namespace pipescope::ops {
namespace {

Result<RowWalk> walkOf(const OperatorCall& call, const Shape& data, std::size_t indices) {
  return rowWalk(call, data, indices, graph::intAttribute(call.node, "batch_dims", 0));
}

// --- GatherND: data, indices → rows ----------------------------------------------------

Result<std::vector<TensorType>> inferGatherNd(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const RowWalk walk, walkOf(call, call.input(0).shape, 1));
  return inferredAs(call, call.input(0).element, walk.result);
}

Result<Kernel> gatherNdKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const RowWalk walk, walkOf(call, call.input(0).shape, 1));
  return Kernel{[walk, size = graph::sizeOf(call.input(0).element)](const KernelArguments& a) -> Status {
                  const IndexReader indices(a.inputs[1].data(), walk.wide);
                  PIPESCOPE_TRY(walk.check(indices));
                  const auto bytes = static_cast<std::size_t>(walk.row * size);
                  if (bytes == 0) return {};
                  const std::byte* data = a.inputs[0].data();
                  std::byte* to = a.outputs[0].data();
                  walk.run(indices, [=](std::int64_t number, std::int64_t at) {
                    std::memcpy(to + static_cast<std::size_t>(number) * bytes, data + at * size, bytes);
                  });
                  return {};
                },
                0};
}

std::vector<Work> gatherNdWork(const OperatorCall& call) {
  const RowWalk walk = *walkOf(call, call.input(0).shape, 1);
  return {{Gather{walk.rows(), walk.row, walk.row > 0 ? call.input(0).elements() / walk.row : 0,
                  call.input(0).element},
           1, ""}};
}

Status gatherNdGradient(GradientBuilder& builder) {
  if (!builder.wants(0)) return {};
  return builder.addFor(0, "GradGatherND", "grad_input",
                        {builder.node().inputs[1], builder.outputGradient(0)},
                        {{"batch_dims", graph::intAttribute(builder.node(), "batch_dims", 0)},
                         {"input_shape", builder.call().input(0).shape}});
}

// --- GradGatherND: indices, dy → dx; attributes batch_dims, input_shape ----------------

Result<std::vector<TensorType>> inferGatherNdGradient(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_ASSIGN(const RowWalk walk, walkOf(call, shape, 0));
  if (call.input(1).shape != walk.result) {
    return base::badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}",
                                      call.title(), extentsText(call.input(1).shape),
                                      extentsText(walk.result)));
  }
  return inferredAs(call, call.input(1).element, shape);
}

Result<Kernel> gatherNdGradientKernel(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_ASSIGN(const RowWalk walk, walkOf(call, shape, 0));
  return gatherGradientKernel(call, walk, graph::elementCount(shape));
}

std::vector<Work> gatherNdGradientWork(const OperatorCall& call) {
  const RowWalk walk = *walkOf(call, graph::intsAttribute(call.node, "input_shape", {}), 0);
  const std::int64_t tableRows = walk.row > 0 ? call.outputs[0].elements() / walk.row : 0;
  return {{Scatter{walk.rows(), walk.row, tableRows, true, call.input(1).element}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(gather_nd) {
  registry.add({.type = "GatherND",
                .attributes = {{"batch_dims", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferGatherNd,
                .kernel = gatherNdKernel,
                .work = gatherNdWork,
                .gradient = gatherNdGradient});
  registry.add(
      {.type = "GradGatherND",
       .attributes = {{"batch_dims", AttributeKind::integer}, {"input_shape", AttributeKind::integers}},
       .minInputs = 2,
       .maxInputs = 2,
       .infer = inferGatherNdGradient,
       .kernel = gatherNdGradientKernel,
       .work = gatherNdGradientWork});
}

}  // namespace pipescope::ops
