#pragma once
// Computes what each layer of a model costs. Adds up the operators of all passes by the layer they come from.
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct OperationCost {
  /// Per micro-batch. Update and collective run once per iteration, so theirs are per iteration.
  std::map<model::Pass, Ticks> ticks;
  Ticks compute, exchange, sync, other;  ///< the same time by kind of step, over all passes
  double flops = 0;                      ///< over all passes
  std::int64_t operators = 0, programs = 0;
  Bytes code;     ///< code, descriptors and vertex state below its name, sum over units
  Bytes weights;  ///< always-live tensors below its name: weights, optimizer state, accumulators, stashes
  Ticks total() const;
};

struct Operation {
  std::string name;   ///< name of the forward operator, or its own name if it comes from none
  std::string kind;   ///< operator type
  std::string block;  ///< empty: not known
  std::int32_t stage = -1;
  OperationCost cost;
};

struct Operations {
  std::vector<Operation> operations;  ///< by layer of origin, most ticks first
  std::vector<Operation> blocks;      ///< by block of the model, in the model's order
  std::vector<Operation> kinds;       ///< by operator type, most ticks first
  OperationCost whole;
};

/// Computes the costs of one replica.
Result<Operations> operations(const model::ProfileSource& source, const Catalog& catalog,
                              model::ExecutableId executable);

}  // namespace pipescope::analysis
