// Transpose: output axis i is input axis perm[i]; without perm the axes are reversed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/moves/element_move.h"

namespace pipescope::ops {
namespace {

Result<std::vector<std::size_t>> transposeOrderOf(const OperatorCall& call) {
  const std::size_t rank = call.input(0).shape.size();
  Ints reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const Ints given = graph::intsAttribute(call.node, "perm", reversed);
  PIPESCOPE_ASSIGN(std::vector<std::size_t> order, axesWithin(call, given, rank, "perm"));
  if (order.size() == rank) return order;
  return base::badInput(fmt::format("{}: perm has {} axes, its input {}; it must name each once",
                                    call.title(), order.size(), rank));
}

ElementMove transposeSetupOf(const OperatorCall& call) {
  return transposition(call.input(0).shape, *transposeOrderOf(call), graph::sizeOf(call.input(0).element));
}

Result<std::vector<TensorType>> inferTranspose(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::vector<std::size_t> order, transposeOrderOf(call));
  Shape shape;
  for (const std::size_t axis : order) shape.push_back(call.input(0).shape[axis]);
  return std::vector<TensorType>{{call.input(0).element, shape}};
}

Result<Kernel> transposeKernel(const OperatorCall& call) {
  return Kernel{[setup = transposeSetupOf(call)](const KernelArguments& a) -> Status {
                  setup.run(a, a.inputs[0].data(), a.outputs[0].data());
                  return {};
                },
                0};
}

std::vector<Work> transposeWork(const OperatorCall& call) {
  const ElementMove setup = transposeSetupOf(call);
  if (setup.runElements() == setup.elements()) return {};  // only axes of extent 1 change places
  return {moveWork(setup, call.input(0).element)};
}

Status transposeGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(const std::vector<std::size_t> order, transposeOrderOf(builder.call()));
  Ints back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
  return builder.addFor(0, "Transpose", "grad_input", {builder.outputGradient(0)}, {{"perm", back}});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(transpose) {
  registry.add({.type = "Transpose",
                .attributes = {{"perm", AttributeKind::integers}},
                .infer = inferTranspose,
                .kernel = transposeKernel,
                .work = transposeWork,
                .gradient = transposeGradient});
}

}  // namespace pipescope::ops
