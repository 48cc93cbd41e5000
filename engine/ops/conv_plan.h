#pragma once
#include "engine/ops/conv_kernels.h"

namespace pipescope::ops {

/// Checks x (batch, channels, spatial …) and w (filters, channels per group, kernel …) of a convolution
/// against each other and the attributes group, kernel_shape, strides, dilations, pads, auto_pad.
Result<ConvPlan> convPlanOf(const OperatorCall& call, const Shape& x, const Shape& w);

/// batch, filters, spatial extents.
Shape convOutputShape(const ConvPlan& plan);

Contraction convContraction(const ConvPlan& plan, Contraction::Phase phase, ElementType type);

/// The attributes of a convolution, and one more list of whole numbers where `extra` is not null.
std::vector<AttributeRule> convAttributes(const char* extra);

}  // namespace pipescope::ops
