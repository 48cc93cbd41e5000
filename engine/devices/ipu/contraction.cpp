// Products and convolutions: the planner spreads them over the tiles, and product_steps.h makes the steps of
// the plan.
#include <fmt/format.h>

#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/products/product_steps.h"

namespace pipescope::devices::ipu {

namespace {

base::Result<LoweredWork> lowerProduct(const ops::Contraction& work, const IpuLoweringContext& context,
                                       bool sequence) {
  PIPESCOPE_ASSIGN(ConvShape shape, shapeOf(work, context.what));
  shape.sequence = sequence;
  if (shape.quarter && context.chip.ampQuarter == 0) {
    return base::badInput(fmt::format("{}: {} does not multiply {}; use float16 or float32.", context.what,
                                      context.chip.name, graph::toString(work.type)));
  }
  shape.halfPartials = shape.halfPartials || (context.halfPartials && shape.half);
  shape.trained = shape.trained && context.jointPlans;
  const auto plan = context.planner.plan(shape, context.memoryProportion);
  return stepsOf(context.chip, *plan, inPlannedOrder(shape) != shape, context.operands);
}

}  // namespace

base::Result<LoweredWork> lower(const ops::Contraction& work, const IpuLoweringContext& context) {
  return lowerProduct(work, context, false);
}

base::Result<LoweredWork> lowerSequenceProduct(const ops::Contraction& work,
                                               const IpuLoweringContext& context) {
  PIPESCOPE_ASSIGN(LoweredWork product, lowerProduct(work, context, true));
  // The gradients of weights stay in the order of the product until the last step.
  if (work.phase == ops::Contraction::Phase::weightGradient) return product;
  PIPESCOPE_ASSIGN(const ConvShape shape, shapeOf(work, context.what));
  // A product leaves its result in groups of rows, but the state lies in groups of columns. So the result is
  // transposed in parts and copied to where the state lies (C: popnn, Lstm.cpp and Gru.cpp,
  // rearrangeUnitsOutputFwd and tryGroupedPartialTranspose).
  PIPESCOPE_ASSIGN(LoweredWork arranging,
                   lower(ops::Rearrange{shape.outputElements(), 1, work.type}, context));
  for (ProgramStep& step : arranging.steps) step.name = "Result/" + step.name;
  product.append(std::move(arranging));
  return product;
}

}  // namespace pipescope::devices::ipu
