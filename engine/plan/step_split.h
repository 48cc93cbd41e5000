#pragma once
// Moves the borders of stages so that a call takes less time: stages of equal length do not make the
// shortest call where places hold several stages, or where exchange and the first and last passes count.
#include <functional>
#include <vector>

#include "engine/compiler/model_request.h"
#include "engine/plan/stage_split.h"
#include "engine/plan/stage_table.h"
#include "profiler/base/result.h"

namespace pipescope::plan {

/// A split whose stages were compiled.
struct CompiledSplit {
  Cuts cuts;
  std::vector<std::int64_t> ticks;  ///< of each stage for a micro-batch, without exchange
};

/// Gives the ticks of the stages of a split, by compiling it.
using CompileCuts = std::function<base::Result<std::vector<std::int64_t>>(const Cuts&)>;

/// The split of the shortest call among `compiled`, if the schedule runs with the costs that their
/// compilations have shown. `request` has few micro-batches. Places must be given
/// (SplitProblem::placeOfStage).
CompiledSplit shortestCallOf(const StageSplits& splits, const compile::ModelRequest& request,
                             const std::vector<CompiledSplit>& compiled);

/// The same among `compiled` and further splits near them, which are compiled too. `borders` are the units
/// that a stage may begin with, ascending, without 0.
base::Result<CompiledSplit> splitOfShortestCall(const StageSplits& splits,
                                                const compile::ModelRequest& request,
                                                std::vector<std::size_t> borders,
                                                std::vector<CompiledSplit> compiled,
                                                const CompileCuts& compile);

}  // namespace pipescope::plan
