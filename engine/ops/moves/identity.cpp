// Identity gives its input another name. So does Hold, whose other inputs lie in memory beside it although
// nothing reads them: caches that software has allocated for tokens to come.
#include "engine/ops/core/common_work.h"
#include "engine/ops/core/copy_kernel.h"
#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferIdentity(const OperatorCall& call) {
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> identityKernel(const OperatorCall&) {
  return copyKernel();
}

Status identityGradient(GradientBuilder& builder) {
  builder.setInputGradient(0, builder.outputGradient(0));
  return {};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(identity) {
  registry.add({.type = "Identity",
                .infer = inferIdentity,
                .kernel = identityKernel,
                .work = noWork,
                .gradient = identityGradient,
                .inPlaceInput = 0});
  registry.add({.type = "Hold",
                .minInputs = 1,
                .maxInputs = 8,
                .infer = inferIdentity,
                .kernel = identityKernel,
                .work = noWork,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
