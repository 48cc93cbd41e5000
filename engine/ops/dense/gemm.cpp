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

struct GemmSetup {
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

Result<GemmSetup> planOf(const OperatorCall& call) {
  const Shape &a = call.input(0).shape, &b = call.input(1).shape;
  if (a.size() != 2 || b.size() != 2) {
    return badInput(fmt::format("{}: its factors are {} and {}; both must be matrices", call.title(),
                                graph::toString(call.input(0)), graph::toString(call.input(1))));
  }
  GemmSetup setup;
  const bool transA = graph::intAttribute(call.node, "transA", 0) != 0,
             transB = graph::intAttribute(call.node, "transB", 0) != 0;
  const std::int64_t m = a[transA ? 1 : 0], k = a[transA ? 0 : 1], n = b[transB ? 0 : 1];
  if (b[transB ? 1 : 0] != k) {
    return badInput(fmt::format("{}: its weight expects {} features, but its input has {}", call.title(),
                                b[transB ? 1 : 0], k));
  }
  setup.product = denseProduct(m, n, k, transA, transB, false);
  setup.alpha = graph::floatAttribute(call.node, "alpha", 1);
  setup.beta = graph::floatAttribute(call.node, "beta", 1);
  setup.bias = call.has(2);
  if (setup.bias) {
    const Shape c = biasMatrix(call.input(2).shape);
    if (c.size() != 2 || (c[0] != 1 && c[0] != m) || (c[1] != 1 && c[1] != n)) {
      return badInput(fmt::format("{}: its bias is {}; it must spread over {}x{}", call.title(),
                                  graph::toString(call.input(2)), m, n));
    }
    setup.biasRow = c[0] == 1 ? 0 : c[1];
    setup.biasColumn = c[1] == 1 ? 0 : 1;
  }
  return setup;
}

Result<std::vector<TensorType>> inferGemm(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1, 2}));
  PIPESCOPE_ASSIGN(const GemmSetup setup, planOf(call));
  return std::vector<TensorType>{{call.input(0).element, {setup.product.m, setup.product.n}}};
}

/// Y = beta·C.
template <class T>
void spreadBias(const GemmSetup& setup, const T* c, T* y) {
  const T beta = static_cast<T>(setup.beta);
  for (std::int64_t row = 0; row < setup.product.m; ++row) {
    const T* from = c + row * setup.biasRow;
    T* to = y + row * setup.product.n;
    if (setup.biasColumn == 0) {
      std::fill_n(to, setup.product.n, beta * *from);
    } else {
      for (std::int64_t column = 0; column < setup.product.n; ++column) to[column] = beta * from[column];
    }
  }
}

template <class T>
void gemm(const GemmSetup& setup, const T* a, const T* b, const T* c, T* y) {
  Product product = setup.product;
  product.accumulate = setup.bias;
  if (setup.bias) spreadBias(setup, c, y);
  multiply(product, static_cast<T>(setup.alpha), a, b, y);
}

/// Whole numbers are computed element by element modulo 2ⁿ.
template <class T>
void wholeGemm(const GemmSetup& setup, const T* a, const T* b, const T* c, T* y) {
  const Product& p = setup.product;
  const auto alpha = static_cast<std::uint64_t>(static_cast<std::int64_t>(setup.alpha)),
             beta = static_cast<std::uint64_t>(static_cast<std::int64_t>(setup.beta));
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j, ++y) {
      std::uint64_t sum = 0;
      for (std::int64_t d = 0; d < p.k; ++d) {
        sum += static_cast<std::uint64_t>(a[p.transposeA ? d * p.m + i : i * p.k + d]) *
               static_cast<std::uint64_t>(b[p.transposeB ? j * p.k + d : d * p.n + j]);
      }
      const std::uint64_t bias =
          c ? static_cast<std::uint64_t>(c[i * setup.biasRow + j * setup.biasColumn]) : 0;
      *y = static_cast<T>(alpha * sum + beta * bias);
    }
  }
}

Result<Kernel> wholeGemmKernel(const OperatorCall& call, const GemmSetup& setup) {
  for (const double factor : {setup.alpha, setup.beta}) {
    if (std::nearbyint(factor) == factor && std::fabs(factor) < 0x1p62) continue;
    return badInput(
        fmt::format("{}: its factors are whole numbers, but alpha or beta is {}", call.title(), factor));
  }
  return kernelForIntegers(
      call, call.input(0).element,
      [&setup]<class T>(T) {
        return Kernel{[setup](const KernelArguments& a) -> Status {
                        wholeGemm(setup, a.input<T>(0), a.input<T>(1), a.input<T>(2), a.output<T>(0));
                        return {};
                      },
                      0};
      },
      "numbers");
}

/// Computes in float32 from packed operands. A bias with one number for each column is added as the sums are
/// finished.
Kernel packedGemm(const GemmSetup& setup, bool relu) {
  const PackedProduct product(setup.product);
  const bool perColumn = setup.bias && setup.biasRow == 0 && setup.biasColumn == 1 && setup.beta == 1;
  return {[setup, product, perColumn, relu](const KernelArguments& a) -> Status {
            if (setup.bias && !perColumn) spreadBias(setup, a.input<float>(2), a.output<float>(0));
            const Finish finish{perColumn ? a.input<float>(2) : nullptr, relu};
            const PackedProduct::Place place{0, 0, 0, setup.bias && !perColumn};
            product.run(a, static_cast<float>(setup.alpha), a.input<float>(0), a.input<float>(1),
                        a.output<float>(0), a.scratchAs<float>(), finish,
                        [&place](std::int64_t) { return place; });
            return {};
          },
          product.scratchElements() * static_cast<std::int64_t>(sizeof(float))};
}

template <bool kRelu>
Result<Kernel> gemmKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const GemmSetup setup, planOf(call));
  if (!isFloat(call.input(0).element)) {
    PIPESCOPE_CHECK(!kRelu, "whole numbers with a fused Relu");
    return wholeGemmKernel(call, setup);
  }
  return kernelForFloats(call, call.input(0).element, [&setup]<class T>(T) {
    if constexpr (std::is_same_v<T, float>) {
      return packedGemm(setup, kRelu);
    } else {
      return Kernel{[setup](const KernelArguments& a) -> Status {
                      gemm(setup, a.input<T>(0), a.input<T>(1), a.input<T>(2), a.output<T>(0));
                      if (kRelu) reluInPlace(a.output<T>(0), setup.product.m * setup.product.n);
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
  const Result<GemmSetup> setup = planOf(call);
  const Product& p = setup->product;
  const ElementType type = call.input(0).element;
  Contraction c = contractionOfGemm(call.node, p);
  c.kernel = c.stride = c.dilation = {1};
  c.padding = {0, 0};
  c.type = type;
  std::vector<Work> work{{c, 1, "MatMul"}};
  if (setup->alpha != 1) work.push_back({Map{MapFunction::multiply, p.m * p.n, 1, type, true}, 1, "Alpha"});
  if (setup->bias && setup->beta != 1)
    work.push_back({Map{MapFunction::multiply, call.input(2).elements(), 1, type, false}, 1, "Beta"});
  if (setup->bias) work.push_back({Map{MapFunction::add, p.m * p.n, 2, type, true}, 1, "Bias"});
  return work;
}

Status biasGradient(GradientBuilder& builder, const GemmSetup& setup) {
  const OperatorCall& call = builder.call();
  const Shape& c = call.input(2).shape;
  const Shape matrix = biasMatrix(c);
  std::vector<std::int64_t> axes;
  if (matrix[0] == 1 && setup.product.m != 1) axes.push_back(0);
  if (matrix[1] == 1 && setup.product.n != 1) axes.push_back(1);
  graph::TensorId gradient = builder.outputGradient(0);
  if (setup.beta != 1) {
    PIPESCOPE_ASSIGN(gradient,
                     builder.add("GradScale", "grad_bias_scaled", {gradient}, {{"factor", setup.beta}}));
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
  PIPESCOPE_ASSIGN(const GemmSetup setup, planOf(call));
  const bool transA = setup.product.transposeA, transB = setup.product.transposeB;
  const graph::TensorId a = call.node.inputs[0], b = call.node.inputs[1], dy = builder.outputGradient(0);
  const auto attributes = [&setup](bool left, bool right, Contraction::Phase phase, bool turned) {
    return graph::Attributes{{"transA", std::int64_t{left}},
                             {"transB", std::int64_t{right}},
                             {"alpha", setup.alpha},
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
  return call.has(2) && builder.wants(2) ? biasGradient(builder, setup) : Status();
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
