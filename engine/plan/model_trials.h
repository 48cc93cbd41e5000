#pragma once
// Variants of a model that was compiled, to see what they would hold.
#include <map>
#include <memory>
#include <mutex>

#include "engine/plan/divided_model.h"

namespace pipescope::plan {

/// Compiles variants of a model that compileDivided compiled with `known`. It searches no stages: a variant
/// with as many stages keeps the cuts that were found, and one with another number is cut where the costs of
/// the model say. So a variant costs one compilation, and its figures may differ a little from those of a
/// run, which searches. Any thread may call it.
class ModelTrials {
 public:
  /// Both must live longer.
  ModelTrials(const compile::Compilation& compiled, SharedStages& known)
      : compiled_(compiled), known_(known), found_(known.lastSplit()) {}

  /// Numbers cannot be computed with what it returns (ModelRequest::devicesOnly). Errors: those of
  /// compileDivided.
  base::Result<compile::Compilation> compile(compile::ModelRequest variant, base::Executor& executor);

 private:
  base::Result<SplitRequest> divide(const compile::ModelRequest& variant,
                                    const std::shared_ptr<const SplitBasis>& basis);
  bool keepsCuts(const compile::ModelRequest& variant) const;
  /// Null: the model was compiled with stages that a basis cannot be made of.
  base::Result<std::shared_ptr<const SplitBasis>> basisFor(const compile::ModelRequest& variant);

  const compile::Compilation& compiled_;
  SharedStages& known_;
  const std::shared_ptr<const FoundSplit> found_;
  std::mutex mutex_;
  std::shared_ptr<const SplitBasis> basis_;
  std::map<int, FoundSplit> estimated_;  ///< by number of stages
};

}  // namespace pipescope::plan
