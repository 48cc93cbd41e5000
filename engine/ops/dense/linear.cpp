#include "engine/ops/dense/linear.h"

#include "engine/ops/dense/matmul_setup.h"
#include "engine/ops/dense/packed_product.h"

namespace pipescope::ops {
namespace {

Result<Product> productOf(const OperatorCall& call) {
  const bool transposed = graph::intAttribute(call.node, "transposed", 0) != 0;
  Shape weight = call.input(1).shape;
  PIPESCOPE_CHECK(weight.size() == 2, call.title());
  if (transposed) std::swap(weight[0], weight[1]);
  PIPESCOPE_ASSIGN(const MatMulSetup setup, matMulSetup(call, call.input(0).shape, weight));
  PIPESCOPE_CHECK(setup.matrices == 1, call.title());  // all rows share one weight
  return denseProduct(setup.m, setup.n, setup.k, false, transposed, false);
}

template <bool kRelu>
Result<Kernel> linearKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Product shape, productOf(call));
  const PackedProduct product(shape);
  return Kernel{[product](const KernelArguments& a) -> Status {
                  product.run(a, 1.0F, a.input<float>(0), a.input<float>(1), a.output<float>(0),
                              a.scratchAs<float>(), Finish{a.input<float>(2), kRelu},
                              [](std::int64_t) { return PackedProduct::Place(); });
                  return {};
                },
                product.scratchElements() * static_cast<std::int64_t>(sizeof(float))};
}

}  // namespace

const OperatorDefinition& linearDefinition() {
  static const OperatorDefinition definition{.type = "Linear",
                                             .attributes = {{"transposed", AttributeKind::integer}},
                                             .minInputs = 2,
                                             .maxInputs = 3,
                                             .kernel = linearKernel<false>,
                                             .kernelWithRelu = linearKernel<true>};
  return definition;
}

}  // namespace pipescope::ops
