// Hold gives its first input another name, as Identity does. Its other inputs lie in memory beside it,
// although nothing reads them: caches that software has allocated for tokens to come.
#include "engine/ops/core/common_work.h"
#include "engine/ops/core/copy_kernel.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferHold(const OperatorCall& call) {
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> holdKernel(const OperatorCall&) {
  return copyKernel();
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(hold) {
  registry.add({.type = "Hold",
                .minInputs = 1,
                .maxInputs = 8,
                .infer = inferHold,
                .kernel = holdKernel,
                .work = noWork,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
