#include "engine/plan/model_trials.h"

#include "engine/compiler/model_compiler.h"

namespace pipescope::plan {

base::Result<compile::Compilation> ModelTrials::compile(compile::ModelRequest variant,
                                                        base::Executor& executor) {
  variant.devicesOnly = true;
  const int stages = variant.layout.splitInto;
  if (stages <= 1) return compileDivided(variant, executor, &known_);
  if (keepsCuts(variant)) {
    PIPESCOPE_ASSIGN(const SplitRequest split,
                     splitAgain(variant, compile::recomputes(variant, stages), *found_));
    return compile::compileModel(split.request, executor, &known_);
  }
  PIPESCOPE_ASSIGN(const std::shared_ptr<const SplitBasis> basis, basisFor(variant));
  const std::size_t units = variant.executables.front().forward->nodes().size();
  if (basis == nullptr || basis->costs.cost.size() != units)
    return compileDivided(variant, executor, &known_);
  PIPESCOPE_ASSIGN(const SplitRequest split, divide(variant, basis));
  return compile::compileModel(split.request, executor, &known_);
}

base::Result<SplitRequest> ModelTrials::divide(const compile::ModelRequest& variant,
                                               const std::shared_ptr<const SplitBasis>& basis) {
  const int stages = variant.layout.splitInto;
  const bool again = compile::recomputes(variant, stages);
  const std::lock_guard lock(mutex_);
  if (const auto known = estimated_.find(stages); known != estimated_.end())
    return splitAgain(variant, again, known->second);
  PIPESCOPE_ASSIGN(SplitRequest split, splitByEstimate(variant, again, basis));
  estimated_.emplace(stages, split.found);
  return split;
}

bool ModelTrials::keepsCuts(const compile::ModelRequest& variant) const {
  return found_ != nullptr &&
         found_->split.first.size() == static_cast<std::size_t>(variant.layout.splitInto) &&
         found_->basis->costs.cost.size() == variant.executables.front().forward->nodes().size();
}

base::Result<std::shared_ptr<const SplitBasis>> ModelTrials::basisFor(const compile::ModelRequest& variant) {
  if (found_ != nullptr) return found_->basis;
  const std::lock_guard lock(mutex_);
  const compile::CompiledExecutable& first = compiled_.executables.front();
  const bool whole = first.ir.stages.size() == 1 && first.facts.recompute == "none";
  if (basis_ != nullptr || !whole) return basis_;
  PIPESCOPE_ASSIGN(
      basis_, splitBasis(compiled_, *variant.executables.front().forward, variant.recompute.checkpoints));
  return basis_;
}

}  // namespace pipescope::plan
