#pragma once
#include "engine/ops/conv/conv_kernels.h"
#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {

/// Checks x (batch, channels, spatial …) and w (filters, channels per group, kernel …) of a convolution
/// against each other and the attributes group, kernel_shape, strides, dilations, pads, auto_pad.
Result<ConvPlan> convPlanOf(const OperatorCall& call, const Shape& x, const Shape& w);

/// Attributes group and kernel_shape into a plan whose weight is w; `divided`: what group must divide, `what`
/// it is.
Status readGroupAndKernel(const OperatorCall& call, const Shape& w, std::int64_t divided, const char* what,
                          ConvPlan& plan);
/// An optional bias at input 2 holds one number for each filter.
Status checkConvBias(const OperatorCall& call, std::int64_t filters);
/// The gradient at hand has the output's shape.
Status checkOutputGradient(const OperatorCall& call, std::size_t gradient, const Shape& output);

/// Adds "Grad<type>Input" (dy, w; attribute input_shape), "Grad<type>Weight" (x, dy; attribute weight_shape),
/// and the bias' ReduceSum.
Status addConvGradients(GradientBuilder& builder);
/// The type that such a gradient has: call.input(0)'s elements, the extents of an attribute.
std::vector<TensorType> typeFromAttribute(const OperatorCall& call, const char* shape);

/// A kernel that runs one pass of a convolution: body(convolution, arguments), which holds T's kernels.
template <class Body>
Result<Kernel> convolutionKernel(const OperatorCall& call, const ConvPlan& plan, ConvPass pass,
                                 const Body& body) {
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    const Convolution<T> convolution(plan, pass);
    return Kernel{[convolution, body](const KernelArguments& a) -> Status {
                    body.template operator()<T>(convolution, a);
                    return {};
                  },
                  convolution.scratchElements() * static_cast<std::int64_t>(sizeof(T))};
  });
}

/// batch, filters, spatial extents.
Shape convOutputShape(const ConvPlan& plan);

Contraction convContraction(const ConvPlan& plan, Contraction::Phase phase, ElementType type);

/// The attributes of a convolution, and one more list of whole numbers where `extra` is not null.
std::vector<AttributeRule> convAttributes(const char* extra);

}  // namespace pipescope::ops
