#pragma once
#include "engine/ops/conv/conv_kernels.h"
#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {

/// Checks x (batch, channels, spatial …) and w (filters, channels per group, kernel …) of a convolution
/// against each other and against the attributes group, kernel_shape, strides, dilations, pads and auto_pad.
Result<ConvSetup> convSetupOf(const OperatorCall& call, const Shape& x, const Shape& w);

/// Reads the attributes group and kernel_shape into a setup with weight w. The group must divide `divided`,
/// which `what` names in the sentence.
Status readGroupAndKernel(const OperatorCall& call, const Shape& w, std::int64_t divided, const char* what,
                          ConvSetup& setup);
/// Fails with a sentence unless the optional bias at input 2 holds one number for each filter.
Status checkConvBias(const OperatorCall& call, std::int64_t filters);
/// Fails with a sentence unless the gradient has the output's shape.
Status checkOutputGradient(const OperatorCall& call, std::size_t gradient, const Shape& output);

/// Adds "Grad<type>Input" (dy, w; attribute input_shape), "Grad<type>Weight" (x, dy; attribute weight_shape)
/// and the ReduceSum for the bias.
Status addConvGradients(GradientBuilder& builder);
/// The type of such a gradient: the elements of call.input(0) with the extents in an attribute.
std::vector<TensorType> typeFromAttribute(const OperatorCall& call, const char* shape);

/// A kernel that runs one pass of a convolution: body(convolution, arguments), where convolution holds the
/// kernels for T.
template <class Body>
Result<Kernel> convolutionKernel(const OperatorCall& call, const ConvSetup& setup, ConvPass pass,
                                 const Body& body) {
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    const Convolution<T> convolution(setup, pass);
    return Kernel{[convolution, body](const KernelArguments& a) -> Status {
                    body.template operator()<T>(convolution, a);
                    return {};
                  },
                  convolution.scratchElements() * static_cast<std::int64_t>(sizeof(T))};
  });
}

/// The batch, the filters and the spatial extents.
Shape convOutputShape(const ConvSetup& setup);

/// The Work of one of the convolution's three products.
Contraction convContraction(const ConvSetup& setup, Contraction::Phase phase, ElementType type);

/// The attributes of a convolution, and if `extra` is not null one more list of whole numbers.
std::vector<AttributeRule> convAttributes(const char* extra);

}  // namespace pipescope::ops
