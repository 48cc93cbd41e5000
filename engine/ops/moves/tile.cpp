// Tile repeats the input along each axis. The gradient adds the repetitions up.
#include <fmt/format.h>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/moves/element_move.h"

namespace pipescope::ops {
namespace {

Result<Ints> repeatsOf(const OperatorCall& call) {
  const std::size_t rank = call.input(0).shape.size();
  PIPESCOPE_ASSIGN(Ints repeats, call.constantInts(1, "repeats (input 1)"));
  if (repeats.size() != rank) {
    return base::badInput(
        fmt::format("{}: repeats has {} numbers; its input has {} axes and needs one for each", call.title(),
                    repeats.size(), rank));
  }
  return repeats;
}

Result<std::vector<TensorType>> inferTile(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Ints repeats, repeatsOf(call));
  Shape shape = call.input(0).shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (repeats[axis] < 0 || __builtin_mul_overflow(shape[axis], repeats[axis], &shape[axis])) {
      return base::badInput(fmt::format("{}: cannot repeat {} elements {} times along axis {}", call.title(),
                                        call.input(0).shape[axis], repeats[axis], axis));
    }
  }
  return inferredAs(call, call.input(0).element, shape);
}

ElementMove tileSetupOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  const Ints repeats = *repeatsOf(call);
  Shape result = x;
  for (std::size_t axis = 0; axis < x.size(); ++axis) result[axis] *= repeats[axis];
  const Ints from = stridesOf(x), to = stridesOf(result);
  std::vector<MoveAxis> axes;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    axes.push_back({repeats[axis], 0, x[axis] * to[axis]});
    axes.push_back({x[axis], from[axis], to[axis]});
  }
  return {std::move(axes), graph::sizeOf(call.input(0).element)};
}

Result<Kernel> tileKernel(const OperatorCall& call) {
  return Kernel{[setup = tileSetupOf(call)](const KernelArguments& a) -> Status {
                  setup.run(a.inputs[0].data(), a.outputs[0].data());
                  return {};
                },
                0};
}

std::vector<Work> tileWork(const OperatorCall& call) {
  return {moveWork(tileSetupOf(call), call.input(0).element)};
}

Status tileGradient(GradientBuilder& builder) {
  if (!builder.wants(0)) return {};
  PIPESCOPE_ASSIGN(const Ints repeats, repeatsOf(builder.call()));
  const Shape& x = builder.call().input(0).shape;
  Shape apart;  // repeats and extents in turn
  Ints axes;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    axes.push_back(static_cast<std::int64_t>(apart.size()));
    apart.push_back(repeats[axis]);
    apart.push_back(x[axis]);
  }
  graph::TensorId gradient = builder.outputGradient(0);
  if (x.empty()) {
    builder.setInputGradient(0, gradient);
    return {};
  }
  PIPESCOPE_ASSIGN(gradient, builder.add("Reshape", "grad_apart", {gradient},
                                         {{"shape", apart}, {"allowzero", std::int64_t{1}}}));
  return builder.addFor(0, "ReduceSum", "grad_input", {gradient},
                        {{"axes", axes}, {"keepdims", std::int64_t{0}}});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(tile) {
  registry.add({.type = "Tile",
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferTile,
                .kernel = tileKernel,
                .work = tileWork,
                .gradient = tileGradient});
}

}  // namespace pipescope::ops
