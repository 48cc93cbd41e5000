// MatMul by numpy's rules: stacks of matrices broadcast, and vectors become matrices of one row or column.
// Its gradients GradMatMulLeft (dy, b → da) and GradMatMulRight (a, dy → db) sum over broadcast stacks in
// ascending order.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "engine/ops/core/common_work.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/matrix.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/dense/integer_product.h"
#include "engine/ops/dense/matmul_setup.h"
#include "engine/ops/dense/packed_product.h"

namespace pipescope::ops {
namespace {

using base::badInput;

Result<MatMulSetup> forwardSetup(const OperatorCall& call) {
  return matMulSetup(call, call.input(0).shape, call.input(1).shape);
}

template <class T>
void product(const Product& shape, const T* a, const T* b, T* c) {
  if constexpr (std::is_floating_point_v<T>) {
    multiply(shape, T(1), a, b, c);
  } else {
    integerProduct<T, T>(shape.m, shape.n, shape.k, a, T(0), b, T(0), c);
  }
}

Contraction contractionOf(const MatMulSetup& setup, Contraction::Phase phase, ElementType type) {
  return productsOf(setup.matrices, setup.m, setup.k, setup.n, phase, type);
}

// --- MatMul ------------------------------------------------------------------------------

Result<std::vector<TensorType>> inferMatMul(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  PIPESCOPE_ASSIGN(const MatMulSetup setup, forwardSetup(call));
  return std::vector<TensorType>{{call.input(0).element, setup.result}};
}

/// All float32 products of a stack. They run side by side unless one adds to the result of another.
Kernel packedKernel(const Product& shape, std::vector<PackedProduct::Place> places, bool apart) {
  const PackedProduct products(shape, static_cast<std::int64_t>(places.size()), apart);
  return {[products, places = std::move(places)](const KernelArguments& a) -> Status {
            products.run(a, 1.0F, a.input<float>(0), a.input<float>(1), a.output<float>(0),
                         a.scratchAs<float>(), {},
                         [&places](std::int64_t i) { return places[static_cast<std::size_t>(i)]; });
            return {};
          },
          products.scratchElements() * static_cast<std::int64_t>(sizeof(float))};
}

Result<Kernel> matMulKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const MatMulSetup setup, forwardSetup(call));
  const Product shape = denseProduct(setup.m, setup.n, setup.k, false, false, false);
  return kernelForNumbers(call, call.input(0).element, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, float>) {
      std::vector<PackedProduct::Place> places;
      for (std::size_t i = 0; i < setup.left.size(); ++i) {
        places.push_back({setup.left[i] * setup.m * setup.k, setup.right[i] * setup.k * setup.n,
                          static_cast<std::int64_t>(i) * setup.m * setup.n, false});
      }
      return packedKernel(shape, std::move(places), true);
    } else {
      return Kernel{[setup, shape](const KernelArguments& arguments) -> Status {
                      const T *a = arguments.input<T>(0), *b = arguments.input<T>(1);
                      T* y = arguments.output<T>(0);
                      for (std::size_t i = 0; i < setup.left.size(); ++i, y += setup.m * setup.n)
                        product(shape, a + setup.left[i] * setup.m * setup.k,
                                b + setup.right[i] * setup.k * setup.n, y);
                      return {};
                    },
                    0};
    }
  });
}

std::vector<Work> matMulWork(const OperatorCall& call) {
  return {{contractionOf(*forwardSetup(call), Contraction::Phase::forward, call.input(0).element), 1, ""}};
}

Status matMulGradient(GradientBuilder& builder) {
  const OperatorCall& call = builder.call();
  const graph::TensorId dy = builder.outputGradient(0);
  if (builder.wants(0)) {
    PIPESCOPE_TRY(builder.addFor(0, "GradMatMulLeft", "grad_input", {dy, builder.node().inputs[1]},
                                 {{"input_shape", call.input(0).shape}}));
  }
  if (builder.wants(1)) {
    PIPESCOPE_TRY(builder.addFor(1, "GradMatMulRight", "grad_weight", {builder.node().inputs[0], dy},
                                 {{"input_shape", call.input(1).shape}}));
  }
  return {};
}

// --- Gradients -----------------------------------------------------------------------------

/// The forward setup from the inputs of the gradient operator: dy is input `dy`, and the other factor is
/// beside it.
Result<MatMulSetup> gradientSetup(const OperatorCall& call, bool left) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  const Shape own = graph::intsAttribute(call.node, "input_shape", {});
  const Shape& other = call.input(left ? 1 : 0).shape;
  PIPESCOPE_ASSIGN(MatMulSetup setup, left ? matMulSetup(call, own, other) : matMulSetup(call, other, own));
  if (call.input(left ? 0 : 1).shape == setup.result) return setup;
  return badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}", call.title(),
                              graph::toString(call.input(left ? 0 : 1)), extentsText(setup.result)));
}

Result<std::vector<TensorType>> inferMatmulGradient(const OperatorCall& call, bool left) {
  PIPESCOPE_TRY(gradientSetup(call, left));
  return std::vector<TensorType>{{call.input(0).element, graph::intsAttribute(call.node, "input_shape", {})}};
}
Result<std::vector<TensorType>> inferLeft(const OperatorCall& call) {
  return inferMatmulGradient(call, true);
}
Result<std::vector<TensorType>> inferRight(const OperatorCall& call) {
  return inferMatmulGradient(call, false);
}

/// Marks the products that write first to their target; the others add to it.
std::vector<bool> firstOf(const std::vector<std::int64_t>& targets) {
  std::vector<bool> first, seen;
  for (const std::int64_t target : targets) {
    const auto at = static_cast<std::size_t>(target);
    if (seen.size() <= at) seen.resize(at + 1, false);
    first.push_back(!seen[at]);
    seen[at] = true;
  }
  return first;
}

/// The target (da or db) of each product of a gradient, and whether it writes there first.
Result<Kernel> matmulGradientKernel(const OperatorCall& call, const MatMulSetup& setup, bool left) {
  const std::vector<std::int64_t>& targets = left ? setup.left : setup.right;
  const std::vector<bool> first = firstOf(targets);
  const Product shape = left ? denseProduct(setup.m, setup.k, setup.n, false, true, false)
                             : denseProduct(setup.k, setup.n, setup.m, true, false, false);
  std::vector<PackedProduct::Place> places;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::int64_t dy = static_cast<std::int64_t>(i) * setup.m * setup.n,
                       a = setup.left[i] * setup.m * setup.k, b = setup.right[i] * setup.k * setup.n;
    places.push_back({left ? dy : a, left ? b : dy, left ? a : b, !first[i]});
  }
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, float>) {
      return packedKernel(shape, places, std::ranges::count(first, false) == 0);
    } else {
      return Kernel{[shape, places](const KernelArguments& arguments) -> Status {
                      Product own = shape;
                      for (const PackedProduct::Place& place : places) {
                        own.accumulate = place.accumulate;
                        multiply(own, T(1), arguments.input<T>(0) + place.a, arguments.input<T>(1) + place.b,
                                 arguments.output<T>(0) + place.c);
                      }
                      return {};
                    },
                    0};
    }
  });
}

Result<Kernel> leftKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const MatMulSetup setup, gradientSetup(call, true));
  return matmulGradientKernel(call, setup, true);
}

Result<Kernel> rightKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const MatMulSetup setup, gradientSetup(call, false));
  return matmulGradientKernel(call, setup, false);
}

std::vector<Work> leftWork(const OperatorCall& call) {
  return {
      {contractionOf(*gradientSetup(call, true), Contraction::Phase::inputGradient, call.input(0).element), 1,
       ""}};
}
std::vector<Work> rightWork(const OperatorCall& call) {
  return {
      {contractionOf(*gradientSetup(call, false), Contraction::Phase::weightGradient, call.input(0).element),
       1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(matmul) {
  registry.add({.type = "MatMul",
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferMatMul,
                .kernel = matMulKernel,
                .work = matMulWork,
                .gradient = matMulGradient});
  registry.add({.type = "GradMatMulLeft",
                .attributes = {{"input_shape", AttributeKind::integers}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferLeft,
                .kernel = leftKernel,
                .work = leftWork});
  registry.add({.type = "GradMatMulRight",
                .attributes = {{"input_shape", AttributeKind::integers}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferRight,
                .kernel = rightKernel,
                .work = rightWork});
}

}  // namespace pipescope::ops
