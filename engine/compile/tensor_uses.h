#pragma once
// Who makes and reads the tensors of a stage's plan, in program order: what passes over plans share.
#include <vector>

#include "engine/compile/plan.h"

namespace pipescope::compile {

/// Operators are numbered over all passes of the stage, in the order in which a micro-batch goes through
/// them. Tensors that are views of each other (an operator without Work renames its input) count as one.
class TensorUses {
 public:
  /// What leaves for another stage is read at the end of the pass that makes it, or passes it on.
  TensorUses(const StagePlan& stage, const std::vector<BoundaryTensor>& boundaries);

  /// The tensor whose memory this one is; −1: none.
  std::int64_t root(PlanTensorId tensor) const;
  /// Position of the last operator that reads the memory; −1: nobody does.
  std::int64_t lastRead(PlanTensorId tensor) const { return at(lastRead_, tensor); }
  /// How many inputs of operators, and other stages, it is.
  std::int64_t reads(PlanTensorId tensor) const { return at(reads_, tensor); }

 private:
  std::int64_t at(const std::vector<std::int64_t>& values, PlanTensorId tensor) const {
    const std::int64_t own = root(tensor);
    return own < 0 ? -1 : values[static_cast<std::size_t>(own)];
  }
  void read(PlanTensorId tensor, std::int64_t position);

  std::vector<std::int64_t> alias_, lastRead_, reads_;
};

/// Whether a tensor's memory is its own for a part of the program only: nobody else relies on what it holds.
bool isPassing(TensorUse use);

}  // namespace pipescope::compile
