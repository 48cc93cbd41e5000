// Pad adds elements before and after each axis, or with negative numbers takes some away. The added elements
// are a constant, mirror the input without repeating its edge (reflect) or repeat the edge (edge). GradPad
// adds the gradient of every element to its origin.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/moves/element_move.h"

namespace pipescope::ops {
namespace {

using base::badInput;

enum class Mode { constant, reflect, edge };

struct PadSetup {
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

Result<PadSetup> padSetupFor(const OperatorCall& call, const Shape& x, const Ints& pads) {
  PadSetup setup;
  PIPESCOPE_ASSIGN(setup.mode, modeOf(call));
  if (pads.size() != 2 * x.size()) {
    return badInput(fmt::format("{}: pads has {} numbers; its input has {} axes and needs {}", call.title(),
                                pads.size(), x.size(), 2 * x.size()));
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  setup.input = x;
  setup.pads = pads;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const std::int64_t before = pads[axis], after = pads[axis + x.size()];
    const bool inReach = std::max(before, after) < kMost && std::min(before, after) > -kMost;
    const std::int64_t extent = inReach ? x[axis] + before + after : -1;
    if (extent < 0 || (setup.mode != Mode::constant && x[axis] == 0 && extent > 0)) {
      return badInput(fmt::format("{}: cannot pad axis {} of extent {} by {} and {}", call.title(), axis,
                                  x[axis], before, after));
    }
    setup.begin.push_back(before);
    setup.output.push_back(extent);
  }
  return setup;
}

Result<PadSetup> padSetupOf(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::optional<Ints> pads, intsFrom(call, 1, "pads"));
  if (!pads) return badInput(fmt::format("{}: give pads, as input 1", call.title()));
  return padSetupFor(call, call.input(0).shape, *pads);
}

/// The part of the input that is kept, as a move into the output or back.
ElementMove keptPart(const PadSetup& setup, ElementType element, bool back) {
  Shape extents;
  Ints from, to;
  for (std::size_t axis = 0; axis < setup.input.size(); ++axis) {
    const std::int64_t first = std::max<std::int64_t>(0, -setup.begin[axis]);
    const std::int64_t last = std::min(setup.input[axis], setup.output[axis] - setup.begin[axis]);
    extents.push_back(std::max<std::int64_t>(0, last - first));
    from.push_back(first);
    to.push_back(first + setup.begin[axis]);
  }
  const std::int64_t size = graph::sizeOf(element);
  return back ? blockMove(extents, setup.output, to, {}, setup.input, from, {}, size)
              : blockMove(extents, setup.input, from, {}, setup.output, to, {}, size);
}

/// Calls visit(element of the input, element of the output) for every element of the output in order.
template <class Visit>
void forSources(const PadSetup& setup, std::size_t axis, std::int64_t from, std::int64_t to,
                const Visit& visit) {
  if (axis == setup.input.size()) return visit(from, to);
  const std::int64_t extent = setup.input[axis];
  for (std::int64_t at = 0; at < setup.output[axis]; ++at) {
    forSources(setup, axis + 1, from * extent + sourceOf(at - setup.begin[axis], extent, setup.mode),
               to * setup.output[axis] + at, visit);
  }
}

// --- Pad: x, [pads], [constant value] → y ----------------------------------------------

Result<std::vector<TensorType>> inferPad(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const PadSetup setup, padSetupOf(call));
  if (call.has(2) && call.input(2) != TensorType{call.input(0).element, call.input(2).shape}) {
    return badInput(fmt::format("{}: its constant value is {}, its input {}; give both one element type",
                                call.title(), graph::toString(call.input(2)),
                                graph::toString(call.input(0))));
  }
  if (call.has(2) && call.input(2).elements() != 1) {
    return badInput(fmt::format("{}: its constant value is {}; it must be one number", call.title(),
                                graph::toString(call.input(2))));
  }
  return inferredAs(call, call.input(0).element, setup.output);
}

Result<Kernel> padKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const PadSetup setup, padSetupOf(call));
  const std::int64_t elements = graph::elementCount(setup.output);
  const ElementType element = call.input(0).element;
  if (setup.mode == Mode::constant) {
    return kernelForSizes(element, [&, move = keptPart(setup, element, false)]<class Element>(Element) {
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
  return kernelForSizes(element, [&setup]<class Element>(Element) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    const Element* x = a.input<Element>(0);
                    Element* y = a.output<Element>(0);
                    forSources(setup, 0, 0, 0,
                               [x, y](std::int64_t from, std::int64_t to) { y[to] = x[from]; });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> padWork(const OperatorCall& call) {
  const PadSetup setup = *padSetupOf(call);
  const ElementType element = call.input(0).element;
  const std::int64_t elements = graph::elementCount(setup.output);
  if (setup.mode != Mode::constant)
    return {{Rearrange{elements, setup.input.empty() ? 1 : setup.input.back(), element}, 1, ""}};
  return {{Rearrange{elements, elements, element}, 1, "Fill"},
          moveWork(keptPart(setup, element, false), element, "Copy")};
}

Status padGradient(GradientBuilder& builder) {
  if (builder.wants(2)) {
    return badInput(
        fmt::format("{}: cannot train its constant value; make it a constant", builder.call().title()));
  }
  if (!builder.wants(0)) return {};
  PIPESCOPE_ASSIGN(const PadSetup setup, padSetupOf(builder.call()));
  return builder.addFor(0, "GradPad", "grad_input", {builder.outputGradient(0)},
                        {{"input_shape", setup.input},
                         {"pads", setup.pads},
                         {"mode", graph::stringAttribute(builder.node(), "mode", "constant")}});
}

// --- GradPad: dy → dx; attributes input_shape, pads, mode ------------------------------

Result<PadSetup> padGradientSetupOf(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(PadSetup setup, padSetupFor(call, graph::intsAttribute(call.node, "input_shape", {}),
                                               graph::intsAttribute(call.node, "pads", {})));
  if (call.input(0).shape == setup.output) return setup;
  return badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}", call.title(),
                              extentsText(call.input(0).shape), extentsText(setup.output)));
}

Result<std::vector<TensorType>> inferGradPad(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const PadSetup setup, padGradientSetupOf(call));
  return inferredAs(call, call.input(0).element, setup.input);
}

Result<Kernel> gradPadKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const PadSetup setup, padGradientSetupOf(call));
  const ElementType element = call.input(0).element;
  if (setup.mode == Mode::constant) {
    return Kernel{[move = keptPart(setup, element, true),
                   count = graph::elementCount(setup.input)](const KernelArguments& a) -> Status {
                    if (move.elements() < count) std::ranges::fill(a.outputs[0], std::byte{0});
                    move.run(a.inputs[0].data(), a.outputs[0].data());
                    return {};
                  },
                  0};
  }
  return kernelForFloats(call, element, [&setup]<class T>(T) {
    return Kernel{[setup, count = graph::elementCount(setup.input)](const KernelArguments& a) -> Status {
                    const T* dy = a.input<T>(0);
                    T* dx = a.output<T>(0);
                    std::fill_n(dx, count, T(0));
                    forSources(setup, 0, 0, 0,
                               [dx, dy](std::int64_t from, std::int64_t to) { dx[from] += dy[to]; });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gradPadWork(const OperatorCall& call) {
  const PadSetup setup = *padGradientSetupOf(call);
  const ElementType element = call.input(0).element;
  if (setup.mode == Mode::constant) return {moveWork(keptPart(setup, element, true), element)};
  return {{Scatter{call.input(0).elements(), 1, graph::elementCount(setup.input), true, element}, 1, ""}};
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
