// LayerNormalization: x, scale, [bias] → y, [mean, inverse deviation]; GradLayerNormalization: x, scale, dy →
// dx, dscale, dbias. Mean and variance are over all axes from `axis` on, in two passes.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/ranges.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/reduce_norm/normalization.h"

namespace pipescope::ops {
namespace {

using base::badInput;

constexpr std::int64_t kMostParts = 16;

struct LayerNormSetup {
  std::int64_t rows = 1, depth = 1;
  double epsilon = 1e-5;
  Shape statistics;  ///< statistics of the optional outputs
};

Result<LayerNormSetup> layerNormSetupOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, -1, x.size()));
  LayerNormSetup setup;
  const Shape normalised(x.begin() + static_cast<std::ptrdiff_t>(axis), x.end());
  setup.depth = graph::elementCount(normalised);
  setup.rows = graph::elementCount(Shape(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis)));
  setup.epsilon = graph::floatAttribute(call.node, "epsilon", double(1e-5F));
  setup.statistics = x;
  for (std::size_t i = axis; i < x.size(); ++i) setup.statistics[i] = 1;
  if (call.input(1) != TensorType{call.input(0).element, normalised}) {
    return badInput(fmt::format("{}: its scale is {}; it must be {}", call.title(),
                                graph::toString(call.input(1)),
                                graph::toString({call.input(0).element, normalised})));
  }
  return setup;
}

Result<std::vector<TensorType>> inferLayerNorm(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LayerNormSetup setup, layerNormSetupOf(call));
  if (call.has(2)) PIPESCOPE_TRY(requireSameTypes(call, 1, 2));
  const std::int64_t stash = graph::intAttribute(call.node, "stash_type", 1);
  if (stash != 1)
    return badInput(fmt::format("{}: stash_type is {}; it must be 1 (float32)", call.title(), stash));
  const TensorType statistics{ElementType::float32, setup.statistics};
  return std::vector<TensorType>{call.input(0), statistics, statistics};
}

template <class T>
void normalise(const LayerNormSetup& setup, const KernelArguments& a) {
  const T *scale = a.input<T>(1), *bias = a.input<T>(2);
  forItems(a, setup.rows, setup.depth, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t row = first; row < end; ++row) {
      const T* x = a.input<T>(0) + row * setup.depth;
      T* y = a.output<T>(0) + row * setup.depth;
      const Moments<T> own = momentsOf(Pieces{1, 0, setup.depth}, x);
      const T mean = own.mean, inverse = own.inverse(setup.epsilon);
      if (bias) {
        PIPESCOPE_ELEMENTWISE
        for (std::int64_t i = 0; i < setup.depth; ++i) y[i] = (x[i] - mean) * inverse * scale[i] + bias[i];
      } else {
        PIPESCOPE_ELEMENTWISE
        for (std::int64_t i = 0; i < setup.depth; ++i) y[i] = (x[i] - mean) * inverse * scale[i];
      }
      if (float* means = a.output<float>(1)) means[row] = static_cast<float>(mean);
      if (float* inverses = a.output<float>(2)) inverses[row] = static_cast<float>(inverse);
    }
  });
}

Result<Kernel> normKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LayerNormSetup setup, layerNormSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    normalise<T>(setup, a);
                    return {};
                  },
                  0};
  });
}

std::vector<Work> layerNormWork(const OperatorCall& call) {
  const LayerNormSetup setup = *layerNormSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements();
  std::vector<Work> work{
      {Reduce{ReduceFunction::mean, setup.rows, setup.depth, true, type}, 1, "Mean"},
      {Reduce{ReduceFunction::squareSum, setup.rows, setup.depth, true, type}, 1, "Variance"},
      {Map{MapFunction::rsqrt, setup.rows, 1, type, true}, 1, "InverseDeviation"},
      {Map{MapFunction::subtract, all, 2, type, false}, 1, "Centre"},
      {Map{MapFunction::multiply, all, 2, type, true}, 1, "Normalise"},
      {Map{MapFunction::multiply, all, 2, type, true}, 1, "Scale"}};
  if (call.has(2)) work.push_back({Map{MapFunction::add, all, 2, type, true}, 1, "Bias"});
  return work;
}

Status layerNormGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid() && builder.outputGradient(i).valid()) {
      return badInput(
          fmt::format("{}: cannot train through its mean and deviation outputs", builder.call().title()));
    }
  }
  const graph::Attributes& attributes = node.attributes;
  PIPESCOPE_ASSIGN(
      const std::vector<graph::TensorId> gradients,
      builder.addMany("GradLayerNormalization", "grad_input",
                      {node.inputs[0], node.inputs[1], builder.outputGradient(0)}, attributes, 3));
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (builder.wants(i)) builder.setInputGradient(i, gradients[i]);
  }
  return {};
}

// --- GradLayerNormalization ------------------------------------------------------------------

Result<std::vector<TensorType>> inferLayerNormGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(layerNormSetupOf(call));
  PIPESCOPE_TRY(requireSameTypes(call, 0, 2));
  return std::vector<TensorType>{call.input(0), call.input(1), call.input(1)};
}

/// The number of parts of the sums over rows. One task makes each part; then they are added up in order.
std::int64_t partsOf(const LayerNormSetup& setup) {
  return std::clamp<std::int64_t>(setup.rows * setup.depth / kRangeElements, 1, kMostParts);
}

/// The rows of one part: dx, and the part's sums for scale and bias.
template <class T>
void gradientRows(const LayerNormSetup& setup, const KernelArguments& a, std::int64_t first, std::int64_t end,
                  T* __restrict dscale, T* __restrict dbias) {
  std::fill_n(dscale, setup.depth, T(0));
  std::fill_n(dbias, setup.depth, T(0));
  const T* scale = a.input<T>(1);
  const T count = static_cast<T>(setup.depth);
  for (std::int64_t row = first; row < end; ++row) {
    const T *x = a.input<T>(0) + row * setup.depth, *dy = a.input<T>(2) + row * setup.depth;
    T* dx = a.output<T>(0) + row * setup.depth;
    const Moments<T> own = momentsOf(Pieces{1, 0, setup.depth}, x);
    const T mean = own.mean, inverse = own.inverse(setup.epsilon);
    const auto sums = laneSums<T>(setup.depth, [=](std::int64_t i) {
      const T up = dy[i] * scale[i];
      return std::pair(up, up * (x[i] - mean));
    });
    const T shift = sums.first / count, tilt = sums.second * inverse / count * inverse;
    // dx may lie over dy, because an element is read before it is written.
    PIPESCOPE_ELEMENTWISE
    for (std::int64_t i = 0; i < setup.depth; ++i) {
      const T up = dy[i], away = x[i] - mean;
      dscale[i] += up * (away * inverse);
      dbias[i] += up;
      dx[i] = inverse * (up * scale[i] - shift - away * tilt);
    }
  }
}

template <class T>
void gradient(const LayerNormSetup& setup, const KernelArguments& a) {
  const std::int64_t parts = partsOf(setup), each = (setup.rows + parts - 1) / parts,
                     padded = paddedElements<T>(setup.depth);
  T* sums = a.scratchAs<T>();
  a.parallel(parts, [&](std::int64_t part) {
    gradientRows(setup, a, std::min(setup.rows, part * each), std::min(setup.rows, (part + 1) * each),
                 sums + 2 * part * padded, sums + (2 * part + 1) * padded);
  });
  for (std::size_t which = 0; which < 2; ++which) {
    T* __restrict total = a.output<T>(1 + which);
    std::fill_n(total, setup.depth, T(0));
    for (std::int64_t part = 0; part < parts; ++part) {
      const T* own = sums + (2 * part + static_cast<std::int64_t>(which)) * padded;
      for (std::int64_t i = 0; i < setup.depth; ++i) total[i] += own[i];
    }
  }
}

Result<Kernel> layerNormGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LayerNormSetup setup, layerNormSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    gradient<T>(setup, a);
                    return {};
                  },
                  2 * partsOf(setup) * paddedElements<T>(setup.depth) * static_cast<std::int64_t>(sizeof(T))};
  });
}

/// x̂ is computed again, and the sums are taken once for the gradients by scale and bias and once for dx (C:
/// popart's groupnormx.cpp; PopLibs, popnn/GroupNorm.cpp and poplin/Norms.cpp).
std::vector<Work> layerNormGradientWork(const OperatorCall& call) {
  const LayerNormSetup setup = *layerNormSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements();
  const Work product{Map{MapFunction::multiply, all, 2, type, false}, 1, "Product"};
  return {{Map{MapFunction::subtract, all, 2, type, false}, 1, "Centre"},
          {Map{MapFunction::multiply, all, 2, type, true}, 1, "Whiten"},
          product,
          {Reduce{ReduceFunction::sum, 2 * setup.depth, setup.rows, false, type}, 1, "ScaleAndBias"},
          {Map{MapFunction::multiply, all, 2, type, false}, 1, "Scale"},
          product,
          {Reduce{ReduceFunction::sum, 2 * setup.rows, setup.depth, true, type}, 1, "Sums"},
          {Map{MapFunction::copy, all, 1, type, false}, 1, "Copy"},
          {Map{MapFunction::multiply, all, 2, type, false}, 1, "VarianceGradient"},
          {Map{MapFunction::add, all, 2, type, true}, 1, "MeanGradient"},
          {Map{MapFunction::scaledAdd, all, 2, type, true}, 1, "AddGradients"},
          {Map{MapFunction::multiply, all, 2, type, true}, 1, "InverseDeviation"}};
}

const std::vector<AttributeRule>& layerNormAttributes() {
  static const std::vector<AttributeRule> rules{{"axis", AttributeKind::integer},
                                                {"epsilon", AttributeKind::real},
                                                {"stash_type", AttributeKind::integer}};
  return rules;
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(layer_normalization) {
  registry.add({.type = "LayerNormalization",
                .attributes = layerNormAttributes(),
                .minInputs = 2,
                .maxInputs = 3,
                .maxOutputs = 3,
                .infer = inferLayerNorm,
                .kernel = normKernel,
                .work = layerNormWork,
                .gradient = layerNormGradient,
                .inPlaceInput = 0});
  registry.add({.type = "GradLayerNormalization",
                .attributes = layerNormAttributes(),
                .minInputs = 3,
                .maxInputs = 3,
                .maxOutputs = 3,
                .infer = inferLayerNormGradient,
                .kernel = layerNormGradientKernel,
                .work = layerNormGradientWork,
                .inPlaceInput = 2});
}

}  // namespace pipescope::ops
