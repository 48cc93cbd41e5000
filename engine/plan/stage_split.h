#pragma once
// Splits a model into stages of near equal cost, as execution.stages asks for.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/compiler/compilation.h"
#include "engine/compiler/model_request.h"
#include "engine/plan/contiguous_split.h"
#include "engine/plan/split_costs.h"
#include "engine/plan/split_places.h"
#include "profiler/base/result.h"

namespace pipescope::plan {

/// The figures from which a model is split, and the system that gave them.
struct SplitBasis {
  SplitCosts costs;
  std::shared_ptr<const devices::System> system;
};

/// A split that was searched, with the sentences that tell where the model is cut.
struct FoundSplit {
  StageSplit split;
  std::vector<std::string> notices;
  std::shared_ptr<const SplitBasis> basis;  ///< null for a single stage
  /// True if the search compiled the model without most of its equal layers (ShortModel). Other compilations
  /// cannot use the stages of such a model.
  bool shortened = false;
};

struct SplitRequest {
  /// Request with LayoutRequest::stages, and with blocks that the stages name.
  compile::ModelRequest request;
  FoundSplit found;
};

/// Compiles a request without a split.
using Compile = std::function<base::Result<compile::Compilation>(const compile::ModelRequest&)>;

/// Facts for a search over the splits of one model into LayoutRequest::splitInto stages. The units of
/// SplitProblem are the forward operators of the first executable in an order in which they can run.
class StageSplits {
 public:
  virtual ~StageSplits() = default;
  /// The costs of SplitProblem come from the device model. `request` and `compile` must live longer.
  static base::Result<std::unique_ptr<StageSplits>> make(const compile::ModelRequest& request,
                                                         bool recomputes, const Compile& compile);
  virtual const SplitProblem& problem() const = 0;
  /// Part of each unit's cost that the forward pass has, in ticks of a micro-batch.
  virtual const std::vector<std::int64_t>& forward() const = 0;
  /// Depth of a cut before each unit: 0 between blocks, otherwise 1 + the number of layers around both
  /// operators. Units that no stage may begin with have the largest number.
  virtual std::vector<std::size_t> depths() const = 0;
  virtual const SplitPlaces& places() const = 0;
  virtual const std::string& nameOf(std::size_t unit) const = 0;
  virtual const std::string& blockOf(std::size_t unit) const = 0;
  /// First unit of each stage in the split that splitIntoStages finds. Errors: those of splitIntoStages.
  virtual base::Result<std::vector<std::size_t>> shortestLongestStage() = 0;
  /// The request with the stages that begin with these units, for compileModel.
  virtual base::Result<compile::ModelRequest> applied(const std::vector<std::size_t>& first) const = 0;
};

/// The request with the stages of LayoutRequest::cuts, for compileModel. Refused: stages that are given in
/// another way too, operators that the model does not have, and operators that stages cannot begin with in
/// this order.
base::Result<compile::ModelRequest> splitAtCuts(const compile::ModelRequest& request);

/// The request with its model split into LayoutRequest::splitInto stages. The stages are contiguous, and the
/// load of the longest is as small as the device model's estimate says that it can be: forward, backward and,
/// if `recomputes`, recompute passes with host copies and with the exchange at both ends. Where stages use
/// the same parameter, they share a device, unless each may have a copy (compile::copiesWeights). Borders
/// between blocks, then between layers by their name paths, are preferred as long as they make the longest
/// stage at most 5 % longer.
///
/// What a model costs as one stage is not quite what its parts cost as several: each pass of each stage is
/// launched, and inputs are stashed. So the stages that were found are compiled, the differences become fixed
/// costs of the stages, and the search is repeated some times, as long as it promises to gain half a percent;
/// the best split that was compiled is taken. Where the schedule says where stages lie, borders then move so
/// that a call takes less time, and of the splits that are best for some rates of exchange the one with the
/// shortest emulated call is taken.
///
/// The first executable decides; the others are cut at the same operators. Refused: stages that are given in
/// another way too, more stages than operators that take time, schedules that the number of stages does not
/// suit, parameters that no placement puts on one device, and what `compile` refuses.
base::Result<SplitRequest> splitIntoStages(const compile::ModelRequest& request, bool recomputes,
                                           const Compile& compile);
/// The number of micro-batches for which splitIntoStages compiles. Requests that differ only in theirs, and
/// for which this one is the same, are split alike.
std::int64_t microBatchesOfSplit(const compile::ModelRequest& request);
/// Returns what splitIntoStages returned for a request that is split alike.
base::Result<SplitRequest> splitAgain(const compile::ModelRequest& request, bool recomputes,
                                      const FoundSplit& found);

/// The basis for splits of a model that was compiled as one stage. `forward` is its graph in a request.
base::Result<std::shared_ptr<const SplitBasis>> splitBasis(const compile::Compilation& whole,
                                                           const graph::Graph& forward,
                                                           const compile::Checkpoints& checkpoints);
/// The split that is best by the basis alone. Nothing is compiled, so the basis may be that of a variant of
/// the model with the same operators. Refused: what splitIntoStages refuses.
base::Result<SplitRequest> splitByEstimate(const compile::ModelRequest& request, bool recomputes,
                                           const std::shared_ptr<const SplitBasis>& basis);

}  // namespace pipescope::plan
