// Pad adds elements before and after each axis, or with negative numbers takes some away. The added elements
// are a constant, mirror the input without repeating its edge (reflect) or repeat the edge (edge). GradPad
// adds the gradient of every element to its origin.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/moves/move_plan.h"

namespace pipescope::ops {
namespace {

using base::badInput;

enum class Mode { constant, reflect, edge };

struct PadPlan {
  Mode mode = Mode::constant;
  Shape input, output;
  Ints begin;
  Ints pads;
};

Result<Mode> modeOf(const OperatorCall& call) {
  const std::string mode = graph::stringAttribute(call.node, "mode", "constant");
  if (mode == "constant") return Mode::constant;
  if (mode == "reflect") return Mode::reflect;
  if (mode == "edge") return Mode::edge;
  return badInput(fmt::format("{}: mode is {}; it must be constant, reflect or edge", call.title(), mode));
}

/// The origin of a position along an axis; −1: it is added.
std::int64_t sourceOf(std::int64_t at, std::int64_t extent, Mode mode) {
  if (at >= 0 && at < extent) return at;
  if (mode == Mode::constant) return -1;
  if (mode == Mode::edge) return std::clamp<std::int64_t>(at, 0, extent - 1);
  if (extent == 1) return 0;
  const std::int64_t period = 2 * (extent - 1);  // mirrored as often as needed, as numpy does
  const std::int64_t within = ((at % period) + period) % period;
  return within < extent ? within : period - within;
}

Result<PadPlan> padPlanFor(const OperatorCall& call, const Shape& x, const Ints& pads) {
  PadPlan plan;
  PIPESCOPE_ASSIGN(plan.mode, modeOf(call));
  if (pads.size() != 2 * x.size()) {
    return badInput(fmt::format("{}: pads has {} numbers; its input has {} axes and needs {}", call.title(),
                                pads.size(), x.size(), 2 * x.size()));
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  plan.input = x;
  plan.pads = pads;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const std::int64_t before = pads[axis], after = pads[axis + x.size()];
    const bool inReach = std::max(before, after) < kMost && std::min(before, after) > -kMost;
    const std::int64_t extent = inReach ? x[axis] + before + after : -1;
    if (extent < 0 || (plan.mode != Mode::constant && x[axis] == 0 && extent > 0)) {
      return badInput(fmt::format("{}: cannot pad axis {} of extent {} by {} and {}", call.title(), axis,
                                  x[axis], before, after));
    }
    plan.begin.push_back(before);
    plan.output.push_back(extent);
  }
  return plan;
}

Result<PadPlan> padPlanOf(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::optional<Ints> pads, intsFrom(call, 1, "pads"));
  if (!pads) return badInput(fmt::format("{}: give pads, as input 1", call.title()));
  return padPlanFor(call, call.input(0).shape, *pads);
}

/// The part of the input that is kept, as a move into the output or back.
MovePlan keptPart(const PadPlan& plan, ElementType element, bool back) {
  Shape extents;
  Ints from, to;
  for (std::size_t axis = 0; axis < plan.input.size(); ++axis) {
    const std::int64_t first = std::max<std::int64_t>(0, -plan.begin[axis]);
    const std::int64_t last = std::min(plan.input[axis], plan.output[axis] - plan.begin[axis]);
    extents.push_back(std::max<std::int64_t>(0, last - first));
    from.push_back(first);
    to.push_back(first + plan.begin[axis]);
  }
  const std::int64_t size = graph::sizeOf(element);
  return back ? blockMove(extents, plan.output, to, {}, plan.input, from, {}, size)
              : blockMove(extents, plan.input, from, {}, plan.output, to, {}, size);
}

/// Calls visit(element of the input, element of the output) for every element of the output in order.
template <class Visit>
void forSources(const PadPlan& plan, std::size_t axis, std::int64_t from, std::int64_t to,
                const Visit& visit) {
  if (axis == plan.input.size()) return visit(from, to);
  const std::int64_t extent = plan.input[axis];
  for (std::int64_t at = 0; at < plan.output[axis]; ++at) {
    forSources(plan, axis + 1, from * extent + sourceOf(at - plan.begin[axis], extent, plan.mode),
               to * plan.output[axis] + at, visit);
  }
}

// --- Pad: x, [pads], [constant value] → y ----------------------------------------------

Result<std::vector<TensorType>> inferPad(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const PadPlan plan, padPlanOf(call));
  if (call.has(2) && call.input(2) != TensorType{call.input(0).element, call.input(2).shape}) {
    return badInput(fmt::format("{}: its constant value is {}, its input {}; give both one element type",
                                call.title(), graph::toString(call.input(2)),
                                graph::toString(call.input(0))));
  }
  if (call.has(2) && call.input(2).elements() != 1) {
    return badInput(fmt::format("{}: its constant value is {}; it must be one number", call.title(),
                                graph::toString(call.input(2))));
  }
  return inferredAs(call, call.input(0).element, plan.output);
}

Result<Kernel> padKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const PadPlan plan, padPlanOf(call));
  const std::int64_t elements = graph::elementCount(plan.output);
  const ElementType element = call.input(0).element;
  if (plan.mode == Mode::constant) {
    return kernelForSizes(element, [&, move = keptPart(plan, element, false)]<class Element>(Element) {
      return Kernel{[move, elements](const KernelArguments& a) -> Status {
                      const Element* value = a.input<Element>(2);
                      if (move.elements() < elements)
                        std::fill_n(a.output<Element>(0), elements, value ? *value : Element(0));
                      move.run(a.inputs[0].data(), a.outputs[0].data());
                      return {};
                    },
                    0};
    });
  }
  return kernelForSizes(element, [&plan]<class Element>(Element) {
    return Kernel{[plan](const KernelArguments& a) -> Status {
                    const Element* x = a.input<Element>(0);
                    Element* y = a.output<Element>(0);
                    forSources(plan, 0, 0, 0,
                               [x, y](std::int64_t from, std::int64_t to) { y[to] = x[from]; });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> padWork(const OperatorCall& call) {
  const PadPlan plan = *padPlanOf(call);
  const ElementType element = call.input(0).element;
  const std::int64_t elements = graph::elementCount(plan.output);
  if (plan.mode != Mode::constant)
    return {{Rearrange{elements, plan.input.empty() ? 1 : plan.input.back(), element}, 1, ""}};
  return {{Rearrange{elements, elements, element}, 1, "Fill"},
          moveWork(keptPart(plan, element, false), element, "Copy")};
}

Status padGradient(GradientBuilder& builder) {
  if (builder.wants(2)) {
    return badInput(
        fmt::format("{}: cannot train its constant value; make it a constant", builder.call().title()));
  }
  if (!builder.wants(0)) return {};
  PIPESCOPE_ASSIGN(const PadPlan plan, padPlanOf(builder.call()));
  return builder.addFor(0, "GradPad", "grad_input", {builder.outputGradient(0)},
                        {{"input_shape", plan.input},
                         {"pads", plan.pads},
                         {"mode", graph::stringAttribute(builder.node(), "mode", "constant")}});
}

// --- GradPad: dy → dx; attributes input_shape, pads, mode ------------------------------

Result<PadPlan> padGradientPlanOf(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(PadPlan plan, padPlanFor(call, graph::intsAttribute(call.node, "input_shape", {}),
                                            graph::intsAttribute(call.node, "pads", {})));
  if (call.input(0).shape == plan.output) return plan;
  return badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}", call.title(),
                              extentsText(call.input(0).shape), extentsText(plan.output)));
}

Result<std::vector<TensorType>> inferGradPad(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const PadPlan plan, padGradientPlanOf(call));
  return inferredAs(call, call.input(0).element, plan.input);
}

Result<Kernel> gradPadKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const PadPlan plan, padGradientPlanOf(call));
  const ElementType element = call.input(0).element;
  if (plan.mode == Mode::constant) {
    return Kernel{[move = keptPart(plan, element, true),
                   count = graph::elementCount(plan.input)](const KernelArguments& a) -> Status {
                    if (move.elements() < count) std::ranges::fill(a.outputs[0], std::byte{0});
                    move.run(a.inputs[0].data(), a.outputs[0].data());
                    return {};
                  },
                  0};
  }
  return kernelForFloats(call, element, [&plan]<class T>(T) {
    return Kernel{[plan, count = graph::elementCount(plan.input)](const KernelArguments& a) -> Status {
                    const T* dy = a.input<T>(0);
                    T* dx = a.output<T>(0);
                    std::fill_n(dx, count, T(0));
                    forSources(plan, 0, 0, 0,
                               [dx, dy](std::int64_t from, std::int64_t to) { dx[from] += dy[to]; });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gradPadWork(const OperatorCall& call) {
  const PadPlan plan = *padGradientPlanOf(call);
  const ElementType element = call.input(0).element;
  if (plan.mode == Mode::constant) return {moveWork(keptPart(plan, element, true), element)};
  return {{Scatter{call.input(0).elements(), 1, graph::elementCount(plan.input), true, element}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(pad) {
  registry.add({.type = "Pad",
                .attributes = {{"mode", AttributeKind::text}, {"pads", AttributeKind::integers}},
                .maxInputs = 3,
                .infer = inferPad,
                .kernel = padKernel,
                .work = padWork,
                .gradient = padGradient});
  registry.add({.type = "GradPad",
                .attributes = {{"input_shape", AttributeKind::integers},
                               {"mode", AttributeKind::text},
                               {"pads", AttributeKind::integers}},
                .infer = inferGradPad,
                .kernel = gradPadKernel,
                .work = gradPadWork});
}

}  // namespace pipescope::ops
