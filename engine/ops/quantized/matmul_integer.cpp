// MatMulInteger multiplies int8 or uint8 matrices minus their zero points, in int32. a has one zero point or
// one for each row, b has one or one for each column.
#include <fmt/format.h>

#include "engine/ops/core/common_work.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/dense/matmul_setup.h"

namespace pipescope::ops {
namespace {

using base::badInput;

bool isByte(ElementType type) {
  return type == ElementType::int8 || type == ElementType::uint8;
}

struct MatmulIntegerSetup {
  MatMulSetup product;
  std::int64_t rows = 1;  ///< rows of each matrix of a
  bool perRow = false, perColumn = false;
};

Status checkMatmulZeroPoint(const OperatorCall& call, std::size_t input, std::int64_t many) {
  if (!call.has(input)) return {};
  const TensorType& zero = call.input(input);
  if (zero.element == call.input(input - 2).element && (zero.elements() == 1 || zero.shape == Shape{many}))
    return {};
  return badInput(fmt::format("{}: its zero point (input {}) is {}; it must be one {} or {} of them",
                              call.title(), input, graph::toString(zero),
                              graph::toString(call.input(input - 2).element), many));
}

Result<MatmulIntegerSetup> matmulIntegerSetupOf(const OperatorCall& call) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!isByte(call.input(i).element)) return unsupportedType(call, call.input(i).element, "int8 and uint8");
  }
  MatmulIntegerSetup setup;
  const Shape &a = call.input(0).shape, &b = call.input(1).shape;
  PIPESCOPE_ASSIGN(setup.product, matMulSetup(call, a, b));
  setup.rows = a.size() > 1 ? a[a.size() - 2] : 1;
  PIPESCOPE_TRY(checkMatmulZeroPoint(call, 2, setup.rows));
  PIPESCOPE_TRY(checkMatmulZeroPoint(call, 3, setup.product.n));
  setup.perRow = call.has(2) && call.input(2).elements() > 1;
  setup.perColumn = call.has(3) && call.input(3).elements() > 1;
  return setup;
}

Result<std::vector<TensorType>> inferProduct(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const MatmulIntegerSetup setup, matmulIntegerSetupOf(call));
  return std::vector<TensorType>{{ElementType::int32, setup.product.result}};
}

template <class A, class B>
void runMatmulInteger(const MatmulIntegerSetup& setup, const KernelArguments& arguments) {
  const MatMulSetup& p = setup.product;
  const A* zeroA = arguments.input<A>(2);
  const B* zeroB = arguments.input<B>(3);
  auto* y = arguments.output<std::int32_t>(0);
  for (std::size_t s = 0; s < p.left.size(); ++s) {
    const A* a = arguments.input<A>(0) + p.left[s] * p.m * p.k;
    const B* b = arguments.input<B>(1) + p.right[s] * p.k * p.n;
    for (std::int64_t row = 0; row < p.m; ++row, y += p.n) {
      const std::int32_t offset = zeroA ? zeroA[setup.perRow ? row % setup.rows : 0] : 0;
      for (std::int64_t column = 0; column < p.n; ++column) y[column] = 0;
      for (std::int64_t i = 0; i < p.k; ++i) {
        const std::int32_t left = a[row * p.k + i] - offset;
        for (std::int64_t column = 0; column < p.n; ++column) {
          const std::int32_t right =
              b[i * p.n + column] - (zeroB ? zeroB[setup.perColumn ? column : 0] : std::int32_t{0});
          y[column] = static_cast<std::int32_t>(static_cast<std::uint32_t>(y[column]) +
                                                static_cast<std::uint32_t>(left * right));
        }
      }
    }
  }
}

Result<Kernel> productKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const MatmulIntegerSetup setup, matmulIntegerSetupOf(call));
  const bool a = call.input(0).element == ElementType::uint8, b = call.input(1).element == ElementType::uint8;
  return Kernel{[setup, a, b](const KernelArguments& arguments) -> Status {
                  if (a && b) {
                    runMatmulInteger<std::uint8_t, std::uint8_t>(setup, arguments);
                  } else if (a) {
                    runMatmulInteger<std::uint8_t, std::int8_t>(setup, arguments);
                  } else if (b) {
                    runMatmulInteger<std::int8_t, std::uint8_t>(setup, arguments);
                  } else {
                    runMatmulInteger<std::int8_t, std::int8_t>(setup, arguments);
                  }
                  return {};
                },
                0};
}

std::vector<Work> productWork(const OperatorCall& call) {
  const MatMulSetup p = matmulIntegerSetupOf(call)->product;
  Contraction c = productsOf(p.matrices, p.m, p.k, p.n, Contraction::Phase::forward, call.input(0).element);
  c.accumulate = ElementType::int32;
  return {{c, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(matmul_integer) {
  registry.add({.type = "MatMulInteger",
                .minInputs = 2,
                .maxInputs = 4,
                .infer = inferProduct,
                .kernel = productKernel,
                .work = productWork});
}

}  // namespace pipescope::ops
