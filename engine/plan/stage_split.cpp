#include "engine/plan/stage_split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/compiler/model_compiler.h"
#include "engine/ops/standard_operators.h"
#include "engine/plan/emulated_time.h"
#include "engine/plan/long_models/short_model.h"
#include "engine/plan/split_blocks.h"
#include "engine/plan/split_costs.h"
#include "engine/plan/split_exchange.h"
#include "engine/plan/step_split.h"

namespace pipescope::plan {

using namespace compile;

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

namespace {

/// Borders between layers may make the longest stage longer by this factor before the split leaves them.
constexpr double kWorthOfLayers = 1.05;

/// A further split is compiled if it promises to make the longest stage shorter by this factor.
constexpr double kWorthCompiling = 1.005;

/// The number of the first parts of two name paths that are equal.
std::size_t commonParts(std::string_view a, std::string_view b) {
  std::size_t common = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i)
    common += a[i] == '/' ? 1 : 0;
  return common;
}

class StageSplitter : public StageSplits {
 public:
  StageSplitter(const ModelRequest& request, bool recomputes, const Compile& compile)
      : request_(request),
        recomputes_(recomputes),
        compile_(compile),
        forward_(*request.executables.front().forward),
        order_(splitOrder(forward_, ops::standardOperators())),
        stages_(static_cast<std::size_t>(request.layout.splitInto)) {}

  base::Result<SplitRequest> run() {
    PIPESCOPE_TRY(prepare());
    const bool given = !places_.free && !isPhased(request_.layout.strategy);
    PIPESCOPE_TRY(given ? searchShortestCall() : search());
    PIPESCOPE_ASSIGN(ModelRequest changed, applied(best_));
    return SplitRequest{std::move(changed), {best_, notices(), basis_, shortened_}};
  }

  base::Result<SplitRequest> estimated(std::shared_ptr<const SplitBasis> basis) {
    PIPESCOPE_TRY(lay());
    setBasis(std::move(basis));
    PIPESCOPE_ASSIGN(best_, solve());
    PIPESCOPE_ASSIGN(ModelRequest changed, applied(best_));
    return SplitRequest{std::move(changed), {best_, notices(), basis_}};
  }

  base::Result<SplitRequest> again(const FoundSplit& found) {
    PIPESCOPE_TRY(lay());
    PIPESCOPE_ASSIGN(ModelRequest changed, applied(found.split));
    return SplitRequest{std::move(changed), found};
  }

  /// Asks the device model for the costs of the problem.
  base::Status prepare() {
    PIPESCOPE_TRY(lay());
    runs_ = runsOf(request_, order_);
    PIPESCOPE_ASSIGN(std::shared_ptr<const SplitBasis> basis, basisOfShortModel());
    if (basis == nullptr) {
      shortened_ = false;
      PIPESCOPE_ASSIGN(const Compilation estimate, compile_(oneStage(request_, stages_)));
      PIPESCOPE_ASSIGN(basis, splitBasis(estimate, forward_, request_.recompute.checkpoints));
    }
    setBasis(std::move(basis));
    return {};
  }

  base::Result<ModelRequest> splitAt(const std::vector<std::string>& cuts) {
    PIPESCOPE_TRY(lay());
    std::vector<std::size_t> first{0};
    for (const std::string& name : cuts) {
      const auto at = std::ranges::find_if(order_, [&](NodeId id) { return forward_.node(id).name == name; });
      if (at == order_.end()) {
        return base::badInput(fmt::format(
            "execution.cuts names {}, but the model has no operator of this name in its forward pass.",
            name));
      }
      const auto unit = static_cast<std::size_t>(at - order_.begin());
      if (unit <= first.back()) {
        return base::badInput(fmt::format(
            "execution.cuts names {} after {}, but it does not come later in the model: name the first "
            "operator of each stage after the first, in the order of the model.",
            name, nameOf(first.back())));
      }
      if (!borders_[unit]) {
        return base::badInput(fmt::format(
            "execution.cuts names {}, but a stage cannot begin there, because the operator uses weights that "
            "the operators before it arrange, or runs beside one of them (model.multi_convs): name an "
            "earlier "
            "or a later one.",
            name));
      }
      first.push_back(unit);
    }
    PIPESCOPE_ASSIGN(ModelRequest cut, applied(first));
    return onDevices(std::move(cut));
  }

  const SplitProblem& problem() const override { return problem_; }
  const std::vector<std::int64_t>& forward() const override { return forwardCost_; }
  const SplitPlaces& places() const override { return places_; }
  const std::string& nameOf(std::size_t unit) const override { return forward_.node(order_[unit]).name; }
  const std::string& blockOf(std::size_t unit) const override { return forward_.node(order_[unit]).block; }
  base::Result<std::vector<std::size_t>> shortestLongestStage() override {
    PIPESCOPE_TRY(search());
    std::ranges::fill(problem_.fixed, 0);
    return best_.first;
  }
  base::Result<ModelRequest> applied(const std::vector<std::size_t>& first) const override {
    return applied(splitOf(first));
  }
  std::vector<std::size_t> depths() const override {
    std::vector<std::size_t> all = cutDepths();
    for (std::size_t cut = 0; cut < all.size(); ++cut) {
      if (!borders_[cut] || cut == 0) all[cut] = SIZE_MAX;
    }
    return all;
  }

 private:
  /// Finds where stages lie and where they may begin.
  base::Status lay() {
    PIPESCOPE_ASSIGN(places_, splitPlaces(request_, recomputes_));
    problem_.recomputes = places_.recomputes;
    borders_ = splitBorders(forward_, order_);
    if (!compile::copiesWeights(request_.layout)) findSharedParameters();
    if (!places_.free) problem_.placeOfStage = places_.placeOfStage;
    return {};
  }

  /// The request for a model with less layers, with the first executable only.
  ModelRequest requestOf(const ShortModel& shortened) const {
    ModelRequest request = request_;
    request.executables.resize(1);
    request.executables.front().forward = shortened.forward();
    return request;
  }

  /// The basis by a compilation of a model without most of its equal layers; null: it has too few of them.
  base::Result<std::shared_ptr<const SplitBasis>> basisOfShortModel() const {
    std::shared_ptr<const SplitBasis> none;
    const std::optional<ShortModel> shortened = ShortModel::make(forward_, order_, runs_, {0});
    if (!shortened) return none;
    PIPESCOPE_ASSIGN(const Compilation estimate, compile_(oneStage(requestOf(*shortened), stages_)));
    PIPESCOPE_ASSIGN(const SplitCosts costs,
                     splitCosts(estimate.executables.front(), *shortened->forward(), shortened->order(), {}));
    std::optional<SplitCosts> all = shortened->unfold(costs);
    if (!all) return none;
    return std::make_shared<const SplitBasis>(SplitBasis{*std::move(all), estimate.system});
  }

  void setBasis(std::shared_ptr<const SplitBasis> basis) {
    basis_ = std::move(basis);
    const SplitCosts& costs = basis_->costs;
    problem_.cost = costs.cost;
    problem_.again = costs.again;
    forwardCost_ = costs.forward;
    problem_.fixed.assign(stages_, 0);
    findWorking(costs);
    problem_.exchange = exchangeOver(*basis_->system, costs, places_.placeOfStage);
  }

  /// Searches, compiles what was found, and searches again with what that has shown.
  base::Status search() {
    constexpr int kRounds = 4;
    std::set<std::vector<std::size_t>> tried;
    for (int round = 0; round < kRounds; ++round) {
      PIPESCOPE_ASSIGN(StageSplit split, solve());
      if (!tried.insert(split.first).second) return {};
      if (round > 0 &&
          static_cast<double>(split.largest) * kWorthCompiling > static_cast<double>(best_.largest))
        return {};
      PIPESCOPE_ASSIGN(std::vector<std::int64_t> ticks, compiledTicks(split));
      const std::vector<std::int64_t> costs = withExchange(split, ticks);
      compiled_.push_back({split.first, std::move(ticks)});
      for (std::size_t s = 0; s < stages_; ++s) problem_.fixed[s] += costs[s] - split.stageCost[s];
      split.stageCost = costs;
      split.largest = largestLoad(split);
      if (round == 0 || split.largest < best_.largest) best_ = std::move(split);
    }
    return {};
  }

  /// Searches the split with the shortest call. What is compared does not depend on the links of the system:
  /// it is the best split for each of some rates at which stages might exchange. So a better link never makes
  /// the choice worse.
  base::Status searchShortestCall() {
    constexpr double kRates[] = {1e12, 1e11, 1e10};  // bytes per second; above, between and below usual links
    const SplitExchange exchange = problem_.exchange;
    const ModelRequest estimate = estimateOf(request_, stages_);
    std::vector<CompiledSplit> found;
    for (const double rate : kRates) {
      problem_.exchange = exchangeAt(rate, basis_->system->devices().front().ticksPerSecond, basis_->costs,
                                     places_.placeOfStage);
      problem_.fixed.assign(stages_, 0);
      compiled_.clear();
      PIPESCOPE_TRY(search());
      PIPESCOPE_ASSIGN(CompiledSplit split,
                       splitOfShortestCall(*this, estimate, allowedBorders(), compiled_,
                                           [&](const Cuts& cuts) { return compiledTicks(splitOf(cuts)); }));
      if (std::ranges::find(found, split.cuts, &CompiledSplit::cuts) == found.end())
        found.push_back(std::move(split));
    }
    problem_.exchange = exchange;
    PIPESCOPE_ASSIGN(const CompiledSplit best, shortestCall(estimate, found));
    best_ = splitOf(best.cuts);
    best_.stageCost = withExchange(best_, best.ticks);
    best_.largest = largestLoad(best_);
    return {};
  }

  /// The one of these splits whose call is the shortest: as emulated, or for long models, which take long to
  /// compile, as estimated.
  base::Result<CompiledSplit> shortestCall(const ModelRequest& estimate,
                                           const std::vector<CompiledSplit>& found) const {
    constexpr std::size_t kMostOperators = 3000;
    if (found.size() == 1) return found.front();
    if (order_.size() > kMostOperators) return shortestCallOf(*this, estimate, found);
    const CompiledSplit* best = nullptr;
    base::Ticks least;
    for (const CompiledSplit& split : found) {
      PIPESCOPE_ASSIGN(ModelRequest request, applied(splitOf(split.cuts)));
      request.executables.resize(1);
      request.executables.front().microBatches = estimate.executables.front().microBatches;
      request.executables.front().microBatchCosts.clear();
      PIPESCOPE_ASSIGN(const Compilation compilation, compile_(request));
      const base::Ticks ticks = callTicks(compilation);
      if (best == nullptr || ticks < least) best = &split, least = ticks;
    }
    return *best;
  }

  std::vector<std::size_t> allowedBorders() const {
    std::vector<std::size_t> borders;
    for (std::size_t unit = 1; unit < order_.size(); ++unit) {
      if (problem_.mayCut[unit]) borders.push_back(unit);
    }
    return borders;
  }

  StageSplit splitOf(const Cuts& cuts) const {
    StageSplit split;
    split.first = cuts;
    split.placeOfStage = placesOfSplit(problem_, cuts);
    return split;
  }

  /// The costs of stages, with the exchange at both ends, of those without.
  std::vector<std::int64_t> withExchange(const StageSplit& split, std::vector<std::int64_t> costs) const {
    for (std::size_t s = 1; s < stages_; ++s) {
      costs[s - 1] += problem_.exchange[s][split.first[s]];
      costs[s] += problem_.exchange[s][split.first[s]];
    }
    return costs;
  }

  /// Ticks of a micro-batch in the stages of a split once they are compiled, without exchange.
  base::Result<std::vector<std::int64_t>> compiledTicks(const StageSplit& split) {
    if (const auto known = ticksOf_.find(split.first); known != ticksOf_.end()) return known->second;
    PIPESCOPE_ASSIGN(std::optional<std::vector<std::int64_t>> known, costsOfShortModel(split));
    if (!known) {
      shortened_ = false;
      PIPESCOPE_ASSIGN(const ModelRequest request, applied(split));
      PIPESCOPE_ASSIGN(const Compilation compilation, compile_(devicesOf(request)));
      known = ticksOfStages(compilation);
    }
    return ticksOf_[split.first] = *std::move(known);
  }

  ModelRequest devicesOf(const ModelRequest& request) const {
    ModelRequest estimate = estimateOf(request, stages_);
    estimate.devicesOnly = true;
    return estimate;
  }

  std::vector<std::int64_t> ticksOfStages(const Compilation& compilation) const {
    std::vector<std::int64_t> ticks(stages_, 0);
    for (const devices::LoweredDevice& device : compilation.executables.front().lowered) {
      for (const devices::LoweredPass& pass : device.passes) {
        // Schedules with several pipes have each stage again behind these; the first pipe counts.
        const auto stage = static_cast<std::size_t>(pass.stage);
        if (stage < stages_ && chargesStage(pass.pass)) ticks[stage] += pass.ticks().count;
      }
    }
    return ticks;
  }

  /// The ticks of stages by a compilation of stages without most of their equal layers. None: they have too
  /// few of them.
  base::Result<std::optional<std::vector<std::int64_t>>> costsOfShortModel(const StageSplit& split) const {
    std::optional<std::vector<std::int64_t>> none;
    const std::optional<ShortModel> shortened = ShortModel::make(forward_, order_, runs_, split.first);
    if (!shortened) return none;
    PIPESCOPE_ASSIGN(const ModelRequest request, placed(requestOf(*shortened), split, stagesByName(split)));
    PIPESCOPE_ASSIGN(const Compilation compilation, compile_(devicesOf(request)));
    const std::optional<std::vector<std::int64_t>> charged =
        shortened->unfold(chargedTicks(compilation.executables.front(), *shortened->forward(),
                                       shortened->order(), static_cast<int>(stages_)));
    if (!charged) return none;
    std::vector<std::int64_t> ticks = ticksOfStages(compilation);
    for (std::size_t unit = 0, s = 0; unit < order_.size(); ++unit) {
      while (s + 1 < stages_ && split.first[s + 1] <= unit) ++s;
      if (shortened->leftOut(unit)) ticks[s] += (*charged)[unit];
    }
    return std::optional(std::move(ticks));
  }

  /// Sums the costs of stages by place where places are free, otherwise gives the cost of each stage.
  std::map<int, std::int64_t> loadsOf(const StageSplit& split) const {
    std::map<int, std::int64_t> loads;
    for (std::size_t s = 0; s < stages_; ++s)
      loads[places_.free ? split.placeOfStage[s] : static_cast<int>(s)] += split.stageCost[s];
    return loads;
  }
  std::int64_t largestLoad(const StageSplit& split) const {
    std::int64_t largest = 0;
    for (const auto& [device, load] : loadsOf(split)) largest = std::max(largest, load);
    return largest;
  }

  /// A stage needs an operator that takes time and that every executable has.
  void findWorking(const SplitCosts& costs) {
    std::map<std::string_view, std::size_t> executables;  // number that has a node of this name
    for (const ExecutableRequest& executable : request_.executables) {
      for (const Node& node : executable.forward->nodes()) ++executables[node.name];
    }
    for (std::size_t place = 0; place < order_.size(); ++place) {
      const bool everywhere =
          executables.at(forward_.node(order_[place]).name) == request_.executables.size();
      problem_.works.push_back(costs.forward[place] > 0 && everywhere);
    }
  }

  void findSharedParameters() {
    std::map<TensorId, std::set<std::size_t>> users;
    for (std::size_t place = 0; place < order_.size(); ++place) {
      for (const TensorId input : forward_.node(order_[place]).inputs) {
        if (input.valid() && forward_.tensor(input).role == graph::TensorRole::parameter)
          users[input].insert(place);
      }
    }
    std::set<std::vector<std::size_t>> known;
    for (const auto& [parameter, at] : users) {
      std::vector<std::size_t> units(at.begin(), at.end());
      if (units.size() < 2 || !known.insert(units).second) continue;
      problem_.together.push_back(std::move(units));
      shared_.push_back(parameter);
    }
  }

  /// Depth of each cut: 0 between blocks, otherwise 1 + the number of layers around both operators.
  std::vector<std::size_t> cutDepths() const {
    std::vector<std::size_t> depth(order_.size(), 0);
    for (std::size_t cut = 1; cut < order_.size(); ++cut) {
      const Node &before = forward_.node(order_[cut - 1]), &after = forward_.node(order_[cut]);
      if (before.block == after.block) depth[cut] = 1 + commonParts(before.name, after.name);
    }
    return depth;
  }

  /// The split at the outermost borders that is nearly as good as the best one at any border.
  base::Result<StageSplit> solve() {
    const std::vector<std::size_t> depth = cutDepths();
    const std::set<std::size_t> levels(std::next(depth.begin()), depth.end());
    const auto allowCuts = [&](std::size_t level) {
      problem_.mayCut.clear();
      for (std::size_t cut = 0; cut < depth.size(); ++cut)
        problem_.mayCut.push_back(borders_[cut] && depth[cut] <= level);
    };
    for (const std::size_t level : levels) {
      allowCuts(level);
      std::optional<StageSplit> split = splitContiguously(problem_);
      if (!split) continue;
      if (level == *levels.rbegin()) return *std::move(split);
      // It takes less time to find out whether a much better split exists than to find the best one.
      allowCuts(*levels.rbegin());
      const double worth = std::ceil(static_cast<double>(split->largest) / kWorthOfLayers) - 1;
      if (canSplitWithin(problem_, static_cast<std::int64_t>(worth))) continue;
      allowCuts(level);
      return *std::move(split);
    }
    return refusal();
  }

  base::Error refusal() const {
    const auto working = static_cast<std::size_t>(std::ranges::count(problem_.works, true));
    if (working < stages_ || shared_.empty() || places_.free) {
      return base::badInput(
          fmt::format("execution.stages is {}, but the model has only {} operator{} that take{} time: use "
                      "fewer stages.",
                      stages_, working, working == 1 ? "" : "s", working == 1 ? "s" : ""));
    }
    const std::vector<std::size_t>& users = problem_.together.front();
    return base::badInput(fmt::format(
        "execution.stages is {}, but parameter {} is used by {} and by {}, which must lie on one device, and "
        "with {} they cannot: use the popart schedule, or fewer stages.",
        stages_, forward_.tensor(shared_.front()).name, forward_.node(order_[users.front()]).name,
        forward_.node(order_[users.back()]).name,
        isPhased(request_.layout.strategy) ? "strategy " + toString(request_.layout.strategy)
                                           : "schedule " + scheduleOf(request_.layout)));
  }

  std::map<std::string, int> stagesByName(const StageSplit& split) const {
    std::map<std::string, int> stageOf;
    for (std::size_t place = 0, s = 0; place < order_.size(); ++place) {
      while (s + 1 < stages_ && split.first[s + 1] <= place) ++s;
      stageOf[forward_.node(order_[place]).name] = static_cast<int>(s);
    }
    return stageOf;
  }

  base::Result<ModelRequest> applied(const StageSplit& split) const {
    return placed(request_, split, stagesByName(split));
  }
  /// The request, whose model may have less layers, with these stages.
  base::Result<ModelRequest> placed(const ModelRequest& request, const StageSplit& split,
                                    const std::map<std::string, int>& stageOf) const {
    PIPESCOPE_ASSIGN(ModelRequest changed, inStages(request, stageOf));
    if (split.placeOfStage == places_.placeOfStage) return changed;
    changed.layout.chunks = 0;
    for (std::size_t s = 0; s < stages_; ++s) changed.layout.stages[s].place = split.placeOfStage[s];
    return changed;
  }

  /// Puts the stages on the devices that the request names for its cuts.
  base::Result<ModelRequest> onDevices(ModelRequest cut) const {
    const std::vector<std::int64_t>& devices = request_.layout.cutDevices;
    if (devices.empty()) return cut;
    if (devices.size() != stages_) {
      return base::badInput(
          fmt::format("execution.cut_devices names {} device{}, but execution.cuts makes {} stages: name one "
                      "device for each stage.",
                      devices.size(), devices.size() == 1 ? "" : "s", stages_));
    }
    cut.layout.chunks = 0;
    for (std::size_t s = 0; s < stages_; ++s) cut.layout.stages[s].place = static_cast<int>(devices[s]);
    return cut;
  }

  std::vector<std::string> notices() const {
    const auto time = [&](std::int64_t ticks) {
      const double us = static_cast<double>(ticks) * 1e6 /
                        static_cast<double>(basis_->system->devices().front().ticksPerSecond);
      if (us < 1000) return fmt::format("{:.3g} µs", us);
      return us < 1e6 ? fmt::format("{:.3g} ms", us * 1e-3) : fmt::format("{:.3g} s", us * 1e-6);
    };
    const std::map<int, std::int64_t> loads = loadsOf(best_);
    std::int64_t sum = 0;
    for (const auto& [device, load] : loads) sum += load;
    const double mean = static_cast<double>(sum) / static_cast<double>(loads.size());
    std::vector<std::string> all{fmt::format(
        "The model is split into {} stages by the estimated time of a micro-batch in them, with copies and "
        "exchange. The longest {} takes {:.2f} times the mean.",
        stages_, loads.size() < stages_ ? "device" : "stage",
        static_cast<double>(best_.largest) / std::max(1.0, mean))};
    for (std::size_t s = 0; s < stages_; ++s) {
      const std::size_t end = s + 1 < stages_ ? best_.first[s + 1] : order_.size();
      all.push_back(fmt::format("Stage {} at place {}: {} operator{} from {} to {}, estimated {}.", s,
                                best_.placeOfStage[s], end - best_.first[s],
                                end - best_.first[s] == 1 ? "" : "s",
                                forward_.node(order_[best_.first[s]]).name,
                                forward_.node(order_[end - 1]).name, time(best_.stageCost[s])));
    }
    for (std::string& notice : sharedNotices()) all.push_back(std::move(notice));
    return all;
  }

  /// Says why several stages lie on one device, once for each such set of stages.
  std::vector<std::string> sharedNotices() const {
    std::map<std::set<std::size_t>, std::string> parameterOf;
    for (std::size_t set = 0; set < problem_.together.size(); ++set) {
      std::set<std::size_t> users;
      for (const std::size_t unit : problem_.together[set]) {
        const auto after = std::ranges::upper_bound(best_.first, unit);
        users.insert(static_cast<std::size_t>(after - best_.first.begin()) - 1);
      }
      if (users.size() > 1) parameterOf.emplace(std::move(users), forward_.tensor(shared_[set]).name);
    }
    std::vector<std::string> all;
    for (const auto& [stages, parameter] : parameterOf) {
      all.push_back(fmt::format("Stages {} share device {}, because they use the same parameter {}.",
                                fmt::join(stages, " and "), best_.placeOfStage[*stages.begin()], parameter));
    }
    return all;
  }

  const ModelRequest& request_;
  bool recomputes_;
  const Compile& compile_;
  const Graph& forward_;
  std::vector<NodeId> order_;
  std::size_t stages_;
  std::vector<LayerRun> runs_;
  bool shortened_ = true;  ///< see FoundSplit
  SplitPlaces places_;
  SplitProblem problem_;
  std::vector<bool> borders_;            ///< see splitBorders
  std::vector<TensorId> shared_;         ///< one parameter of each set of SplitProblem::together
  StageSplit best_;                      ///< best of the splits that were compiled
  std::vector<CompiledSplit> compiled_;  ///< by the last search
  std::map<Cuts, std::vector<std::int64_t>> ticksOf_;  ///< of all splits that were compiled
  std::vector<std::int64_t> forwardCost_;
  std::shared_ptr<const SplitBasis> basis_;
};

/// Refuses another way to say what the stages are.
base::Status checkOnlyOne(const LayoutRequest& layout, const char* key) {
  if (layout.stages.empty() && layout.layersPerStage.empty()) return {};
  return base::badInput(fmt::format("{} and {} both say what the stages are: leave one out.", key,
                                    layout.stages.empty() ? "execution.layers_per_stage" : "[[stages]]"));
}

}  // namespace

base::Result<std::unique_ptr<StageSplits>> StageSplits::make(const ModelRequest& request, bool recomputes,
                                                             const Compile& compile) {
  auto splitter = std::make_unique<StageSplitter>(request, recomputes, compile);
  PIPESCOPE_TRY(splitter->prepare());
  return std::unique_ptr<StageSplits>(std::move(splitter));
}

base::Result<ModelRequest> splitAtCuts(const ModelRequest& request) {
  PIPESCOPE_TRY(checkOnlyOne(request.layout, "execution.cuts"));
  if (request.layout.splitInto > 0)
    return base::badInput("execution.cuts and execution.stages both say what the stages are: leave one out.");
  ModelRequest cut = request;
  cut.layout.splitInto = static_cast<int>(request.layout.cuts.size()) + 1;
  const Compile none;
  return StageSplitter(cut, recomputes(cut, cut.layout.splitInto), none).splitAt(request.layout.cuts);
}

base::Result<SplitRequest> splitIntoStages(const ModelRequest& request, bool recomputes,
                                           const Compile& compile) {
  PIPESCOPE_TRY(checkOnlyOne(request.layout, "execution.stages"));
  if (request.layout.splitInto == 1) {
    SplitRequest one{request, {}};
    one.request.layout.whole = true;
    one.request.layout.splitInto = 0;
    return one;
  }
  return StageSplitter(request, recomputes, compile).run();
}

std::int64_t microBatchesOfSplit(const ModelRequest& request) {
  return estimateOf(request, static_cast<std::size_t>(request.layout.splitInto))
      .executables.front()
      .microBatches;
}

base::Result<SplitRequest> splitAgain(const ModelRequest& request, bool recomputes, const FoundSplit& found) {
  const Compile none;
  return StageSplitter(request, recomputes, none).again(found);
}

base::Result<std::shared_ptr<const SplitBasis>> splitBasis(const Compilation& whole, const Graph& forward,
                                                           const Checkpoints& checkpoints) {
  const std::vector<NodeId> order = splitOrder(forward, ops::standardOperators());
  PIPESCOPE_ASSIGN(SplitCosts costs, splitCosts(whole.executables.front(), forward, order, checkpoints));
  return std::make_shared<const SplitBasis>(SplitBasis{std::move(costs), whole.system});
}

base::Result<SplitRequest> splitByEstimate(const ModelRequest& request, bool recomputes,
                                           const std::shared_ptr<const SplitBasis>& basis) {
  const Compile none;
  return StageSplitter(request, recomputes, none).estimated(basis);
}

}  // namespace pipescope::plan
