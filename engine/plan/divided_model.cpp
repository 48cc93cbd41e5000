#include "engine/plan/divided_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/compiler/model_compiler.h"
#include "engine/plan/model_planner.h"
#include "engine/plan/stage_split.h"
#include "profiler/base/byte_text.h"

namespace pipescope::plan {
namespace {

/// splitIntoStages, which is found again for the same request with other numbers of micro-batches.
base::Result<SplitRequest> splitOnce(const compile::ModelRequest& request, const Compile& compile,
                                     SharedStages* known) {
  const bool again = compile::recomputes(request, request.layout.splitInto);
  if (known == nullptr || request.origin.empty() || request.layout.splitInto == 1)
    return splitIntoStages(request, again, compile);
  const std::string key = fmt::format("{};{};{}", microBatchesOfSplit(request), again, request.origin);
  if (const std::shared_ptr<const FoundSplit> found = known->split(key))
    return splitAgain(request, again, *found);
  base::Result<SplitRequest> split = splitIntoStages(request, again, compile);
  if (split.ok()) known->addSplit(key, split->found);
  return split;
}

/// True if the model does not fit, but all devices together have about the memory that it takes. Other stages
/// keep other activations for as many micro-batches, so that the sum changes with the split.
bool mayFitOtherwise(const compile::ModelRequest& request, const compile::Compilation& compiled) {
  constexpr double kLessElsewhere = 0.75;  // the least part of the sum that another split is taken to need
  if (compile::isPhased(request.layout.strategy)) return false;
  double used = 0, room = 0;
  bool fits = true;
  for (const devices::LoweredDevice& device : compiled.executables.front().lowered) {
    const FullestUnit unit =
        fullestUnit(device, compiled.system->devices()[static_cast<std::size_t>(device.device)]);
    used += static_cast<double>(unit.used);
    room += static_cast<double>(unit.room);
    fits = fits && unit.missing == 0;
  }
  return !fits && kLessElsewhere * used <= room;
}

/// Says when compilations of `known` are to end.
class UntilStopped : public base::Progress {
 public:
  explicit UntilStopped(const SharedStages& known) : known_(known) {}
  void report(double, std::string_view) override {}
  bool cancelled() const override { return !known_.goOn().ok(); }

 private:
  const SharedStages& known_;
};

std::vector<std::string> noticesOf(const ModelPlan& plan) {
  const TriedPlan& best = plan.best.tried;
  std::vector<std::string> notices{fmt::format(
      "The {} stages that are estimated fastest do not fit. {}{} splits were compiled, and this one is "
      "the fastest of them that fits.",
      best.stages.size(), plan.exact ? "All " : "", plan.compiled)};
  for (std::size_t s = 0; s < best.stages.size(); ++s) {
    const TriedStage& stage = best.stages[s];
    notices.push_back(fmt::format("Stage {} at place {}: {} operator{} from {} to {}, {} of {}.", s,
                                  stage.place, stage.operators, stage.operators == 1 ? "" : "s", stage.first,
                                  stage.last, base::byteText(stage.used), base::byteText(stage.room)));
  }
  return notices;
}

/// The fastest split that fits; none: the search found none.
base::Result<std::optional<SplitRequest>> fittingSplit(const compile::ModelRequest& request,
                                                       const FoundSplit& fastest, base::Executor& executor,
                                                       SharedStages& known) {
  // A search compiles so many operators; small models have all their splits compiled.
  constexpr std::int64_t kMostOperators = 100'000, kLeast = 4;
  const auto operators = static_cast<std::int64_t>(request.executables.front().forward->nodes().size());
  UntilStopped progress(known);
  const base::Result<ModelPlan> plan =
      planModel(request, {}, known, executor, progress, CutLevel::anywhere,
                std::max(kLeast, kMostOperators / std::max<std::int64_t>(1, operators)));
  if (!plan.ok() && plan.error().kind == base::ErrorKind::cancelled) return plan.error();
  std::optional<SplitRequest> fitting;
  if (!plan.ok() || plan->best.tried.value.missing > 0) return fitting;
  FoundSplit found = fastest;
  found.split.first = plan->best.tried.cuts;
  found.split.placeOfStage = plan->best.places;
  found.notices = noticesOf(*plan);
  PIPESCOPE_ASSIGN(fitting,
                   splitAgain(request, compile::recomputes(request, request.layout.splitInto), found));
  return fitting;
}

}  // namespace

std::shared_ptr<const FoundSplit> SharedStages::split(const std::string& key) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const FoundSplit> known = splits_.find(key);
  if (known != nullptr) ++foundSplits_;
  return known;
}

void SharedStages::addSplit(const std::string& key, FoundSplit split) {
  const std::lock_guard lock(mutex_);
  splits_.add(key, std::make_shared<const FoundSplit>(std::move(split)));
}

std::shared_ptr<const FoundSplit> SharedStages::lastSplit() {
  const std::lock_guard lock(mutex_);
  return last_;
}

void SharedStages::setLastSplit(std::shared_ptr<const FoundSplit> split) {
  const std::lock_guard lock(mutex_);
  last_ = std::move(split);
}

base::Result<compile::Compilation> compileDivided(const compile::ModelRequest& request,
                                                  base::Executor& executor, SharedStages* known) {
  if (request.layout.cuts.empty() && !request.layout.cutDevices.empty()) {
    return base::badInput(
        "execution.cut_devices belongs to execution.cuts, which makes no stages here: name the "
        "cuts, or give [[stages]] their devices.");
  }
  if (known != nullptr) known->setLastSplit(nullptr);
  if (!request.layout.cuts.empty()) {
    PIPESCOPE_ASSIGN(const compile::ModelRequest split, splitAtCuts(request));
    return compile::compileModel(split, executor, known);
  }
  if (request.layout.splitInto == 0) return compile::compileModel(request, executor, known);
  // The search compiles several splits, and then the best of them with all executables.
  // For one stage there is nothing to search, and what is remembered would be as large as the model.
  SharedStages own;
  SharedStages* const all = known != nullptr || request.layout.splitInto == 1 ? known : &own;
  const Compile compile = [&](const compile::ModelRequest& plain) {
    return compile::compileModel(plain, executor, all);
  };
  if (all != nullptr) all->searches(request.layout.splitInto > 1);
  PIPESCOPE_ASSIGN(SplitRequest split, splitOnce(request, compile, all));
  if (all != nullptr && split.found.shortened) all->searches(false);
  PIPESCOPE_ASSIGN(compile::Compilation compiled, compile::compileModel(split.request, executor, all));
  if (request.layout.splitInto > 1 && mayFitOtherwise(request, compiled)) {
    all->searches(true);
    PIPESCOPE_ASSIGN(std::optional<SplitRequest> fitting, fittingSplit(request, split.found, executor, *all));
    if (fitting) {
      split = *std::move(fitting);
      PIPESCOPE_ASSIGN(compiled, compile::compileModel(split.request, executor, all));
    }
  }
  if (all != nullptr) all->searches(false);
  const std::vector<std::string>& notices = split.found.notices;
  compiled.notices.insert(compiled.notices.begin(), notices.begin(), notices.end());
  if (known != nullptr && request.layout.splitInto > 1)
    known->setLastSplit(std::make_shared<const FoundSplit>(std::move(split.found)));
  return compiled;
}

}  // namespace pipescope::plan
