#pragma once
// Finds the tensors that the calls of a function read from outside and hand out.
#include <cstdint>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/compile/tensor_uses.h"

namespace pipescope::devices::ipu {

/// A tensor that a call reads from outside, changes, or hands out. Operators are counted from the call's
/// first.
struct CallArgument {
  static constexpr std::size_t kNever = SIZE_MAX;
  compile::IrTensorId root;  ///< the tensor, or the one whose memory it uses (TensorUses)
  std::int64_t bytes = 0;
  std::size_t firstRead = kNever, lastRead = kNever, lastMade = kNever;
  bool needed = false;  ///< true: needed after the call
};

/// The arguments in the order of their first use. A call may have fewer than another one of its function,
/// which keeps a result for a later pass. Tensors in streaming memory are none.
std::vector<CallArgument> argumentsOf(const compile::StageIr& stage, const compile::TensorUses& uses,
                                      const compile::PassIr& pass, const compile::IrCall& call);

}  // namespace pipescope::devices::ipu
