#include "engine/plan/model_planner.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "engine/compile/block_pattern.h"
#include "engine/compiler/model_compiler.h"
#include "engine/plan/stage_split.h"
#include "engine/plan/stage_table.h"

namespace pipescope::plan {
namespace {

/// Cuts within a block or layer must make the plan faster by more than this.
constexpr double kWorthOfBlocks = 0.003;

/// Says when to stop, but shows nothing: for short searches within the work.
class StopOnly : public base::Progress {
 public:
  explicit StopOnly(const base::Progress& whole) : whole_(whole) {}
  void report(double, std::string_view) override {}
  bool cancelled() const override { return whole_.cancelled(); }

 private:
  const base::Progress& whole_;
};

class ModelPlanner {
 public:
  ModelPlanner(const compile::ModelRequest& request, const std::vector<compile::StageRequest>& start,
               compile::LoweredStages& known, base::Executor& executor, base::Progress& progress,
               CutLevel level, std::int64_t mostCompiled)
      : request_(request),
        level_(level),
        mostCompiled_(mostCompiled),
        start_(start),
        known_(known),
        executor_(executor),
        progress_(progress),
        stop_(progress) {
    stages_ = static_cast<std::size_t>(request.layout.splitInto);
  }

  base::Result<ModelPlan> plan() {
    const Compile compileOne = [&](const compile::ModelRequest& plain) {
      return compile::compileModel(plain, executor_, &known_);
    };
    PIPESCOPE_ASSIGN(
        splits_,
        StageSplits::make(request_, compile::recomputes(request_, request_.layout.splitInto), compileOne));
    table_.emplace(*splits_, request_);
    depths_ = splits_->depths();
    PIPESCOPE_TRY(trySeeds());
    const bool exact = isSmall();
    if (exact) {
      PIPESCOPE_TRY(tryAll());
    } else {
      PIPESCOPE_TRY(improve());
    }
    if (progress_.cancelled()) return base::cancelled("Stopped before the search was complete.");
    return result(exact);
  }

 private:
  using Tried = std::map<Cuts, std::optional<TriedPlan>>;

  base::Status trySeeds() {
    // The model may have no split at all; then this says why.
    PIPESCOPE_ASSIGN(Cuts seed, splits_->shortestLongestStage());
    if (level_ != CutLevel::anywhere) {
      PIPESCOPE_ASSIGN(seed, betweenBlocks(seed));
    }
    PIPESCOPE_TRY(compileCuts(seed));
    for (const std::optional<Cuts>& cuts : {startCuts(), equalBlocks()}) {
      if (cuts && std::ranges::all_of(*cuts, [&](std::size_t u) { return mayBegin(u); }))
        PIPESCOPE_TRY(compileCuts(*cuts));
    }
    return {};
  }

  /// True if a stage may begin with the unit.
  bool mayBegin(std::size_t unit) const {
    if (unit == 0 || level_ == CutLevel::anywhere) return true;
    const std::string &block = splits_->blockOf(unit), &before = splits_->blockOf(unit - 1);
    return block != before && (level_ == CutLevel::blocks || isNumbered(block) || isNumbered(before));
  }
  static bool isNumbered(const std::string& block) {
    return !block.empty() && block.back() >= '0' && block.back() <= '9';
  }

  /// Stages that begin with blocks, with equally many blocks or one more.
  std::optional<Cuts> equalBlocks() const {
    std::vector<std::size_t> first;  // unit of each block
    for (std::size_t u = 0; u < depths_.size(); ++u)
      if (u == 0 || splits_->blockOf(u) != splits_->blockOf(u - 1)) first.push_back(u);
    if (first.size() < stages_) return std::nullopt;
    Cuts cuts;
    for (std::size_t s = 0; s < stages_; ++s) cuts.push_back(first[s * first.size() / stages_]);
    if (std::ranges::any_of(cuts, [&](std::size_t u) { return u > 0 && depths_[u] == SIZE_MAX; }))
      return std::nullopt;
    return cuts;
  }

  /// The cuts, each moved to the nearest border between blocks that leaves enough borders for the others.
  base::Result<Cuts> betweenBlocks(const Cuts& cuts) const {
    const std::vector<std::size_t> borders = bordersOf(SIZE_MAX - 1);
    if (borders.size() + 1 < stages_)
      return base::badInput("The model has " + std::to_string(borders.size() + 1) +
                            " blocks that can begin a stage, which are fewer than the " +
                            std::to_string(stages_) +
                            " stages: plan fewer stages, or let the plan cut within blocks.");
    Cuts moved{0};
    std::size_t next = 0;  // first border that is free
    for (std::size_t s = 1; s < stages_; ++s) {
      const std::size_t last = borders.size() - (stages_ - s);  // the others need those behind it
      std::size_t nearest = next;
      const auto distance = [&](std::size_t b) {
        return borders[b] > cuts[s] ? borders[b] - cuts[s] : cuts[s] - borders[b];
      };
      for (std::size_t b = next; b <= last; ++b)
        if (distance(b) < distance(nearest)) nearest = b;
      moved.push_back(borders[nearest]);
      next = nearest + 1;
    }
    return moved;
  }

  /// The cuts of the plan that the user has, if its stages are contiguous.
  std::optional<Cuts> startCuts() const {
    if (start_.size() != stages_) return std::nullopt;
    compile::LayoutRequest layout = request_.layout;
    layout.splitInto = 0;
    layout.stages = start_;
    const auto specs = compile::layOutStages(layout, *request_.executables.front().forward);
    if (!specs.ok()) return std::nullopt;
    const std::map<std::string, int> stageOf = compile::stageOfBlocks(*specs);
    Cuts cuts{0};
    for (std::size_t u = 0; u < depths_.size(); ++u) {
      const auto stage = static_cast<std::size_t>(stageOf.at(splits_->blockOf(u)));
      if (stage + 1 == cuts.size()) continue;
      if (stage != cuts.size() || depths_[u] == SIZE_MAX) return std::nullopt;
      cuts.push_back(u);
    }
    if (cuts.size() != stages_) return std::nullopt;
    return cuts;
  }

  /// Compiles and emulates a split. One that the compiler refuses is remembered as impossible.
  base::Status compileCuts(const Cuts& cuts) {
    if (tried_.contains(cuts)) return {};
    // The number of plans that a large model needs is not known before; most need fewer than this.
    constexpr double kMostPlans = 40;
    progress_.report(std::min(0.95, static_cast<double>(tried_.size()) / kMostPlans), "trying out plans");
    PIPESCOPE_ASSIGN(compile::ModelRequest request, splits_->applied(cuts));
    request.executables.resize(1);
    const base::Result<compile::Compilation> compilation = compile::compileModel(request, executor_, &known_);
    if (!compilation.ok()) {
      if (compilation.error().kind == base::ErrorKind::cancelled) return compilation.error();
      if (firstRefusal_.message.empty()) firstRefusal_ = compilation.error();
      tried_.emplace(cuts, std::nullopt);
      return {};
    }
    TriedPlan tried = tryOut(*compilation);
    tried.cuts = cuts;
    table_->learn(tried);
    tried_.emplace(cuts, std::move(tried));
    return {};
  }

  std::vector<std::size_t> bordersOf(std::size_t deepest) const {
    std::vector<std::size_t> borders;
    for (std::size_t u = 1; u < depths_.size(); ++u) {
      if (depths_[u] <= deepest && mayBegin(u)) borders.push_back(u);
    }
    return borders;
  }
  SearchSpace spaceOf(std::size_t deepest) const {
    SearchSpace space;
    space.units = depths_.size();
    space.stages = stages_;
    space.borders = bordersOf(deepest);
    return space;
  }

  bool isSmall() const {
    constexpr std::int64_t kMostSplits = 150;
    constexpr std::size_t kMostUnits = 64;
    return depths_.size() <= kMostUnits &&
           countSplits(spaceOf(SIZE_MAX - 1)) <= std::min(kMostSplits, mostCompiled_);
  }

  base::Status tryAll() {
    const Evaluate evaluate = [&](const Cuts& cuts) -> base::Result<std::optional<Value>> {
      if (!table_->estimate(cuts)) return std::optional<Value>();  // a stage would have nothing to compute
      PIPESCOPE_TRY(compileCuts(cuts));
      const std::optional<TriedPlan>& tried = tried_.at(cuts);
      return tried ? std::optional(tried->value) : std::nullopt;
    };
    PIPESCOPE_ASSIGN(const auto found, searchSplits(spaceOf(SIZE_MAX - 1), evaluate, {}, stop_));
    (void)found;
    return {};
  }

  base::Status improve() {
    std::set<std::size_t> levels(std::next(depths_.begin()), depths_.end());
    levels.erase(SIZE_MAX);
    for (const std::size_t level : levels) PIPESCOPE_TRY(improveAt(level));
    return {};
  }

  /// Compiles what the table says is the best split with these borders that was not compiled. Ends when no
  /// such split would be better than the best one, or when several in a row were hardly better.
  base::Status improveAt(std::size_t level) {
    constexpr int kMostRounds = 24, kPatience = 4;
    const auto mayCompile = [&] {
      return static_cast<std::int64_t>(tried_.size()) < mostCompiled_ && !progress_.cancelled();
    };
    for (int round = 0, idle = 0; round < kMostRounds && idle < kPatience && mayCompile(); ++round) {
      const Value before = ranked().front()->value;
      PIPESCOPE_ASSIGN(const std::optional<Candidate> next, mostPromising(level));
      if (!next || !(next->value < withMargin(before))) return {};
      PIPESCOPE_TRY(compileCuts(next->cuts));
      idle = isClearlyBetter(ranked().front()->value, before) ? 0 : idle + 1;
    }
    return {};
  }

  static bool isClearlyBetter(const Value& value, const Value& than) {
    constexpr double kLeast = 0.001;
    if (value.missing != than.missing) return value.missing < than.missing;
    return static_cast<double>(value.time) < (1 - kLeast) * static_cast<double>(than.time);
  }

  struct Candidate {
    Cuts cuts;
    Value value;  ///< estimated value
  };

  /// Estimates err by some tenths of a percent, so that a split which seems that much worse may be better.
  static Value withMargin(Value value) {
    constexpr double kMargin = 1.003;
    value.time = static_cast<std::int64_t>(kMargin * static_cast<double>(value.time));
    return value;
  }

  /// Best split, as estimated, of those that a search came by and that were not compiled.
  base::Result<std::optional<Candidate>> mostPromising(std::size_t level) {
    SearchSpace space = spaceOf(level);
    space.mostInAll = 300;
    space.mostTried = 400;
    space.kicks = 5;
    const std::vector<const TriedPlan*> known = ranked();
    for (std::size_t i = 0; i < std::min<std::size_t>(known.size(), 3); ++i)
      space.starts.push_back(known[i]->cuts);
    std::optional<Candidate> best;
    const Value enough = withMargin(known.front()->value);
    const Evaluate evaluate = [&](const Cuts& cuts) -> base::Result<std::optional<Value>> {
      const Value least = table_->bound(cuts);
      if (!(least < enough))
        return std::optional(least);  // it is no candidate, so its exact value is not needed
      const std::optional<Value> value = table_->estimate(cuts);
      if (value && !tried_.contains(cuts) && (!best || *value < best->value)) best = {cuts, *value};
      return value;
    };
    PIPESCOPE_ASSIGN(const auto found, searchSplits(space, evaluate, {}, stop_));
    (void)found;
    return best;
  }

  std::size_t depthOf(const TriedPlan& tried) const {
    std::size_t depth = 0;
    for (std::size_t s = 1; s < tried.cuts.size(); ++s) depth = std::max(depth, depths_[tried.cuts[s]]);
    return depth;
  }

  /// The plans that can be, best first. The one with the outer cuts comes first of two that are equal.
  std::vector<const TriedPlan*> ranked() const {
    std::vector<const TriedPlan*> all;
    for (const auto& [cuts, tried] : tried_) {
      if (tried) all.push_back(&*tried);
    }
    std::ranges::stable_sort(all, {}, [](const TriedPlan* plan) { return plan->value; });
    if (all.empty()) return all;
    const Value least = all.front()->value;
    const auto isEqual = [&](const TriedPlan* plan) {
      return plan->value.missing == least.missing &&
             static_cast<double>(plan->value.time) < (1 + kWorthOfBlocks) * static_cast<double>(least.time);
    };
    const auto end = std::ranges::find_if_not(all, isEqual);
    std::stable_sort(all.begin(), end,
                     [&](const TriedPlan* a, const TriedPlan* b) { return depthOf(*a) < depthOf(*b); });
    return all;
  }

  base::Result<ModelPlan> result(bool exact) const {
    const std::vector<const TriedPlan*> all = ranked();
    if (all.empty()) return firstRefusal_;
    ModelPlan plan;
    PIPESCOPE_ASSIGN(const compile::ModelRequest request, splits_->applied(all[0]->cuts));
    PIPESCOPE_ASSIGN(const compile::Compilation compilation,
                     compile::compileModel(request, executor_, &known_));
    TriedPlan best = tryOut(compilation);
    best.cuts = all[0]->cuts;
    plan.best = splitPlan(best);
    if (all.size() > 1) plan.runnerUp = splitPlan(*all[1]);
    if (const std::optional<Cuts> equal = equalBlocks(); equal && tried_.contains(*equal))
      plan.equalBlocks = tried_.at(*equal);
    const std::optional<Value> estimate = table_->estimate(best.cuts);
    const std::int64_t balanced = table_->balanced(best.cuts);
    if (estimate && balanced > 0) {
      plan.balancedSamplesPerSecond =
          best.samplesPerSecond * static_cast<double>(estimate->time) / static_cast<double>(balanced);
    }
    plan.exact = exact;
    plan.compiled = static_cast<std::int64_t>(all.size());
    return plan;
  }

  SplitPlan splitPlan(const TriedPlan& tried) const {
    SplitPlan plan{tried, {}, blocksOf(tried.cuts), {}, placesOfSplit(splits_->problem(), tried.cuts)};
    for (std::size_t s = 1; s < stages_; ++s) plan.cuts.push_back(splits_->nameOf(tried.cuts[s]));
    if (plan.places != splits_->places().placeOfStage) plan.devices = plan.places;
    return plan;
  }

  /// The blocks of the stages. Empty, unless every name stands for one block, which lies in one stage.
  std::vector<std::vector<std::string>> blocksOf(const Cuts& cuts) const {
    const std::vector<std::string> blocks = compile::blocksOf(*request_.executables.front().forward);
    std::vector<std::vector<std::string>> named(stages_);
    std::set<std::string> seen;
    for (std::size_t s = 0; s < stages_; ++s) {
      const std::size_t end = s + 1 < stages_ ? cuts[s + 1] : depths_.size();
      for (std::size_t u = cuts[s]; u < end; ++u) {
        const std::string& block = splits_->blockOf(u);
        if (std::ranges::find(named[s], block) != named[s].end()) continue;
        if (!seen.insert(block).second || compile::blocksNamed(block, blocks).size() != 1) return {};
        named[s].push_back(block);
      }
    }
    return named;
  }

  const compile::ModelRequest& request_;
  const CutLevel level_;
  const std::int64_t mostCompiled_;
  const std::vector<compile::StageRequest>& start_;
  compile::LoweredStages& known_;
  base::Executor& executor_;
  base::Progress& progress_;
  StopOnly stop_;
  std::size_t stages_ = 1;
  std::unique_ptr<StageSplits> splits_;
  std::optional<StageTable> table_;
  std::vector<std::size_t> depths_;
  Tried tried_;
  base::Error firstRefusal_;
};

}  // namespace

base::Result<ModelPlan> planModel(const compile::ModelRequest& request,
                                  const std::vector<compile::StageRequest>& start,
                                  compile::LoweredStages& known, base::Executor& executor,
                                  base::Progress& progress, CutLevel level, std::int64_t mostCompiled) {
  if (compile::isPhased(request.layout.strategy)) {
    return base::badInput(
        "A plan divides pipelines and sharded models, but execution.strategy is " +
        compile::toString(request.layout.strategy) +
        ", whose phases load and store tensors: plan with another strategy, or cut the phases by hand.");
  }
  return ModelPlanner(request, start, known, executor, progress, level, mostCompiled).plan();
}

base::Result<double> mostSamplesPerSecond(const compile::ModelRequest& request, compile::LoweredStages& known,
                                          base::Executor& executor) {
  // Costs are those of the model as one stage. Stages may do without some copies, so they may be quicker.
  constexpr double kMargin = 1.2;
  const Compile compileOne = [&](const compile::ModelRequest& plain) {
    return compile::compileModel(plain, executor, &known);
  };
  const int stages = request.layout.splitInto;
  if (compile::isPhased(request.layout.strategy)) return std::numeric_limits<double>::infinity();
  PIPESCOPE_ASSIGN(const auto splits,
                   StageSplits::make(request, compile::recomputes(request, stages), compileOne));
  PIPESCOPE_ASSIGN(const auto system, known.system(request.system, request.systemOptions));
  double ticks = 0;
  for (const std::int64_t cost : splits->problem().cost) ticks += static_cast<double>(cost);
  const compile::ExecutableRequest& executable = request.executables.front();
  const compile::ReplicaRequest& replicas = executable.replicas;
  const double perMicroBatch =
      static_cast<double>(executable.microBatchSize) / static_cast<double>(replicas.inputGroup) *
      std::max(replicas.count, replicas.fillsDevices ? static_cast<int>(request.devices) : 1);
  double mean = 1;
  for (const double cost : executable.microBatchCosts)
    mean = std::min(mean, cost);  // the shortest micro-batch, which is below the mean
  if (ticks <= 0) return std::numeric_limits<double>::infinity();
  const double seconds =
      ticks * mean / stages / static_cast<double>(system->devices().front().ticksPerSecond);
  return kMargin * perMicroBatch / seconds;
}

}  // namespace pipescope::plan
