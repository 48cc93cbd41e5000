// Gemm: Y = alpha·A'·B' + beta·C, where A' and B' may be transposed and C is broadcast to Y. Its gradients
// are Gemms and a ReduceSum.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/matrix.h"
#include "engine/ops/dense/packed_product.h"

namespace pipescope::ops {
namespace {

using base::badInput;

/// Attributes of the Gemms that are gradients: which of the three products of a layer it is
/// (Contraction::Phase), and whether its result is the transpose of what the product gives.
constexpr const char *kPhase = "phase", *kTurned = "turned";

struct GemmPlan {
  Product product;
  double alpha = 1, beta = 1;
  bool bias = false;
  std::int64_t biasRow = 0, biasColumn = 0;  ///< steps through C for each row and column of Y; 0: broadcast
};

/// The extents of C as a matrix, with 1 for missing leading axes.
Shape biasMatrix(const Shape& c) {
  Shape matrix = c;
  while (matrix.size() < 2) matrix.insert(matrix.begin(), 1);
  return matrix;
}

Result<GemmPlan> planOf(const OperatorCall& call) {
  const Shape &a = call.input(0).shape, &b = call.input(1).shape;
  if (a.size() != 2 || b.size() != 2) {
    return badInput(fmt::format("{}: its factors are {} and {}; both must be matrices", call.title(),
                                graph::toString(call.input(0)), graph::toString(call.input(1))));
  }
  GemmPlan plan;
  const bool transA = graph::intAttribute(call.node, "transA", 0) != 0,
             transB = graph::intAttribute(call.node, "transB", 0) != 0;
  const std::int64_t m = a[transA ? 1 : 0], k = a[transA ? 0 : 1], n = b[transB ? 0 : 1];
  if (b[transB ? 1 : 0] != k) {
    return badInput(fmt::format("{}: its weight expects {} features, but its input has {}", call.title(),
                                b[transB ? 1 : 0], k));
  }
  plan.product = denseProduct(m, n, k, transA, transB, false);
  plan.alpha = graph::floatAttribute(call.node, "alpha", 1);
  plan.beta = graph::floatAttribute(call.node, "beta", 1);
  plan.bias = call.has(2);
  if (plan.bias) {
    const Shape c = biasMatrix(call.input(2).shape);
    if (c.size() != 2 || (c[0] != 1 && c[0] != m) || (c[1] != 1 && c[1] != n)) {
      return badInput(fmt::format("{}: its bias is {}; it must spread over {}x{}", call.title(),
                                  graph::toString(call.input(2)), m, n));
    }
    plan.biasRow = c[0] == 1 ? 0 : c[1];
    plan.biasColumn = c[1] == 1 ? 0 : 1;
  }
  return plan;
}

Result<std::vector<TensorType>> inferGemm(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1, 2}));
  PIPESCOPE_ASSIGN(const GemmPlan plan, planOf(call));
  return std::vector<TensorType>{{call.input(0).element, {plan.product.m, plan.product.n}}};
}

/// Y = beta·C.
template <class T>
void spreadBias(const GemmPlan& plan, const T* c, T* y) {
  const T beta = static_cast<T>(plan.beta);
  for (std::int64_t row = 0; row < plan.product.m; ++row) {
    const T* from = c + row * plan.biasRow;
    T* to = y + row * plan.product.n;
    if (plan.biasColumn == 0) {
      std::fill_n(to, plan.product.n, beta * *from);
    } else {
      for (std::int64_t column = 0; column < plan.product.n; ++column) to[column] = beta * from[column];
    }
  }
}

template <class T>
void gemm(const GemmPlan& plan, const T* a, const T* b, const T* c, T* y) {
  Product product = plan.product;
  product.accumulate = plan.bias;
  if (plan.bias) spreadBias(plan, c, y);
  multiply(product, static_cast<T>(plan.alpha), a, b, y);
}

/// Whole numbers are computed element by element modulo 2ⁿ.
template <class T>
void wholeGemm(const GemmPlan& plan, const T* a, const T* b, const T* c, T* y) {
  const Product& p = plan.product;
  const auto alpha = static_cast<std::uint64_t>(static_cast<std::int64_t>(plan.alpha)),
             beta = static_cast<std::uint64_t>(static_cast<std::int64_t>(plan.beta));
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j, ++y) {
      std::uint64_t sum = 0;
      for (std::int64_t d = 0; d < p.k; ++d) {
        sum += static_cast<std::uint64_t>(a[p.transposeA ? d * p.m + i : i * p.k + d]) *
               static_cast<std::uint64_t>(b[p.transposeB ? j * p.k + d : d * p.n + j]);
      }
      const std::uint64_t bias =
          c ? static_cast<std::uint64_t>(c[i * plan.biasRow + j * plan.biasColumn]) : 0;
      *y = static_cast<T>(alpha * sum + beta * bias);
    }
  }
}

Result<Kernel> wholeGemmKernel(const OperatorCall& call, const GemmPlan& plan) {
  for (const double factor : {plan.alpha, plan.beta}) {
    if (std::nearbyint(factor) == factor && std::fabs(factor) < 0x1p62) continue;
    return badInput(
        fmt::format("{}: its factors are whole numbers, but alpha or beta is {}", call.title(), factor));
  }
  return kernelForIntegers(
      call, call.input(0).element,
      [&plan]<class T>(T) {
        return Kernel{[plan](const KernelArguments& a) -> Status {
                        wholeGemm(plan, a.input<T>(0), a.input<T>(1), a.input<T>(2), a.output<T>(0));
                        return {};
                      },
                      0};
      },
      "numbers");
}

/// Computes in float32 from packed operands. A bias with one number for each column is added as the sums are
/// finished.
Kernel packedGemm(const GemmPlan& plan, bool relu) {
  const PackedProduct product(plan.product);
  const bool perColumn = plan.bias && plan.biasRow == 0 && plan.biasColumn == 1 && plan.beta == 1;
  return {[plan, product, perColumn, relu](const KernelArguments& a) -> Status {
            if (plan.bias && !perColumn) spreadBias(plan, a.input<float>(2), a.output<float>(0));
            const Finish finish{perColumn ? a.input<float>(2) : nullptr, relu};
            const PackedProduct::Place place{0, 0, 0, plan.bias && !perColumn};
            product.run(a, static_cast<float>(plan.alpha), a.input<float>(0), a.input<float>(1),
                        a.output<float>(0), a.scratchAs<float>(), finish,
                        [&place](std::int64_t) { return place; });
            return {};
          },
          product.scratchElements() * static_cast<std::int64_t>(sizeof(float))};
}

template <bool kRelu>
Result<Kernel> gemmKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const GemmPlan plan, planOf(call));
  if (!isFloat(call.input(0).element)) {
    PIPESCOPE_CHECK(!kRelu, "whole numbers with a fused Relu");
    return wholeGemmKernel(call, plan);
  }
  return kernelForFloats(call, call.input(0).element, [&plan]<class T>(T) {
    if constexpr (std::is_same_v<T, float>) {
      return packedGemm(plan, kRelu);
    } else {
      return Kernel{[plan](const KernelArguments& a) -> Status {
                      gemm(plan, a.input<T>(0), a.input<T>(1), a.input<T>(2), a.output<T>(0));
                      if (kRelu) reluInPlace(a.output<T>(0), plan.product.m * plan.product.n);
                      return {};
                    },
                    0};
    }
  });
}

/// A gradient states the geometry of the product that it belongs to, [m,k]·[k,n], so that a device can plan
/// the three products of a layer together.
Contraction contractionOfGemm(const graph::Node& node, const Product& p) {
  Contraction c;
  c.phase = static_cast<Contraction::Phase>(graph::intAttribute(node, kPhase, 0));
  const bool turned = graph::intAttribute(node, kTurned, 0) != 0;
  std::int64_t rows = p.m;
  c.inputChannels = p.k;
  c.outputChannels = p.n;
  if (c.phase == Contraction::Phase::inputGradient) {
    // [m,n]·[n,k] or, turned, [k,n]·[n,m].
    rows = turned ? p.n : p.m;
    c.inputChannels = turned ? p.m : p.n;
    c.outputChannels = p.k;
  } else if (c.phase == Contraction::Phase::weightGradient) {
    // [k,m]·[m,n] or, turned, [n,m]·[m,k].
    rows = p.k;
    c.inputChannels = turned ? p.n : p.m;
    c.outputChannels = turned ? p.m : p.n;
  }
  c.field = c.output = {rows};
  return c;
}

std::vector<Work> gemmWork(const OperatorCall& call) {
  const Result<GemmPlan> plan = planOf(call);
  const Product& p = plan->product;
  const ElementType type = call.input(0).element;
  Contraction c = contractionOfGemm(call.node, p);
  c.kernel = c.stride = c.dilation = {1};
  c.padding = {0, 0};
  c.type = type;
  std::vector<Work> work{{c, 1, "MatMul"}};
  if (plan->alpha != 1) work.push_back({Map{MapFunction::multiply, p.m * p.n, 1, type, true}, 1, "Alpha"});
  if (plan->bias && plan->beta != 1)
    work.push_back({Map{MapFunction::multiply, call.input(2).elements(), 1, type, false}, 1, "Beta"});
  if (plan->bias) work.push_back({Map{MapFunction::add, p.m * p.n, 2, type, true}, 1, "Bias"});
  return work;
}

Status biasGradient(GradientBuilder& builder, const GemmPlan& plan) {
  const OperatorCall& call = builder.call();
  const Shape& c = call.input(2).shape;
  const Shape matrix = biasMatrix(c);
  std::vector<std::int64_t> axes;
  if (matrix[0] == 1 && plan.product.m != 1) axes.push_back(0);
  if (matrix[1] == 1 && plan.product.n != 1) axes.push_back(1);
  graph::TensorId gradient = builder.outputGradient(0);
  if (plan.beta != 1) {
    PIPESCOPE_ASSIGN(gradient,
                     builder.add("GradScale", "grad_bias_scaled", {gradient}, {{"factor", plan.beta}}));
  }
  if (!axes.empty()) {
    const bool dropRow = c.size() == 1 && axes == std::vector<std::int64_t>{0};
    PIPESCOPE_ASSIGN(gradient, builder.add("ReduceSum", "grad_bias", {gradient},
                                           {{"axes", axes}, {"keepdims", std::int64_t{dropRow ? 0 : 1}}}));
    if (dropRow) {
      builder.setInputGradient(2, gradient);
      return {};
    }
  }
  if (c != matrix) {
    return builder.addFor(2, "Reshape", "grad_bias_shaped", {gradient},
                          {{"shape", c}, {"allowzero", std::int64_t{1}}});
  }
  builder.setInputGradient(2, gradient);
  return {};
}

Status gemmGradient(GradientBuilder& builder) {
  const OperatorCall& call = builder.call();
  PIPESCOPE_ASSIGN(const GemmPlan plan, planOf(call));
  const bool transA = plan.product.transposeA, transB = plan.product.transposeB;
  const graph::TensorId a = call.node.inputs[0], b = call.node.inputs[1], dy = builder.outputGradient(0);
  const auto attributes = [&plan](bool left, bool right, Contraction::Phase phase, bool turned) {
    return graph::Attributes{{"transA", std::int64_t{left}},
                             {"transB", std::int64_t{right}},
                             {"alpha", plan.alpha},
                             {kPhase, static_cast<std::int64_t>(phase)},
                             {kTurned, std::int64_t{turned}}};
  };
  constexpr auto kInput = Contraction::Phase::inputGradient, kWeight = Contraction::Phase::weightGradient;
  if (builder.wants(0)) {
    PIPESCOPE_TRY(
        transA ? builder.addFor(0, "Gemm", "grad_input", {b, dy}, attributes(transB, true, kInput, true))
               : builder.addFor(0, "Gemm", "grad_input", {dy, b}, attributes(false, !transB, kInput, false)));
  }
  if (builder.wants(1)) {
    PIPESCOPE_TRY(
        transB
            ? builder.addFor(1, "Gemm", "grad_weight", {dy, a}, attributes(true, transA, kWeight, true))
            : builder.addFor(1, "Gemm", "grad_weight", {a, dy}, attributes(!transA, false, kWeight, false)));
  }
  return call.has(2) && builder.wants(2) ? biasGradient(builder, plan) : Status();
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(gemm) {
  registry.add({.type = "Gemm",
                .attributes = {{"alpha", AttributeKind::real},
                               {"beta", AttributeKind::real},
                               {kPhase, AttributeKind::integer},
                               {kTurned, AttributeKind::integer},
                               {"transA", AttributeKind::integer},
                               {"transB", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 3,
                .infer = inferGemm,
                .kernel = gemmKernel<false>,
                .work = gemmWork,
                .gradient = gemmGradient,
                .kernelWithRelu = gemmKernel<true>});
}

}  // namespace pipescope::ops
