#pragma once
// Lists the kernels of a pass. It fuses elementwise work into one kernel of the vector engines, and leaves
// out transpositions, because the matrix engines read their operands in any order.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/devices/hbm_card/engine_kernel.h"
#include "profiler/base/result.h"

namespace pipescope::devices::hbm_card {

class CardModel;

/// A kernel with the tensors that it reads and makes (indices into StageIr::tensors; views are resolved).
struct ListedKernel {
  EngineKernel kernel;
  std::string path;  ///< name path
  int op = -1;       ///< index of the last operator fused into it, in PassIr::operators
  std::vector<std::size_t> reads, makes;
  std::vector<std::size_t> readsAgain;  ///< the operands among `reads` that it reads again after a barrier
  /// The result of its operator, if the kernel before it works on this result too, on another engine: a bias
  /// is added to what a product made. −1: it needs nothing from the kernel before it but its reads.
  std::int64_t continues = -1;
  std::int64_t handed = 0;  ///< bytes that it hands to the kernel that continues with its result
  /// The fused operator that it is a part of: what it hands to the next part never leaves the chip, and all
  /// parts form a bundle. −1: none.
  int part = -1;
  bool fusable = false;
  int bucket = -1;  ///< the operator of the collective pass whose bucket is complete after this kernel
};

struct KernelList {
  std::vector<ListedKernel> kernels;
  std::vector<std::int32_t> first,
      end;                  ///< kernels [first, end) of each operator
  std::int64_t chains = 0;  ///< elementwise chains of operators that became a single kernel
};

/// Counts how often each tensor of a stage is read, over all its passes.
class StageUses {
 public:
  explicit StageUses(const compile::StageIr& stage);
  /// The tensor that holds the memory. For an operator without Work, or a transposition that products read,
  /// it is the input.
  std::size_t root(std::size_t tensor) const;
  std::int64_t bytes(std::size_t tensor) const { return bytes_[tensor]; }
  std::int64_t readers(std::size_t root) const { return readers_[root]; }
  /// True if the operator moves no data: its result is its input, read in another order.
  bool isView(const compile::IrOperator& op) const;
  /// True if several passes use the tensor, it is always live, or it goes to another device.
  bool outlivesPass(std::size_t root) const { return outlives_[root]; }
  /// True for the state of an optimizer, which an update reads and writes in place.
  bool isState(std::size_t root) const { return isState_[root]; }
  /// True if the operator or its forward form multiplies a weight, which may have been cast.
  bool multipliesWeights(const compile::IrOperator& op) const;

 private:
  void alias(const compile::IrOperator& op);
  void findWeights(const compile::StageIr& stage);
  std::vector<std::size_t> alias_;
  std::vector<std::int64_t> bytes_;
  std::vector<std::int64_t> readers_;
  std::vector<bool> outlives_, isState_;
  std::set<std::string> weightProducts_;  ///< names of operators that multiply weights
  std::vector<bool> productsOnly_;        ///< true for a tensor whose readers are all products
  std::vector<bool> isRead_;              ///< true for a tensor that some operator reads
};

/// Lowers and fuses the operators of a pass. The vector work of an operator up to a barrier is one
/// kernel. A kernel that works row by row absorbs the kernel before it if it reads that one's result.
/// Errors are sentences that begin with the operator.
base::Result<KernelList> listKernels(const compile::PassIr& pass, const StageUses& uses,
                                     const CardModel& model);

}  // namespace pipescope::devices::hbm_card
