#include "engine/ops/conv_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipescope::ops {

using base::badInput;

Result<ConvPlan> convPlanOf(const OperatorCall& call, const Shape& x, const Shape& w) {
  if (w.size() != x.size() || w.size() < 3) {
    return badInput(fmt::format(
        "{}: its weight has {} axes and its input {}; both need a batch or filters, channels and at "
        "least one spatial axis",
        call.title(), w.size(), x.size()));
  }
  const std::vector<std::int64_t> kernel(w.begin() + 2, w.end());
  const std::vector<std::int64_t> said = graph::intsAttribute(call.node, "kernel_shape", kernel);
  if (said != kernel) {
    return badInput(fmt::format("{}: kernel_shape is {}, but its weight's kernel is {}", call.title(),
                                fmt::join(said, "x"), fmt::join(kernel, "x")));
  }
  ConvPlan plan;
  plan.batch = x[0];
  plan.groups = graph::intAttribute(call.node, "group", 1);
  if (plan.groups < 1 || w[0] % plan.groups != 0) {
    return badInput(
        fmt::format("{}: group is {}; it must divide the {} filters", call.title(), plan.groups, w[0]));
  }
  plan.inChannels = w[1];
  plan.outChannels = w[0] / plan.groups;
  if (x[1] % plan.groups != 0 || x[1] / plan.groups != plan.inChannels) {
    return badInput(fmt::format("{}: its weight expects {} input channels, but its input has {}",
                                call.title(), plan.inChannels * plan.groups, x[1]));
  }
  PIPESCOPE_ASSIGN(plan.window, windowOf(call, x, kernel));
  return plan;
}

Shape convOutputShape(const ConvPlan& plan) {
  Shape shape = plan.window.output;
  shape.insert(shape.begin(), {plan.batch, plan.groups * plan.outChannels});
  return shape;
}

Contraction convContraction(const ConvPlan& plan, Contraction::Phase phase, ElementType type) {
  Contraction c;
  c.phase = phase;
  c.batch = plan.batch;
  c.groups = plan.groups;
  c.inputChannels = plan.inChannels;
  c.outputChannels = plan.outChannels;
  c.field = plan.window.input;
  c.kernel = plan.window.kernel;
  c.output = plan.window.output;
  c.stride = plan.window.stride;
  c.dilation = plan.window.dilation;
  c.padding = plan.window.padding();
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
