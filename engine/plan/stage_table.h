#pragma once
// Costs of stages of a model: estimated from their operators, or known because they were compiled.
#include <map>
#include <tuple>

#include "engine/compiler/fixed_compiler.h"
#include "engine/compiler/model_request.h"
#include "engine/plan/stage_split.h"
#include "engine/plan/tried_plan.h"

namespace pipescope::plan {

class StageTable {
 public:
  StageTable(const StageSplits& splits, const compile::ModelRequest& request);

  /// Learns what the stages of a plan that was compiled cost.
  void learn(const TriedPlan& tried);
  /// Learns what the stages of a split take for a micro-batch: all passes of a stage are as much longer or
  /// shorter than estimated as the stage is.
  void learnStages(const Cuts& cuts, const std::vector<std::int64_t>& ticks);
  /// The value of a split by what is known: the schedule runs on devices with these costs. What a stage lacks
  /// is known if it was compiled in this place; otherwise it is estimated from the stage that was compiled in
  /// this place with the most similar work. None if a stage has nothing to compute.
  std::optional<Value> estimate(const Cuts& cuts) const;
  /// A value that estimate() is not below. It is quick to compute.
  Value bound(const Cuts& cuts) const;
  /// Ticks of a call if all stages took as long as their mean.
  std::int64_t balanced(const Cuts& cuts) const;

 private:
  struct Passes {
    double forward = 0, recompute = 0, backward = 0;
  };
  /// Key under which the passes of a compiled stage are known. Stages with equal keys do the same: the units
  /// tell whether a stage is the first or the last one, which have copies from and to the host, and the flag
  /// tells whether it computes its forward pass again.
  using Range = std::tuple<bool, std::size_t, std::size_t>;  ///< recomputes, first, end
  Range rangeOf(std::size_t stage, std::size_t first, std::size_t end) const {
    return {splits_.problem().recomputes[stage], first, end};
  }
  /// A stage that was compiled.
  struct Memory {
    double work = 0;  ///< forward ticks, as estimated
    std::int64_t used = 0, room = 0, missing = 0;
  };
  double workOf(std::size_t first, std::size_t end) const { return forward_[end] - forward_[first]; }
  Passes sumOf(std::size_t stage, std::size_t first, std::size_t end) const;
  Passes passesOf(std::size_t stage, std::size_t first, std::size_t end) const;
  std::int64_t missingOf(std::size_t stage, std::size_t first, std::size_t end) const;
  compile::FixedRun runOf(const std::vector<Passes>& stages, const Cuts& cuts) const;

  const StageSplits& splits_;
  const compile::ModelRequest& request_;
  std::map<Range, Passes> known_;
  std::vector<double> forward_, backward_, again_;  ///< sums over the units before
  /// Compiled stages at each place, keyed by (first, end).
  std::vector<std::map<std::pair<std::size_t, std::size_t>, Memory>> memory_;
  double allWork_ = 0, allUsed_ = 0;  ///< sums over compiled stages
  std::vector<Passes> errors_;  ///< known − estimated for each stage of the plan that was compiled last
};

}  // namespace pipescope::plan
