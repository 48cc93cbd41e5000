// ReduceSum: axes are a constant second input, or (as up to opset 11, and in gradients) the attribute `axes`.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/dispatch.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/matrix.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct ReducePlan {
  Shape result;  ///< with or without the reduced axes
  Shape kept;    ///< the input's shape, reduced axes 1
  /// Runs of neighbouring axes that are all kept or all reduced; extents, outermost first.
  struct Run {
    std::int64_t extent = 1;
    bool reduced = false;
  };
  std::vector<Run> runs;
  std::int64_t outputs = 1, depth = 1;
};

Result<std::vector<bool>> reducedAxes(const OperatorCall& call) {
  const auto rank = static_cast<std::int64_t>(call.input(0).shape.size());
  const bool attribute = call.node.attributes.contains("axes");
  if (attribute && call.has(1))
    return badInput(fmt::format("{}: give its axes as second input or as attribute, not both", call.title()));
  std::vector<std::int64_t> axes = graph::intsAttribute(call.node, "axes", {});
  if (call.has(1)) {
    PIPESCOPE_ASSIGN(axes, call.constantInts(1, "its axes (input 1)"));
  }
  const bool all = axes.empty() && graph::intAttribute(call.node, "noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(static_cast<std::size_t>(rank), all);
  for (const std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return badInput(fmt::format("{}: axis {} is not one of the {} axes of {}", call.title(), axis, rank,
                                  graph::toString(call.input(0))));
    }
    reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  return reduced;
}

Result<ReducePlan> planOf(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::vector<bool> reduced, reducedAxes(call));
  const Shape& x = call.input(0).shape;
  const bool keep = graph::intAttribute(call.node, "keepdims", 1) != 0;
  ReducePlan plan;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    plan.kept.push_back(reduced[axis] ? 1 : x[axis]);
    if (keep || !reduced[axis]) plan.result.push_back(plan.kept.back());
    (reduced[axis] ? plan.depth : plan.outputs) *= x[axis];
    if (plan.runs.empty() || plan.runs.back().reduced != reduced[axis])
      plan.runs.push_back({1, reduced[axis]});
    plan.runs.back().extent *= x[axis];
  }
  return plan;
}

/// Adds x, seen along runs[at …], to y; returns how many outputs these runs have.
template <class T>
std::int64_t reduce(const std::vector<ReducePlan::Run>& runs, std::size_t at, const T* x, T* y) {
  if (at == runs.size()) {
    *y += *x;
    return 1;
  }
  std::int64_t below = 1, outputs = 1;
  for (std::size_t i = at + 1; i < runs.size(); ++i) {
    below *= runs[i].extent;
    if (!runs[i].reduced) outputs *= runs[i].extent;
  }
  const std::int64_t extent = runs[at].extent;
  if (runs[at].reduced && at + 1 == runs.size()) {
    *y += sumOf(x, extent);
  } else if (at + 1 == runs.size()) {
    for (std::int64_t i = 0; i < extent; ++i) y[i] += x[i];
  } else {
    for (std::int64_t i = 0; i < extent; ++i)
      reduce(runs, at + 1, x + i * below, runs[at].reduced ? y : y + i * outputs);
  }
  return runs[at].reduced ? outputs : outputs * extent;
}

Result<std::vector<TensorType>> inferReduceSum(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ReducePlan plan, planOf(call));
  return std::vector<TensorType>{{call.input(0).element, plan.result}};
}

Result<Kernel> reduceSumKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ReducePlan plan, planOf(call));
  return kernelForFloats(call, call.input(0).element, [&plan]<class T>(T) {
    return Kernel{[plan](const KernelArguments& a) -> Status {
                    std::fill_n(a.output<T>(0), plan.outputs, T(0));
                    if (plan.outputs * plan.depth > 0) reduce(plan.runs, 0, a.input<T>(0), a.output<T>(0));
                    return {};
                  },
                  0};
  });
}

std::vector<Work> reduceSumWork(const OperatorCall& call) {
  const Result<ReducePlan> plan = planOf(call);
  return {{Reduce{"sum", plan->outputs, plan->depth, !plan->runs.empty() && plan->runs.back().reduced,
                  call.input(0).element},
           1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(reduce_sum) {
  registry.add({.type = "ReduceSum",
                .attributes = {{"axes", AttributeKind::integers},
                               {"keepdims", AttributeKind::integer},
                               {"noop_with_empty_axes", AttributeKind::integer}},
                .maxInputs = 2,
                .infer = inferReduceSum,
                .kernel = reduceSumKernel,
                .work = reduceSumWork});
}

}  // namespace pipescope::ops
