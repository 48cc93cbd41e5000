#include "app/plan/checkpoint_search.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "engine/config/configuration.h"
#include "engine/graph/graph.h"

namespace pipescope::app {
namespace {

constexpr std::size_t kMostCandidates = 24;  ///< candidates of a stage
constexpr std::int64_t kMostPlans = 60;

/// Candidates of each stage, and for each of them true if its result is kept.
using Kept = std::vector<std::vector<bool>>;

/// Chooses at most kMostCandidates of the names, evenly spread.
std::vector<std::string> thinned(const std::vector<std::string>& names) {
  if (names.size() <= kMostCandidates) return names;
  std::vector<std::string> some;
  for (std::size_t i = 0; i < kMostCandidates; ++i) some.push_back(names[i * names.size() / kMostCandidates]);
  return some;
}

/// Every `step`-th of the candidates. With 0: none.
std::vector<bool> everyOf(std::size_t candidates, std::size_t step) {
  std::vector<bool> kept(candidates, false);
  for (std::size_t i = step; step > 0 && i <= candidates; i += step) kept[i - 1] = true;
  return kept;
}

class CheckpointSearch {
 public:
  CheckpointSearch(compile::ModelRequest request, const TrialContext& context)
      : request_(std::move(request)), context_(context) {
    request_.executables.resize(1);  // the others compute nothing again
    request_.recompute.mode = compile::RecomputeRequest::Mode::always;
  }

  /// The names of the results that are kept.
  base::Result<std::vector<std::string>> run() {
    const std::vector<std::string> before = request_.recompute.checkpoints;
    PIPESCOPE_ASSIGN(const compile::Compilation present, tryRequest(request_, context_));
    findCandidates(present.executables.front().ir);
    best_ = plan::tryOut(present);
    bestNames_ = before;
    kept_.resize(candidates_.size());
    for (std::size_t s = 0; s < candidates_.size(); ++s) {
      for (const std::string& name : candidates_[s])
        kept_[s].push_back(std::ranges::find(before, name) != before.end());
    }
    seen_.insert(kept_);
    PIPESCOPE_TRY(tryAllStages());
    for (const std::size_t stage : fullestFirst()) PIPESCOPE_TRY(improve(stage));
    return bestNames_;
  }

 private:
  /// The blocks' last results, but not what the stage ends with: it is sent on, or used at once.
  void findCandidates(const compile::ExecutableIr& ir) {
    std::map<std::string, std::string> blockOf;
    for (const graph::Node& node : request_.executables.front().forward->nodes())
      if (node.pass == model::Pass::forward) blockOf[node.name] = node.block;
    for (const compile::StageIr& stage : ir.stages) {
      std::vector<std::string> names, ends, endBlocks;
      for (const compile::PassIr& pass : stage.passes) {
        if (pass.pass != model::Pass::forward) continue;
        for (const compile::IrOperator& op : pass.operators) {
          const auto block = blockOf.find(op.name);
          if (block == blockOf.end()) continue;
          names.push_back(op.name);
          const auto known = std::ranges::find(endBlocks, block->second);
          if (known == endBlocks.end()) {
            endBlocks.push_back(block->second);
            ends.push_back(op.name);
          } else {
            ends[static_cast<std::size_t>(known - endBlocks.begin())] = op.name;
          }
        }
      }
      if (!ends.empty()) ends.pop_back();
      if (!names.empty()) names.pop_back();
      candidates_.push_back(thinned(ends.empty() ? names : ends));
    }
  }

  /// The same pattern in all stages: nothing, everything, every second result, and so on.
  base::Status tryAllStages() {
    std::size_t most = 0;
    for (const std::vector<std::string>& names : candidates_) most = std::max(most, names.size());
    constexpr std::size_t kMostSteps = 8;
    for (std::size_t step = 0; step <= std::min(most, kMostSteps); ++step) {
      Kept all;
      for (const std::vector<std::string>& names : candidates_) all.push_back(everyOf(names.size(), step));
      PIPESCOPE_TRY(take(all, std::nullopt));
    }
    return {};
  }

  std::vector<std::size_t> fullestFirst() const {
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t s) {
      return std::pair(best_.stages[s].missing, best_.stages[s].occupied);
    });
    return order;
  }

  /// Changes what one stage keeps as long as that is better.
  base::Status improve(std::size_t stage) {
    const std::size_t count = candidates_[stage].size();
    std::vector<std::vector<bool>> patterns;
    if (lastFound_.size() == count) patterns.push_back(lastFound_);
    for (std::size_t step = 0; step <= count; ++step) patterns.push_back(everyOf(count, step));
    for (const std::vector<bool>& pattern : patterns) {
      Kept changed = kept_;
      changed[stage] = pattern;
      PIPESCOPE_TRY(take(changed, stage));
    }
    for (bool moves = true; moves;) {
      moves = false;
      for (std::size_t i = 0; i < count; ++i) {
        Kept changed = kept_;
        changed[stage][i] = !changed[stage][i];
        PIPESCOPE_ASSIGN(const bool better, attempt(changed, stage));
        moves = moves || better;
      }
    }
    lastFound_ = kept_[stage];
    return {};
  }

  base::Status take(const Kept& kept, std::optional<std::size_t> stage) {
    PIPESCOPE_ASSIGN(const bool better, attempt(kept, stage));
    (void)better;
    return {};
  }

  /// Tries what is kept, and takes it if it is better; with `stage`, also if only that stage is better.
  base::Result<bool> attempt(const Kept& kept, std::optional<std::size_t> stage) {
    if (tried_ >= kMostPlans || !seen_.insert(kept).second) return false;
    ++tried_;
    std::vector<std::string> names;
    for (std::size_t s = 0; s < kept.size(); ++s) {
      for (std::size_t i = 0; i < kept[s].size(); ++i)
        if (kept[s][i]) names.push_back(candidates_[s][i]);
    }
    request_.recompute.checkpoints = names;
    const base::Result<compile::Compilation> compilation = tryRequest(request_, context_);
    if (!compilation.ok()) {
      if (compilation.error().kind == base::ErrorKind::cancelled) return compilation.error();
      return false;
    }
    plan::TriedPlan tried = plan::tryOut(*compilation);
    const auto ofStage = [&](const plan::TriedPlan& plan) {
      return stage && *stage < plan.stages.size()
                 ? std::pair(plan.stages[*stage].missing, plan.stages[*stage].occupied)
                 : std::pair(std::int64_t{0}, std::int64_t{0});
    };
    const bool better =
        tried.value < best_.value || (tried.value == best_.value && ofStage(tried) < ofStage(best_));
    if (!better) return false;
    best_ = std::move(tried);
    kept_ = kept;
    bestNames_ = std::move(names);
    return true;
  }

  compile::ModelRequest request_;
  const TrialContext& context_;
  std::vector<std::vector<std::string>> candidates_;  ///< names of operators, for each stage
  Kept kept_;                                         ///< choice of the best plan
  std::vector<bool> lastFound_;  ///< choice for the stage before, in the order of the search
  std::vector<std::string> bestNames_;
  plan::TriedPlan best_;
  std::set<Kept> seen_;
  std::int64_t tried_ = 0;
};

}  // namespace

base::Status chooseCheckpoints(const compile::ModelRequest& request, const TrialContext& context,
                               PlannedVariant& planned) {
  const compile::ModelRequest split = withSplit(request, planned.plan.best);
  PIPESCOPE_ASSIGN(const std::vector<std::string> names, CheckpointSearch(split, context).run());
  return tryCheckpoints(names, request, context, planned);
}

base::Status tryCheckpoints(const std::vector<std::string>& names, const compile::ModelRequest& request,
                            const TrialContext& context, PlannedVariant& planned) {
  if (request.recompute.checkpoints == names) return {};
  compile::ModelRequest split = withSplit(request, planned.plan.best);
  split.recompute.mode = compile::RecomputeRequest::Mode::always;
  split.recompute.checkpoints = names;
  PIPESCOPE_ASSIGN(const compile::Compilation compilation, tryRequest(split, context));
  plan::TriedPlan tried = plan::tryOut(compilation);
  // The search looks at training only, so the whole plan may be no better.
  if (!(tried.value < planned.plan.best.tried.value)) return {};
  tried.cuts = planned.plan.best.tried.cuts;
  planned.plan.best.tried = std::move(tried);
  std::erase_if(planned.settings, [](const PlanSetting& setting) {
    return setting.first == "execution.checkpoints" || setting.first == "execution.recompute";
  });
  const std::string mode = names.empty() ? "pipeline" : "checkpoints";
  PIPESCOPE_TRY(planned.configuration.set("execution.recompute", mode, config::Origin::flag));
  PIPESCOPE_TRY(planned.configuration.set("execution.checkpoints", names, config::Origin::flag));
  planned.settings.emplace_back("execution.recompute", mode);
  if (!names.empty())
    planned.settings.emplace_back("execution.checkpoints", config::toToml(config::Value(names)));
  return {};
}

}  // namespace pipescope::app
