// StopGradient, of the domain "pipescope", returns its input and passes no gradient to it. It stands for
// PyTorch's detach(), which ONNX cannot express.
#include "engine/ops/core/common_work.h"
#include "engine/ops/core/copy_kernel.h"
#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferStopGradient(const OperatorCall& call) {
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> stopGradientKernel(const OperatorCall&) {
  return copyKernel();
}

Status stopGradientGradient(GradientBuilder&) {
  return {};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(stop_gradient) {
  registry.add({.type = "StopGradient",
                .infer = inferStopGradient,
                .kernel = stopGradientKernel,
                .work = noWork,
                .gradient = stopGradientGradient,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
