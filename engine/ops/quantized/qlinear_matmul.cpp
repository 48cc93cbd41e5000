// QLinearMatMul multiplies quantized matrices (or stacks of them, with numpy's broadcasting), sums in 32 bits
// and quantizes again. a and y have one scale each, b has one or one for each column.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/quantized/quantization.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct Plan {
  std::int64_t m = 1, k = 1, n = 1;
  Ints left, right;  ///< the first elements of each product's matrices
  Shape result;
  bool columnScales = false;
};

Result<Plan> qlinearMatmulSetupOf(const OperatorCall& call) {
  Shape a = call.input(0).shape, b = call.input(3).shape;
  const bool vectorA = a.size() == 1, vectorB = b.size() == 1;
  if (vectorA) a.insert(a.begin(), 1);
  if (vectorB) b.push_back(1);
  const std::size_t rank = std::max(a.size(), b.size());
  const bool fits = a.size() >= 2 && b.size() >= 2 && a.back() == b[b.size() - 2];
  Plan setup;
  Shape stack;
  Ints strideA, strideB;
  bool broadcasts = fits;
  for (std::size_t axis = 0; fits && axis + 2 < rank; ++axis) {
    const std::int64_t x = axis + a.size() >= rank ? a[axis + a.size() - rank] : 1;
    const std::int64_t y = axis + b.size() >= rank ? b[axis + b.size() - rank] : 1;
    broadcasts = broadcasts && (x == y || x == 1 || y == 1);
    stack.push_back(x == 1 ? y : x);
    strideA.push_back(x == 1 ? 0 : extentsWithin(a, axis + a.size() - rank + 1, a.size()));
    strideB.push_back(y == 1 ? 0 : extentsWithin(b, axis + b.size() - rank + 1, b.size()));
  }
  if (!broadcasts) {
    return badInput(fmt::format("{}: cannot multiply {} by {}", call.title(), graph::toString(call.input(0)),
                                graph::toString(call.input(3))));
  }
  setup.m = a[a.size() - 2];
  setup.k = a.back();
  setup.n = b.back();
  setup.result = stack;
  if (!vectorA) setup.result.push_back(setup.m);
  if (!vectorB) setup.result.push_back(setup.n);
  PIPESCOPE_TRY(requireSize(call, setup.result));
  for (std::int64_t product = 0; product < graph::elementCount(stack); ++product) {
    std::int64_t rest = product, left = 0, right = 0;
    for (std::size_t axis = stack.size(); axis-- > 0; rest /= stack[axis]) {
      left += rest % stack[axis] * strideA[axis];
      right += rest % stack[axis] * strideB[axis];
    }
    setup.left.push_back(left);
    setup.right.push_back(right);
  }
  setup.columnScales = call.input(4).elements() != 1;
  return setup;
}

Result<std::vector<TensorType>> inferQLinearMatMul(const OperatorCall& call) {
  for (const std::size_t input : {0, 3, 7}) PIPESCOPE_TRY(requireQuantized(call, input));
  PIPESCOPE_ASSIGN(const Plan setup, qlinearMatmulSetupOf(call));
  PIPESCOPE_TRY(requireScale(call, 1, 2, call.input(0).element, 1));
  PIPESCOPE_TRY(requireScale(call, 4, 5, call.input(3).element, setup.n));
  PIPESCOPE_TRY(requireScale(call, 6, 7, call.input(7).element, 1));
  return std::vector<TensorType>{{call.input(7).element, setup.result}};
}

template <class A, class B, class Y>
void multiplyQuantized(const Plan& setup, const KernelArguments& a) {
  const std::int32_t zeroA = *a.input<A>(2);
  const double scale = static_cast<double>(*a.input<float>(1)),
               scaleY = static_cast<double>(*a.input<float>(6));
  const Y zeroY = *a.input<Y>(7);
  Y* y = a.output<Y>(0);
  auto* sums = a.scratchAs<std::uint32_t>();  // wraps, as 32-bit sums do
  for (std::size_t product = 0; product < setup.left.size(); ++product) {
    const A* left = a.input<A>(0) + setup.left[product];
    for (std::int64_t row = 0; row < setup.m; ++row, left += setup.k) {
      std::fill_n(sums, setup.n, 0U);
      const B* right = a.input<B>(3) + setup.right[product];
      for (std::int64_t i = 0; i < setup.k; ++i, right += setup.n) {
        const std::int32_t factor = std::int32_t{left[i]} - zeroA;
        for (std::int64_t column = 0; column < setup.n; ++column) {
          const B zero = a.input<B>(5)[setup.columnScales ? column : 0];
          sums[column] +=
              static_cast<std::uint32_t>(factor * (std::int32_t{right[column]} - std::int32_t{zero}));
        }
      }
      for (std::int64_t column = 0; column < setup.n; ++column) {
        const double both = scale * static_cast<double>(a.input<float>(4)[setup.columnScales ? column : 0]);
        *y++ = saturated(static_cast<std::int32_t>(sums[column]) * (both / scaleY), zeroY);
      }
    }
  }
}

Result<Kernel> qlinearMatMulKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Plan setup, qlinearMatmulSetupOf(call));
  return kernelForQuantized(call, call.input(0).element, [&]<class A>(A) {
    return *kernelForQuantized(call, call.input(3).element, [&]<class B>(B) {
      return *kernelForQuantized(call, call.input(7).element, [&]<class Y>(Y) {
        return Kernel{[setup](const KernelArguments& a) -> Status {
                        multiplyQuantized<A, B, Y>(setup, a);
                        return {};
                      },
                      setup.n * 4};
      });
    });
  });
}

std::vector<Work> qlinearMatMulWork(const OperatorCall& call) {
  const Plan setup = *qlinearMatmulSetupOf(call);
  Contraction c;
  c.groups = static_cast<std::int64_t>(setup.left.size());
  c.inputChannels = setup.k;
  c.outputChannels = setup.n;
  c.field = c.output = {setup.m};
  c.kernel = c.stride = c.dilation = {1};
  c.padding = {0, 0};
  c.type = call.input(0).element;
  c.accumulate = ElementType::int32;
  const std::int64_t elements = graph::elementCount(setup.result);
  return {{c, 1, "Product"},
          {Map{MapFunction::quantize, elements, 1, ElementType::int32, false}, 1, "Quantize"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(qlinear_matmul) {
  registry.add({.type = "QLinearMatMul",
                .minInputs = 8,
                .maxInputs = 8,
                .infer = inferQLinearMatMul,
                .kernel = qlinearMatMulKernel,
                .work = qlinearMatMulWork});
}

}  // namespace pipescope::ops
