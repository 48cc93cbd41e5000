#include "engine/ops/core/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {

using base::badInput;

Result<std::vector<std::int64_t>> numbersPerAxis(const OperatorCall& call, const std::string& name,
                                                 std::size_t count, std::int64_t fallback,
                                                 std::int64_t least) {
  std::vector<std::int64_t> values =
      graph::intsAttribute(call.node, name, std::vector<std::int64_t>(count, fallback));
  if (values.size() != count) {
    return badInput(fmt::format("{}: attribute {} has {} numbers; it needs {}", call.title(), name,
                                values.size(), count));
  }
  for (const std::int64_t value : values) {
    if (value < least || value > kMostWindowExtent) {
      return badInput(fmt::format("{}: attribute {} holds {}; every number must be {} to {}", call.title(),
                                  name, value, least, kMostWindowExtent));
    }
  }
  return values;
}

namespace {

/// The distance from the first to the last tap, plus one.
std::int64_t reach(const Window& w, std::size_t axis) {
  return (w.kernel[axis] - 1) * w.dilation[axis] + 1;
}

void padAutomatically(Window& w, bool upper) {
  for (std::size_t a = 0; a < w.axes(); ++a) {
    const std::int64_t out = (w.input[a] + w.stride[a] - 1) / w.stride[a];
    const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * w.stride[a] + reach(w, a) - w.input[a]);
    w.padBegin[a] = upper ? total / 2 : total - total / 2;
    w.padEnd[a] = total - w.padBegin[a];
  }
}

Status readPads(const OperatorCall& call, Window& w) {
  const std::string mode = graph::stringAttribute(call.node, "auto_pad", "NOTSET");
  const std::size_t axes = w.axes();
  PIPESCOPE_ASSIGN(const std::vector<std::int64_t> pads, numbersPerAxis(call, "pads", 2 * axes, 0, 0));
  w.padBegin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  w.padEnd.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  if (mode == "NOTSET") return {};
  if (mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    return badInput(fmt::format("{}: auto_pad is {}; it must be NOTSET, VALID, SAME_UPPER or SAME_LOWER",
                                call.title(), mode));
  }
  if (std::ranges::any_of(pads, [](std::int64_t pad) { return pad != 0; })) {
    return badInput(
        fmt::format("{}: both pads and auto_pad {} are given; leave one out", call.title(), mode));
  }
  if (mode != "VALID") padAutomatically(w, mode == "SAME_UPPER");
  return {};
}

Status computeOutput(const OperatorCall& call, Window& w) {
  const bool ceil = graph::intAttribute(call.node, "ceil_mode", 0) != 0;
  for (std::size_t a = 0; a < w.axes(); ++a) {
    const std::int64_t room = w.input[a] + w.padBegin[a] + w.padEnd[a] - reach(w, a);
    if (room < 0) {
      return badInput(fmt::format(
          "{}: its kernel reaches over {} on spatial axis {}, but the input has {} there with padding "
          "{} + {}; make the kernel smaller or the padding larger",
          call.title(), reach(w, a), a, w.input[a], w.padBegin[a], w.padEnd[a]));
    }
    std::int64_t out = (room + (ceil ? w.stride[a] - 1 : 0)) / w.stride[a] + 1;
    if (ceil && (out - 1) * w.stride[a] >= w.input[a] + w.padBegin[a]) --out;
    w.output.push_back(out);
  }
  return {};
}

}  // namespace

std::vector<std::int64_t> Window::padding() const {
  std::vector<std::int64_t> all = padBegin;
  all.insert(all.end(), padEnd.begin(), padEnd.end());
  return all;
}

bool Window::isIdentity() const {
  return taps() == 1 && input == output && std::ranges::all_of(stride, [](std::int64_t s) { return s == 1; });
}

Result<Window> windowOf(const OperatorCall& call, const Shape& input,
                        const std::vector<std::int64_t>& kernel) {
  if (input.size() < 3 || input.size() - 2 > kMaxSpatialAxes) {
    return badInput(
        fmt::format("{}: its input has {} axes; it needs a batch, channels and 1 to {} spatial axes",
                    call.title(), input.size(), kMaxSpatialAxes));
  }
  Window w;
  w.input.assign(input.begin() + 2, input.end());
  w.kernel = kernel;
  if (kernel.size() != w.input.size()) {
    return badInput(fmt::format("{}: its kernel has {} spatial axes, its input {}", call.title(),
                                kernel.size(), w.input.size()));
  }
  for (std::size_t a = 0; a < kernel.size(); ++a) {
    if (kernel[a] < 1 || kernel[a] > kMostWindowExtent || w.input[a] < 1 || w.input[a] > kMostWindowExtent) {
      return badInput(fmt::format("{}: kernel {} over {} on spatial axis {}; both must be 1 to {}",
                                  call.title(), kernel[a], w.input[a], a, kMostWindowExtent));
    }
  }
  PIPESCOPE_ASSIGN(w.stride, numbersPerAxis(call, "strides", kernel.size(), 1, 1));
  PIPESCOPE_ASSIGN(w.dilation, numbersPerAxis(call, "dilations", kernel.size(), 1, 1));
  PIPESCOPE_TRY(readPads(call, w));
  PIPESCOPE_TRY(computeOutput(call, w));
  return w;
}

Pool poolOf(const TensorType& x, const Window& window, PoolFunction function) {
  Pool pool;
  pool.function = function;
  pool.batch = x.shape[0];
  pool.channels = x.shape[1];
  pool.field = window.input;
  pool.kernel = window.kernel;
  pool.output = window.output;
  pool.stride = window.stride;
  pool.type = x.element;
  return pool;
}

Shape pooledShape(const OperatorCall& call, const Window& window) {
  Shape shape = window.output;
  shape.insert(shape.begin(), {call.input(0).shape[0], call.input(0).shape[1]});
  return shape;
}

Status addPoolGradient(GradientBuilder& builder, const std::string& op, const std::string& dropped) {
  const Node& node = builder.node();
  graph::Attributes attributes = node.attributes;
  attributes.erase(dropped);
  if (node.op.starts_with("Global")) {
    const Shape& x = builder.call().input(0).shape;
    attributes["kernel_shape"] = Shape(x.begin() + 2, x.end());
  }
  return builder.addFor(0, op, "grad_input", {node.inputs[0], node.outputs[0], builder.outputGradient(0)},
                        std::move(attributes));
}

Result<std::vector<TensorType>> inferPoolGradient(const OperatorCall& call, const Window& window) {
  PIPESCOPE_TRY(requireSameTypes(call, 1, 2));
  const TensorType pooled{call.input(0).element, pooledShape(call, window)};
  if (call.input(1) == pooled) return std::vector<TensorType>{call.input(0)};
  return base::badInput(fmt::format("{}: the pooled tensor is {}; pooling its input gives {}", call.title(),
                                    graph::toString(call.input(1)), graph::toString(pooled)));
}

}  // namespace pipescope::ops
