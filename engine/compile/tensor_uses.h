#pragma once
// Finds the operators that write and read the tensors of a stage's IR, in program order. Passes over IRs
// share it.
#include <vector>

#include "engine/compile/ir.h"

namespace pipescope::compile {

/// Operators are numbered over all passes of the stage, in the order in which a micro-batch goes through
/// them. Tensors that share memory (an operator without Work only renames its input) count as one.
class TensorUses {
 public:
  /// A tensor that is sent to another stage counts as read at the end of the pass that computes it or passes
  /// it on.
  TensorUses(const StageIr& stage, const std::vector<BoundaryTensor>& boundaries);

  /// The tensor whose memory this one uses. It is not valid if `tensor` is not.
  IrTensorId root(IrTensorId tensor) const;
  /// Position of the last operator that reads the memory; −1: none does.
  std::int64_t lastRead(IrTensorId tensor) const { return at(lastRead_, tensor); }
  /// Number of operator inputs and other stages that read the memory; −1 if `tensor` is not valid.
  std::int64_t reads(IrTensorId tensor) const { return at(reads_, tensor); }

 private:
  std::int64_t at(const base::IdVector<IrTensorId, std::int64_t>& values, IrTensorId tensor) const {
    const IrTensorId own = root(tensor);
    return own.valid() ? values[own] : -1;
  }
  void read(IrTensorId tensor, std::int64_t position);

  base::IdVector<IrTensorId, IrTensorId> alias_;
  base::IdVector<IrTensorId, std::int64_t> lastRead_, reads_;
};

/// True if a tensor needs its memory only during a part of the program.
bool isPassing(TensorUse use);

}  // namespace pipescope::compile
