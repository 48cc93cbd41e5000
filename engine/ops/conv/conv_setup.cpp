#include "engine/ops/conv/conv_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {

using base::badInput;

Status readGroupAndKernel(const OperatorCall& call, const Shape& w, std::int64_t divided, const char* what,
                          ConvSetup& setup) {
  setup.window.kernel.assign(w.begin() + 2, w.end());
  const Shape said = graph::intsAttribute(call.node, "kernel_shape", setup.window.kernel);
  if (said != setup.window.kernel) {
    return badInput(fmt::format("{}: kernel_shape is {}, but its weight's kernel is {}", call.title(),
                                fmt::join(said, "x"), fmt::join(setup.window.kernel, "x")));
  }
  setup.groups = graph::intAttribute(call.node, "group", 1);
  if (setup.groups >= 1 && divided % setup.groups == 0) return {};
  return badInput(
      fmt::format("{}: group is {}; it must divide the {} {}", call.title(), setup.groups, divided, what));
}

Result<ConvSetup> convSetupOf(const OperatorCall& call, const Shape& x, const Shape& w) {
  if (w.size() != x.size() || w.size() < 3) {
    return badInput(fmt::format(
        "{}: its weight has {} axes and its input {}; both need a batch or filters, channels and at "
        "least one spatial axis",
        call.title(), w.size(), x.size()));
  }
  ConvSetup setup;
  PIPESCOPE_TRY(readGroupAndKernel(call, w, w[0], "filters", setup));
  setup.batch = x[0];
  setup.inChannels = w[1];
  setup.outChannels = w[0] / setup.groups;
  if (x[1] % setup.groups != 0 || x[1] / setup.groups != setup.inChannels) {
    return badInput(fmt::format("{}: its weight expects {} input channels, but its input has {}",
                                call.title(), setup.inChannels * setup.groups, x[1]));
  }
  PIPESCOPE_ASSIGN(setup.window, windowOf(call, x, Shape(w.begin() + 2, w.end())));
  return setup;
}

Status checkConvBias(const OperatorCall& call, std::int64_t filters) {
  if (!call.has(2) || call.input(2).shape == Shape{filters}) return {};
  return badInput(fmt::format("{}: its bias is {}; it must hold one number for each of the {} filters",
                              call.title(), graph::toString(call.input(2)), filters));
}

Status checkOutputGradient(const OperatorCall& call, std::size_t gradient, const Shape& output) {
  if (call.input(gradient).shape == output) return {};
  return badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}", call.title(),
                              graph::toString(call.input(gradient)),
                              graph::toString({call.input(gradient).element, output})));
}

Status addConvGradients(GradientBuilder& builder) {
  const Node& node = builder.node();
  const OperatorCall& call = builder.call();
  const graph::TensorId dy = builder.outputGradient(0);
  graph::Attributes attributes = node.attributes;
  if (builder.wants(0)) {
    attributes["input_shape"] = call.input(0).shape;
    PIPESCOPE_TRY(
        builder.addFor(0, "Grad" + node.op + "Input", "grad_input", {dy, node.inputs[1]}, attributes));
    attributes.erase("input_shape");
  }
  if (builder.wants(1)) {
    attributes["weight_shape"] = call.input(1).shape;
    PIPESCOPE_TRY(
        builder.addFor(1, "Grad" + node.op + "Weight", "grad_weight", {node.inputs[0], dy}, attributes));
  }
  if (!call.has(2) || !builder.wants(2)) return {};
  Shape axes{0};
  for (std::size_t axis = 2; axis < call.input(0).shape.size(); ++axis)
    axes.push_back(static_cast<std::int64_t>(axis));
  return builder.addFor(2, "ReduceSum", "grad_bias", {dy}, {{"axes", axes}, {"keepdims", std::int64_t{0}}});
}

std::vector<TensorType> typeFromAttribute(const OperatorCall& call, const char* shape) {
  return {{call.input(0).element, graph::intsAttribute(call.node, shape, {})}};
}

Shape convOutputShape(const ConvSetup& setup) {
  Shape shape = setup.window.output;
  shape.insert(shape.begin(), {setup.batch, setup.groups * setup.outChannels});
  return shape;
}

Contraction convContraction(const ConvSetup& setup, Contraction::Phase phase, ElementType type) {
  Contraction c;
  c.phase = phase;
  c.batch = setup.batch;
  c.groups = setup.groups;
  c.inputChannels = setup.inChannels;
  c.outputChannels = setup.outChannels;
  c.field = setup.window.input;
  c.kernel = setup.window.kernel;
  c.output = setup.window.output;
  c.stride = setup.window.stride;
  c.dilation = setup.window.dilation;
  c.padding = setup.window.padding();
  c.type = type;
  return c;
}

std::vector<AttributeRule> convAttributes(const char* extra) {
  std::vector<AttributeRule> rules{
      {"auto_pad", AttributeKind::text}, {"dilations", AttributeKind::integers},
      {"group", AttributeKind::integer}, {"kernel_shape", AttributeKind::integers},
      {"pads", AttributeKind::integers}, {"strides", AttributeKind::integers}};
  if (extra) rules.push_back({extra, AttributeKind::integers});
  return rules;
}

}  // namespace pipescope::ops
