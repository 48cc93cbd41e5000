// MeanVarianceNormalization: (x − mean) ÷ (deviation + 1e-9) over the given axes (0, 2 and 3 by default);
// GradMeanVarianceNormalization: x, dy → dx.
#include <algorithm>
#include <cmath>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/reduce_norm/reduce_setup.h"

namespace pipescope::ops {
namespace {

constexpr double kEpsilon = 1e-9;

struct MvnSetup {
  ReduceSetup reduce;
  Broadcast spread;
};

Result<MvnSetup> meanVarianceNormSetupOf(const OperatorCall& call) {
  Node node = call.node;
  if (!node.attributes.contains("axes")) node.attributes["axes"] = std::vector<std::int64_t>{0, 2, 3};
  node.attributes["noop_with_empty_axes"] = std::int64_t{1};
  const OperatorCall all{node, call.inputs, call.constants, call.outputs, call.requestedOutputs};
  PIPESCOPE_ASSIGN(ReduceSetup reduce, reduceSetupOf(all));
  const Shape& x = call.input(0).shape;
  Broadcast spread(x, {x, reduce.kept, reduce.kept});
  return MvnSetup{std::move(reduce), std::move(spread)};
}

Result<std::vector<TensorType>> inferMeanVarianceNorm(const OperatorCall& call) {
  PIPESCOPE_TRY(meanVarianceNormSetupOf(call));
  return std::vector<TensorType>{call.input(0)};
}

/// sums[o] = Σ f(input element, output) over the elements of each output.
template <class T, class F>
void sumUp(const ReduceSetup& setup, T* sums, F f) {
  std::fill_n(sums, setup.outputs, T(0));
  walkReduction(
      setup.runs,
      [=](std::int64_t from, std::int64_t count, std::int64_t to) {
        sums[to] += laneSum<T>(count, [=](std::int64_t i) { return f(from + i, to); });
      },
      [=](std::int64_t from, std::int64_t count, std::int64_t to) {
        for (std::int64_t i = 0; i < count; ++i) sums[to + i] += f(from + i, to + i);
      });
}

/// Means, and then deviations in a second pass.
template <class T>
void statistics(const ReduceSetup& setup, const T* x, T* means, T* deviations) {
  const T count = static_cast<T>(setup.depth);
  sumUp(setup, means, [=](std::int64_t i, std::int64_t) { return x[i]; });
  for (std::int64_t o = 0; o < setup.outputs; ++o) means[o] /= count;
  sumUp(setup, deviations,
        [=](std::int64_t i, std::int64_t o) { return (x[i] - means[o]) * (x[i] - means[o]); });
  for (std::int64_t o = 0; o < setup.outputs; ++o) deviations[o] = std::sqrt(deviations[o] / count);
}

Result<Kernel> meanVarianceNormKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const MvnSetup setup, meanVarianceNormSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    T *means = a.scratchAs<T>(), *deviations = means + setup.reduce.outputs;
                    statistics(setup.reduce, a.input<T>(0), means, deviations);
                    mapThree(setup.spread, a.input<T>(0), static_cast<const T*>(means),
                             static_cast<const T*>(deviations), a.output<T>(0), [](T x, T mean, T deviation) {
                               return (x - mean) / (deviation + static_cast<T>(kEpsilon));
                             });
                    return {};
                  },
                  2 * setup.reduce.outputs* static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> meanVarianceNormWork(const OperatorCall& call) {
  const MvnSetup setup = *meanVarianceNormSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), outputs = setup.reduce.outputs;
  const bool neighbours = setup.reduce.contiguous();
  return {{Reduce{ReduceFunction::mean, outputs, setup.reduce.depth, neighbours, type}, 1, "Mean"},
          {Reduce{ReduceFunction::squareSum, outputs, setup.reduce.depth, neighbours, type}, 1, "Variance"},
          {Map{MapFunction::sqrt, outputs, 1, type, true}, 1, "Deviation"},
          {Map{MapFunction::subtract, all, 2, type, false}, 1, "Centre"},
          {Map{MapFunction::divide, all, 2, type, true, setup.reduce.contiguous()}, 1, "Normalise"}};
}

Status meanVarianceNormGradient(GradientBuilder& builder) {
  return builder.addFor(0, "GradMeanVarianceNormalization", "grad_input",
                        {builder.node().inputs[0], builder.outputGradient(0)}, builder.node().attributes);
}

Result<std::vector<TensorType>> inferMeanVarianceNormGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameTypes(call, 0, 1));
  return inferMeanVarianceNorm(call);
}

/// Computes dx = (dy − Σ dy ÷ n) ÷ d − (x − mean)·Σ dy·(x − mean) ÷ (n·deviation·d²), where d = deviation +
/// ε.
template <class T>
void computeMeanVarianceNormGradient(const MvnSetup& setup, const T* x, const T* dy, T* dx, T* scratch) {
  const std::int64_t outputs = setup.reduce.outputs;
  T *means = scratch, *deviations = means + outputs, *shifts = deviations + outputs,
    *tilts = shifts + outputs;
  statistics(setup.reduce, x, means, deviations);
  sumUp(setup.reduce, shifts, [=](std::int64_t i, std::int64_t) { return dy[i]; });
  sumUp(setup.reduce, tilts, [=](std::int64_t i, std::int64_t o) { return dy[i] * (x[i] - means[o]); });
  const T count = static_cast<T>(setup.reduce.depth);
  for (std::int64_t o = 0; o < outputs; ++o) {
    const T d = deviations[o] + static_cast<T>(kEpsilon);
    tilts[o] = deviations[o] == T(0) ? T(0) : tilts[o] / (count * deviations[o] * d * d);
    shifts[o] = shifts[o] / count;
    deviations[o] = d;
  }
  // dx first holds (x − mean)·tilt, then the result.
  mapThree(setup.spread, x, static_cast<const T*>(means), static_cast<const T*>(tilts), dx,
           [](T value, T mean, T tilt) { return (value - mean) * tilt; });
  setup.spread.forRuns(
      [=, run = setup.spread.run(), step = setup.spread.step(1)](std::int64_t first, const auto& at) {
        for (std::int64_t i = 0; i < run; ++i) {
          const std::int64_t o = at[1] + i * step;
          dx[first + i] = (dy[first + i] - shifts[o]) / deviations[o] - dx[first + i];
        }
      });
}

Result<Kernel> meanVarianceNormGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const MvnSetup setup, meanVarianceNormSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    computeMeanVarianceNormGradient(setup, a.input<T>(0), a.input<T>(1), a.output<T>(0),
                                                    a.scratchAs<T>());
                    return {};
                  },
                  4 * setup.reduce.outputs* static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> meanVarianceNormGradientWork(const OperatorCall& call) {
  const MvnSetup setup = *meanVarianceNormSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), outputs = setup.reduce.outputs;
  return {
      {Map{MapFunction::multiply, all, 2, type, false}, 1, "Product"},
      {Reduce{ReduceFunction::sum, outputs, setup.reduce.depth, setup.reduce.contiguous(), type}, 2, "Sums"},
      {Map{MapFunction::scaledAdd, all, 2, type, false}, 2, "Centre"},
      {Map{MapFunction::divide, all, 2, type, true, setup.reduce.contiguous()}, 1, "Normalise"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(mean_variance_normalization) {
  registry.add({.type = "MeanVarianceNormalization",
                .attributes = {{"axes", AttributeKind::integers}},
                .infer = inferMeanVarianceNorm,
                .kernel = meanVarianceNormKernel,
                .work = meanVarianceNormWork,
                .gradient = meanVarianceNormGradient});
  registry.add({.type = "GradMeanVarianceNormalization",
                .attributes = {{"axes", AttributeKind::integers}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferMeanVarianceNormGradient,
                .kernel = meanVarianceNormGradientKernel,
                .work = meanVarianceNormGradientWork});
}

}  // namespace pipescope::ops
