// Resize and Upsample interpolate by nearest, linear or cubic weights, one axis after another. GradResize
// gives every input element its share of the output's gradients.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/image/resize_setup.h"

namespace pipescope::ops {
namespace {

Result<ResizeSetup> resizeSetupOf(const OperatorCall& call, ResizeTables tables) {
  return call.node.op == "Upsample" ? upsampleSetup(call, call.input(0).shape, tables)
                                    : resizeSetup(call, call.input(0).shape, 1, tables);
}

/// One axis of a dense tensor: outer × in × inner → outer × out × inner.
struct Pass {
  ResizeAxis axis;
  std::int64_t outer = 1, inner = 1;
  std::int64_t inElements() const { return outer * axis.in * inner; }
  std::int64_t outElements() const { return outer * axis.out * inner; }
};

/// The passes in the order of the axes. All but the last end in scratch memory.
std::vector<Pass> passesOf(const ResizeSetup& setup) {
  std::vector<Pass> passes;
  Shape shape = setup.input;
  for (const std::size_t axis : setup.passes()) {
    passes.push_back(
        {setup.axes[axis], extentsWithin(shape, 0, axis), extentsWithin(shape, axis + 1, shape.size())});
    shape[axis] = setup.output[axis];
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
void fillOutside(const ResizeSetup& setup, std::size_t axis, bool outside, std::int64_t& flat, T value,
                 T* y) {
  if (axis == setup.axes.size()) {
    if (outside) y[flat] = value;
    ++flat;
    return;
  }
  for (std::int64_t j = 0; j < setup.output[axis]; ++j) {
    const std::vector<bool>& list = setup.axes[axis].outside;
    fillOutside(setup, axis + 1, outside || (!list.empty() && list[static_cast<std::size_t>(j)]), flat, value,
                y);
  }
}

// --- Resize: X, [roi, scales, sizes] → Y -----------------------------------------------

Result<std::vector<TensorType>> inferResize(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ResizeSetup setup, resizeSetupOf(call, ResizeTables::none));
  return inferredAs(call, call.input(0).element, setup.output);
}

template <class T>
Kernel resizes(const ResizeSetup& setup) {
  const std::vector<Pass> passes = passesOf(setup);
  const std::int64_t between = paddedElements<T>(largestBetween(passes));
  return {[setup, passes, between](const KernelArguments& a) -> Status {
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
            if (setup.hasOutside)
              fillOutside(setup, 0, false, flat, static_cast<T>(setup.extrapolation), a.output<T>(0));
            return {};
          },
          2 * between* static_cast<std::int64_t>(sizeof(T))};
}

Result<Kernel> resizeKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ResizeSetup setup, resizeSetupOf(call, ResizeTables::made));
  const ElementType element = call.input(0).element;
  const auto maker = [&setup]<class T>(T) { return resizes<T>(setup); };
  if (setup.moves && !setup.hasOutside) return kernelForSizes(element, maker);
  return setup.moves ? kernelForNumbers(call, element, maker) : kernelForFloats(call, element, maker);
}

std::vector<Work> passesWork(const ResizeSetup& setup, ElementType element) {
  std::vector<Work> work;
  for (const Pass& pass : passesOf(setup))
    work.push_back(
        {Map{MapFunction::scaledAdd, pass.outElements() * pass.axis.taps, 2, element, false}, 1, "Pass"});
  return work;
}

/// The nearest elements move once, whatever the number of axes (C: PopART's resizex.cpp concatenates views).
/// Devices hold images with their channels innermost, so the channels of a position stay together.
std::vector<Work> movesWork(const ResizeSetup& setup, ElementType element) {
  const std::vector<Pass> passes = passesOf(setup);
  if (passes.empty()) return {};
  const bool image = setup.input.size() > 2 && setup.passes().front() > 1;
  const std::int64_t together = image ? setup.input[1] : passes.back().inner;
  return {{Rearrange{graph::elementCount(setup.output), together, element}, 1, ""}};
}

std::vector<Work> resizeWork(const OperatorCall& call) {
  const ResizeSetup setup = *resizeSetupOf(call, ResizeTables::made);
  return setup.moves ? movesWork(setup, call.input(0).element) : passesWork(setup, call.input(0).element);
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

Result<ResizeSetup> planOfGradient(const OperatorCall& call, ResizeTables tables) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_ASSIGN(ResizeSetup setup, graph::intAttribute(call.node, "upsample", 0) != 0
                                          ? upsampleSetup(call, shape, tables)
                                          : resizeSetup(call, shape, 1, tables));
  if (call.input(0).shape == setup.output) return setup;
  return base::badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}",
                                    call.title(), extentsText(call.input(0).shape),
                                    extentsText(setup.output)));
}

Result<std::vector<TensorType>> inferResizeGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ResizeSetup setup, planOfGradient(call, ResizeTables::none));
  return inferredAs(call, call.input(0).element, setup.input);
}

Result<Kernel> resizeGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ResizeSetup setup, planOfGradient(call, ResizeTables::made));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    const std::vector<Pass> passes = passesOf(setup);
    const std::int64_t count = graph::elementCount(setup.output);
    const std::int64_t between =
        paddedElements<T>(std::max(largestBetween(passes), setup.hasOutside ? count : 0));
    return Kernel{[setup, passes, between, count](const KernelArguments& a) -> Status {
                    T* buffers[] = {a.scratchAs<T>(), a.scratchAs<T>() + between};
                    const T* from = a.input<T>(0);
                    if (setup.hasOutside) {
                      T* inside = buffers[passes.size() % 2];
                      std::copy_n(from, count, inside);
                      std::int64_t flat = 0;
                      fillOutside(setup, 0, false, flat, T(0), inside);
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
  ResizeSetup setup = *planOfGradient(call, ResizeTables::made);
  setup.moves = false;  // gradients are added
  return passesWork(setup, call.input(0).element);
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
