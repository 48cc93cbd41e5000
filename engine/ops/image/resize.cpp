// Resize and Upsample interpolate by nearest, linear or cubic weights, one axis after another. GradResize
// gives every input element its share of the output's gradients.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/image/resize_plan.h"

namespace pipescope::ops {
namespace {

Result<ResizePlan> resizePlanOf(const OperatorCall& call, ResizeTables tables) {
  return call.node.op == "Upsample" ? upsamplePlan(call, call.input(0).shape, tables)
                                    : resizePlan(call, call.input(0).shape, 1, tables);
}

/// One axis of a dense tensor: outer × in × inner → outer × out × inner.
struct Pass {
  ResizeAxis axis;
  std::int64_t outer = 1, inner = 1;
  std::int64_t inElements() const { return outer * axis.in * inner; }
  std::int64_t outElements() const { return outer * axis.out * inner; }
};

/// The passes in the order of the axes. All but the last end in scratch memory.
std::vector<Pass> passesOf(const ResizePlan& plan) {
  std::vector<Pass> passes;
  Shape shape = plan.input;
  for (const std::size_t axis : plan.passes()) {
    passes.push_back(
        {plan.axes[axis], extentsWithin(shape, 0, axis), extentsWithin(shape, axis + 1, shape.size())});
    shape[axis] = plan.output[axis];
  }
  return passes;
}

std::int64_t largestBetween(const std::vector<Pass>& passes) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i + 1 < passes.size(); ++i) most = std::max(most, passes[i].outElements());
  return most;
}

template <class T>
void spread(const Pass& pass, const T* x, T* y) {
  const ResizeAxis& axis = pass.axis;
  for (std::int64_t o = 0; o < pass.outer; ++o, x += axis.in * pass.inner) {
    for (std::int64_t j = 0; j < axis.out; ++j, y += pass.inner) {
      for (std::int64_t k = 0; k < axis.taps; ++k) {
        const auto at = static_cast<std::size_t>(j * axis.taps + k);
        const T* from = x + axis.places[at] * pass.inner;
        if constexpr (std::is_floating_point_v<T>) {
          const T weight = static_cast<T>(axis.weights[at]);
          if (axis.taps == 1) {
            std::copy_n(from, pass.inner, y);
          } else if (k == 0) {
            for (std::int64_t i = 0; i < pass.inner; ++i) y[i] = weight * from[i];
          } else {
            for (std::int64_t i = 0; i < pass.inner; ++i) y[i] += weight * from[i];
          }
        } else {
          std::copy_n(from, pass.inner, y);
        }
      }
    }
  }
}

/// The opposite direction: dx = Σ weight · dy, in the order of the outputs.
template <class T>
void gatherBack(const Pass& pass, const T* dy, T* dx) {
  const ResizeAxis& axis = pass.axis;
  std::fill_n(dx, pass.inElements(), T(0));
  for (std::int64_t o = 0; o < pass.outer; ++o, dx += axis.in * pass.inner) {
    for (std::int64_t j = 0; j < axis.out; ++j, dy += pass.inner) {
      for (std::int64_t k = 0; k < axis.taps; ++k) {
        const auto at = static_cast<std::size_t>(j * axis.taps + k);
        const T weight = static_cast<T>(axis.weights[at]);
        T* to = dx + axis.places[at] * pass.inner;
        for (std::int64_t i = 0; i < pass.inner; ++i) to[i] += weight * dy[i];
      }
    }
  }
}

/// Writes a value at every position that lies outside the crop on any axis.
template <class T>
void fillOutside(const ResizePlan& plan, std::size_t axis, bool outside, std::int64_t& flat, T value, T* y) {
  if (axis == plan.axes.size()) {
    if (outside) y[flat] = value;
    ++flat;
    return;
  }
  for (std::int64_t j = 0; j < plan.output[axis]; ++j) {
    const std::vector<bool>& list = plan.axes[axis].outside;
    fillOutside(plan, axis + 1, outside || (!list.empty() && list[static_cast<std::size_t>(j)]), flat, value,
                y);
  }
}

// --- Resize: X, [roi, scales, sizes] → Y -----------------------------------------------

Result<std::vector<TensorType>> inferResize(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ResizePlan plan, resizePlanOf(call, ResizeTables::none));
  return inferredAs(call, call.input(0).element, plan.output);
}

template <class T>
Kernel resizes(const ResizePlan& plan) {
  const std::vector<Pass> passes = passesOf(plan);
  const std::int64_t between = paddedElements<T>(largestBetween(passes));
  return {[plan, passes, between](const KernelArguments& a) -> Status {
            T* buffers[] = {a.scratchAs<T>(), a.scratchAs<T>() + between};
            const T* from = a.input<T>(0);
            for (std::size_t i = 0; i < passes.size(); ++i) {
              T* to = i + 1 == passes.size() ? a.output<T>(0) : buffers[i % 2];
              spread(passes[i], from, to);
              from = to;
            }
            if (passes.empty() && !a.outputs[0].empty())
              std::memcpy(a.outputs[0].data(), a.inputs[0].data(), a.outputs[0].size());
            std::int64_t flat = 0;
            if (plan.hasOutside)
              fillOutside(plan, 0, false, flat, static_cast<T>(plan.extrapolation), a.output<T>(0));
            return {};
          },
          2 * between* static_cast<std::int64_t>(sizeof(T))};
}

Result<Kernel> resizeKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ResizePlan plan, resizePlanOf(call, ResizeTables::made));
  const ElementType element = call.input(0).element;
  const auto maker = [&plan]<class T>(T) { return resizes<T>(plan); };
  if (plan.moves && !plan.hasOutside) return kernelForSizes(element, maker);
  return plan.moves ? kernelForNumbers(call, element, maker) : kernelForFloats(call, element, maker);
}

std::vector<Work> passesWork(const ResizePlan& plan, ElementType element) {
  std::vector<Work> work;
  for (const Pass& pass : passesOf(plan))
    work.push_back(
        {Map{MapFunction::scaledAdd, pass.outElements() * pass.axis.taps, 2, element, false}, 1, "Pass"});
  return work;
}

/// The nearest elements move once, whatever the number of axes (C: PopART's resizex.cpp concatenates views).
/// Devices hold images with their channels innermost, so the channels of a position stay together.
std::vector<Work> movesWork(const ResizePlan& plan, ElementType element) {
  const std::vector<Pass> passes = passesOf(plan);
  if (passes.empty()) return {};
  const bool image = plan.input.size() > 2 && plan.passes().front() > 1;
  const std::int64_t together = image ? plan.input[1] : passes.back().inner;
  return {{Rearrange{graph::elementCount(plan.output), together, element}, 1, ""}};
}

std::vector<Work> resizeWork(const OperatorCall& call) {
  const ResizePlan plan = *resizePlanOf(call, ResizeTables::made);
  return plan.moves ? movesWork(plan, call.input(0).element) : passesWork(plan, call.input(0).element);
}

Status resizeGradient(GradientBuilder& builder) {
  if (!builder.wants(0)) return {};
  std::vector<graph::TensorId> inputs = builder.node().inputs;
  inputs[0] = builder.outputGradient(0);
  graph::Attributes attributes = builder.node().attributes;
  attributes["input_shape"] = builder.call().input(0).shape;
  if (builder.node().op == "Upsample") attributes["upsample"] = std::int64_t{1};
  return builder.addFor(0, "GradResize", "grad_input", std::move(inputs), std::move(attributes));
}

// --- GradResize: dy, [roi, scales, sizes] → dx; attribute input_shape ------------------

Result<ResizePlan> planOfGradient(const OperatorCall& call, ResizeTables tables) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_ASSIGN(ResizePlan plan, graph::intAttribute(call.node, "upsample", 0) != 0
                                        ? upsamplePlan(call, shape, tables)
                                        : resizePlan(call, shape, 1, tables));
  if (call.input(0).shape == plan.output) return plan;
  return base::badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}",
                                    call.title(), extentsText(call.input(0).shape),
                                    extentsText(plan.output)));
}

Result<std::vector<TensorType>> inferResizeGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ResizePlan plan, planOfGradient(call, ResizeTables::none));
  return inferredAs(call, call.input(0).element, plan.input);
}

Result<Kernel> resizeGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ResizePlan plan, planOfGradient(call, ResizeTables::made));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    const std::vector<Pass> passes = passesOf(plan);
    const std::int64_t count = graph::elementCount(plan.output);
    const std::int64_t between =
        paddedElements<T>(std::max(largestBetween(passes), plan.hasOutside ? count : 0));
    return Kernel{[plan, passes, between, count](const KernelArguments& a) -> Status {
                    T* buffers[] = {a.scratchAs<T>(), a.scratchAs<T>() + between};
                    const T* from = a.input<T>(0);
                    if (plan.hasOutside) {
                      T* inside = buffers[passes.size() % 2];
                      std::copy_n(from, count, inside);
                      std::int64_t flat = 0;
                      fillOutside(plan, 0, false, flat, T(0), inside);
                      from = inside;
                    }
                    for (std::size_t i = passes.size(); i-- > 0;) {
                      T* to = i == 0 ? a.output<T>(0) : buffers[i % 2];
                      gatherBack(passes[i], from, to);
                      from = to;
                    }
                    if (passes.empty()) std::copy_n(from, count, a.output<T>(0));
                    return {};
                  },
                  2 * between* static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> resizeGradientWork(const OperatorCall& call) {
  ResizePlan plan = *planOfGradient(call, ResizeTables::made);
  plan.moves = false;  // gradients are added
  return passesWork(plan, call.input(0).element);
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(resize) {
  std::vector<AttributeRule> attributes{{"coordinate_transformation_mode", AttributeKind::text},
                                        {"cubic_coeff_a", AttributeKind::real},
                                        {"exclude_outside", AttributeKind::integer},
                                        {"extrapolation_value", AttributeKind::real},
                                        {"mode", AttributeKind::text},
                                        {"nearest_mode", AttributeKind::text}};
  registry.add({.type = "Resize",
                .attributes = attributes,
                .maxInputs = 4,
                .infer = inferResize,
                .kernel = resizeKernel,
                .work = resizeWork,
                .gradient = resizeGradient});
  registry.add({.type = "Upsample",
                .attributes = {{"mode", AttributeKind::text}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferResize,
                .kernel = resizeKernel,
                .work = resizeWork,
                .gradient = resizeGradient});
  attributes.push_back({"input_shape", AttributeKind::integers});
  attributes.push_back({"upsample", AttributeKind::integer});
  registry.add({.type = "GradResize",
                .attributes = attributes,
                .maxInputs = 4,
                .infer = inferResizeGradient,
                .kernel = resizeGradientKernel,
                .work = resizeGradientWork});
}

}  // namespace pipescope::ops
