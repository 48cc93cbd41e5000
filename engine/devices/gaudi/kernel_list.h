#pragma once
// The kernels of one pass: what operators are lowered to, fused where the TPC's fuser and the MME's access
// would.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/compile/plan.h"
#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {

/// A kernel with the tensors (indices into StagePlan::tensors, views resolved) that it reads and makes.
struct ListedKernel {
  Kernel kernel;
  std::string path;  ///< name path
  int op = -1;       ///< index into PassPlan::operators: the last one fused into it
  std::vector<std::size_t> reads, makes;
  std::vector<std::size_t> readsAgain;  ///< of reads: those that come after a barrier within the operator
  bool fusable = false;
  int bucket = -1;  ///< operator of the collective pass whose bucket is complete after it
};

struct KernelList {
  std::vector<ListedKernel> kernels;
  std::vector<std::int32_t> first, end;  ///< by operator: its kernels [first, end)
  std::int64_t chains = 0;               ///< elementwise chains of operators that are a single kernel
};

/// How often each tensor of a stage is read, over all its passes.
class StageUses {
 public:
  explicit StageUses(const compile::StagePlan& stage);
  /// The tensor that holds its memory: of an operator without Work, or a transposition that products read,
  /// its input.
  std::size_t root(std::size_t tensor) const;
  std::int64_t readers(std::size_t root) const { return readers_[root]; }
  /// Whether the operator makes nothing: its result is its input, read in another order.
  bool isView(const compile::PlanOperator& op) const;
  /// Read or made in more than one pass, always live, or on its way to another device.
  bool outlivesPass(std::size_t root) const { return outlives_[root]; }

 private:
  void alias(const compile::PlanOperator& op);
  const compile::StagePlan& stage_;
  std::vector<std::size_t> alias_;
  std::vector<std::int64_t> readers_;
  std::vector<bool> outlives_;
  std::vector<bool> productsOnly_;  ///< all its readers are products
};

/// Lowers and fuses. TPC work of an operator up to a barrier is one kernel; a kernel that works row by row
/// takes in the one before it if it reads that one's result. Errors are sentences that begin with the
/// operator.
base::Result<KernelList> listKernels(const compile::PassPlan& pass, const StageUses& uses,
                                     const LoweringContext& context);

}  // namespace pipescope::devices::gaudi
