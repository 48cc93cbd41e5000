// MeanVarianceNormalization: (x − mean) ÷ (deviation + 1e-9) over the given axes (0, 2 and 3 by default);
// GradMeanVarianceNormalization: x, dy → dx.
#include <algorithm>
#include <cmath>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/reduce_norm/reduce_plan.h"

namespace pipescope::ops {
namespace {

constexpr double kEpsilon = 1e-9;

struct MvnPlan {
  ReducePlan reduce;
  Broadcast spread;
};

Result<MvnPlan> meanVarianceNormPlanOf(const OperatorCall& call) {
  Node node = call.node;
  if (!node.attributes.contains("axes")) node.attributes["axes"] = std::vector<std::int64_t>{0, 2, 3};
  node.attributes["noop_with_empty_axes"] = std::int64_t{1};
  const OperatorCall all{node, call.inputs, call.constants, call.outputs, call.requestedOutputs};
  PIPESCOPE_ASSIGN(ReducePlan reduce, reducePlanOf(all));
  const Shape& x = call.input(0).shape;
  Broadcast spread(x, {x, reduce.kept, reduce.kept});
  return MvnPlan{std::move(reduce), std::move(spread)};
}

Result<std::vector<TensorType>> inferMeanVarianceNorm(const OperatorCall& call) {
  PIPESCOPE_TRY(meanVarianceNormPlanOf(call));
  return std::vector<TensorType>{call.input(0)};
}

/// sums[o] = Σ f(input element, output) over the elements of each output.
template <class T, class F>
void sumUp(const ReducePlan& plan, T* sums, F f) {
  std::fill_n(sums, plan.outputs, T(0));
  walkReduction(
      plan.runs,
      [=](std::int64_t from, std::int64_t count, std::int64_t to) {
        sums[to] += laneSum<T>(count, [=](std::int64_t i) { return f(from + i, to); });
      },
      [=](std::int64_t from, std::int64_t count, std::int64_t to) {
        for (std::int64_t i = 0; i < count; ++i) sums[to + i] += f(from + i, to + i);
      });
}

/// Means, and then deviations in a second pass.
template <class T>
void statistics(const ReducePlan& plan, const T* x, T* means, T* deviations) {
  const T count = static_cast<T>(plan.depth);
  sumUp(plan, means, [=](std::int64_t i, std::int64_t) { return x[i]; });
  for (std::int64_t o = 0; o < plan.outputs; ++o) means[o] /= count;
  sumUp(plan, deviations,
        [=](std::int64_t i, std::int64_t o) { return (x[i] - means[o]) * (x[i] - means[o]); });
  for (std::int64_t o = 0; o < plan.outputs; ++o) deviations[o] = std::sqrt(deviations[o] / count);
}

Result<Kernel> meanVarianceNormKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const MvnPlan plan, meanVarianceNormPlanOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[plan](const KernelArguments& a) -> Status {
                    T *means = a.scratchAs<T>(), *deviations = means + plan.reduce.outputs;
                    statistics(plan.reduce, a.input<T>(0), means, deviations);
                    mapThree(plan.spread, a.input<T>(0), static_cast<const T*>(means),
                             static_cast<const T*>(deviations), a.output<T>(0), [](T x, T mean, T deviation) {
                               return (x - mean) / (deviation + static_cast<T>(kEpsilon));
                             });
                    return {};
                  },
                  2 * plan.reduce.outputs* static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> meanVarianceNormWork(const OperatorCall& call) {
  const MvnPlan plan = *meanVarianceNormPlanOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), outputs = plan.reduce.outputs;
  const bool neighbours = plan.reduce.contiguous();
  return {{Reduce{ReduceFunction::mean, outputs, plan.reduce.depth, neighbours, type}, 1, "Mean"},
          {Reduce{ReduceFunction::squareSum, outputs, plan.reduce.depth, neighbours, type}, 1, "Variance"},
          {Map{MapFunction::sqrt, outputs, 1, type, true}, 1, "Deviation"},
          {Map{MapFunction::subtract, all, 2, type, false}, 1, "Centre"},
          {Map{MapFunction::divide, all, 2, type, true}, 1, "Normalise"}};
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
void computeMeanVarianceNormGradient(const MvnPlan& plan, const T* x, const T* dy, T* dx, T* scratch) {
  const std::int64_t outputs = plan.reduce.outputs;
  T *means = scratch, *deviations = means + outputs, *shifts = deviations + outputs,
    *tilts = shifts + outputs;
  statistics(plan.reduce, x, means, deviations);
  sumUp(plan.reduce, shifts, [=](std::int64_t i, std::int64_t) { return dy[i]; });
  sumUp(plan.reduce, tilts, [=](std::int64_t i, std::int64_t o) { return dy[i] * (x[i] - means[o]); });
  const T count = static_cast<T>(plan.reduce.depth);
  for (std::int64_t o = 0; o < outputs; ++o) {
    const T d = deviations[o] + static_cast<T>(kEpsilon);
    tilts[o] = deviations[o] == T(0) ? T(0) : tilts[o] / (count * deviations[o] * d * d);
    shifts[o] = shifts[o] / count;
    deviations[o] = d;
  }
  // dx first holds (x − mean)·tilt, then the result.
  mapThree(plan.spread, x, static_cast<const T*>(means), static_cast<const T*>(tilts), dx,
           [](T value, T mean, T tilt) { return (value - mean) * tilt; });
  plan.spread.forRuns(
      [=, run = plan.spread.run(), step = plan.spread.step(1)](std::int64_t first, const auto& at) {
        for (std::int64_t i = 0; i < run; ++i) {
          const std::int64_t o = at[1] + i * step;
          dx[first + i] = (dy[first + i] - shifts[o]) / deviations[o] - dx[first + i];
        }
      });
}

Result<Kernel> meanVarianceNormGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const MvnPlan plan, meanVarianceNormPlanOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[plan](const KernelArguments& a) -> Status {
                    computeMeanVarianceNormGradient(plan, a.input<T>(0), a.input<T>(1), a.output<T>(0),
                                                    a.scratchAs<T>());
                    return {};
                  },
                  4 * plan.reduce.outputs* static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> meanVarianceNormGradientWork(const OperatorCall& call) {
  const MvnPlan plan = *meanVarianceNormPlanOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), outputs = plan.reduce.outputs;
  return {
      {Map{MapFunction::multiply, all, 2, type, false}, 1, "Product"},
      {Reduce{ReduceFunction::sum, outputs, plan.reduce.depth, plan.reduce.contiguous(), type}, 2, "Sums"},
      {Map{MapFunction::scaledAdd, all, 2, type, false}, 2, "Centre"},
      {Map{MapFunction::divide, all, 2, type, true}, 1, "Normalise"}};
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
