#include "engine/compile/model/stage_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "engine/compile/graph_rewriter.h"
#include "engine/compile/model/contiguous_split.h"
#include "engine/compile/model/split_costs.h"
#include "engine/ops/standard_operators.h"
#include "engine/schedules/schedule.h"

namespace pipescope::compile {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

namespace {

/// Borders between layers may make the longest stage longer by this factor before the split leaves them.
constexpr double kWorthOfLayers = 1.05;

/// Where the stages lie before parameters are looked at.
struct StagePlaces {
  std::vector<int> device;
  bool free = false;  ///< a stage may join the device of an earlier one
};

/// Copies a graph with other blocks.
class BlockRewriter : public GraphRewriter {
 public:
  BlockRewriter(const Graph& source, const std::vector<std::string>& blocks)
      : GraphRewriter(source, ops::standardOperators()), blocks_(blocks) {}

 private:
  base::Status copyNode(const Node& node) override {
    Node copy = node;
    copy.block = blocks_[static_cast<std::size_t>(node.id.value)];
    std::vector<TensorId> inputs;
    for (const TensorId input : node.inputs) inputs.push_back(of(input));
    return appendCopy(std::move(copy), std::move(inputs));
  }

  const std::vector<std::string>& blocks_;
};

/// A schedule in which a micro-batch may come back to a device that it has left.
bool returnsToDevices(const schedules::ScheduleDefinition& schedule) {
  if (schedule.layout != schedules::Layout::own || schedule.pipes > 1) return false;
  const schedules::Shape shape{.stages = 3, .microBatches = 64, .training = true, .deviceOfStage = {0, 1, 0}};
  return schedules::makeOrder(schedule.name, shape).ok();
}

base::Result<StagePlaces> placesOf(const LayoutRequest& layout) {
  const int stages = layout.splitInto;
  StagePlaces places;
  PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* schedule,
                   schedules::findSchedule(scheduleOf(layout)));
  if (isPhased(layout.strategy) || schedule->pipes > 1) {
    for (int s = 0; s < stages; ++s) {
      const int phased = layout.strategy == Strategy::parallelPhased ? s % 2 : 0;
      places.device.push_back(isPhased(layout.strategy) ? phased : s);
    }
    return places;
  }
  PIPESCOPE_ASSIGN(places.device, schedules::layOut(*schedule, stages, layout.chunks));
  places.free = returnsToDevices(*schedule);
  return places;
}

/// The number of the first parts of two name paths that are equal.
std::size_t commonParts(std::string_view a, std::string_view b) {
  std::size_t common = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i)
    common += a[i] == '/' ? 1 : 0;
  return common;
}

/// The request for an estimate of the whole model on one device.
ModelRequest oneStage(const ModelRequest& request) {
  ModelRequest one = request;
  one.executables.resize(1);
  one.executables.front().replicas = {};
  one.layout = {};
  one.layout.whole = true;
  one.recompute = {RecomputeRequest::Mode::never, {}};
  one.update.normReplicas = 1;
  one.locations = {};
  one.scales = {};
  return one;
}

class StageSplitter {
 public:
  StageSplitter(const ModelRequest& request, bool recomputes, const Compile& compile)
      : request_(request),
        recomputes_(recomputes),
        compile_(compile),
        forward_(*request.executables.front().forward),
        order_(splitOrder(forward_, ops::standardOperators())),
        stages_(static_cast<std::size_t>(request.layout.splitInto)) {}

  base::Result<SplitRequest> run() {
    PIPESCOPE_ASSIGN(places_, placesOf(request_.layout));
    PIPESCOPE_TRY(findStashes());
    PIPESCOPE_ASSIGN(const Compilation estimate, compile_(oneStage(request_)));
    PIPESCOPE_ASSIGN(const SplitCosts costs, splitCosts(estimate.executables.front(), forward_, order_,
                                                        request_.recompute.checkpoints));
    problem_.cost = costs.cost;
    problem_.again = costs.again;
    problem_.fixed.assign(stages_, 0);
    borders_ = splitBorders(forward_, order_);
    findWorking(costs);
    findSharedParameters();
    addExchange(costs, *estimate.system);
    if (!places_.free) problem_.deviceOfStage = places_.device;
    PIPESCOPE_TRY(search());
    PIPESCOPE_ASSIGN(ModelRequest changed, applied(best_));
    return SplitRequest{std::move(changed), notices(*estimate.system)};
  }

 private:
  /// Searches, compiles what was found, and searches again with what that has shown.
  base::Status search() {
    constexpr int kRounds = 4;
    std::set<std::vector<std::size_t>> tried;
    for (int round = 0; round < kRounds; ++round) {
      PIPESCOPE_ASSIGN(Split split, solve());
      if (!tried.insert(split.first).second) return {};
      PIPESCOPE_ASSIGN(const std::vector<std::int64_t> compiled, compiledCosts(split));
      for (std::size_t s = 0; s < stages_; ++s) problem_.fixed[s] += compiled[s] - split.stageCost[s];
      split.stageCost = compiled;
      split.largest = largestLoad(split);
      if (round == 0 || split.largest < best_.largest) best_ = std::move(split);
    }
    return {};
  }

  /// What the stages of a split cost once they are compiled, with the exchange at both ends.
  base::Result<std::vector<std::int64_t>> compiledCosts(const Split& split) {
    PIPESCOPE_ASSIGN(ModelRequest request, applied(split));
    request.executables.resize(1);
    PIPESCOPE_ASSIGN(const Compilation compilation, compile_(request));
    std::vector<std::int64_t> costs(stages_, 0);
    for (const devices::LoweredDevice& device : compilation.executables.front().lowered) {
      for (const devices::LoweredPass& pass : device.passes) {
        // With several pipes, each stage exists once more.
        const auto stage = static_cast<std::size_t>(pass.stage);
        if (stage < stages_ && chargesStage(pass.pass)) costs[stage] += pass.ticks().count;
      }
    }
    for (std::size_t s = 1; s < stages_; ++s) {
      costs[s - 1] += problem_.exchange[s][split.first[s]];
      costs[s] += problem_.exchange[s][split.first[s]];
    }
    return costs;
  }

  /// By device where devices are free, otherwise by stage.
  std::map<int, std::int64_t> loadsOf(const Split& split) const {
    std::map<int, std::int64_t> loads;
    for (std::size_t s = 0; s < stages_; ++s)
      loads[places_.free ? split.device[s] : static_cast<int>(s)] += split.stageCost[s];
    return loads;
  }
  std::int64_t largestLoad(const Split& split) const {
    std::int64_t largest = 0;
    for (const auto& [device, load] : loadsOf(split)) largest = std::max(largest, load);
    return largest;
  }

  /// Which stages recompute, by the schedule that runs.
  base::Status findStashes() {
    const ExecutableRequest& asked = request_.executables.front();
    const bool training = asked.kind == model::ExecutableKind::training;
    PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* schedule,
                     schedules::findSchedule(scheduleOf(request_.layout)));
    schedules::Shape shape;
    shape.training = training;
    shape.microBatches = static_cast<int>(training ? asked.microBatches : asked.deviceIterations);
    shape.stages = request_.layout.splitInto * schedule->pipes;
    shape.deviceOfStage = places_.device;
    if (schedule->pipes > 1) {
      PIPESCOPE_ASSIGN(shape.deviceOfStage, schedules::layOut(*schedule, shape.stages, 0));
    }
    PIPESCOPE_ASSIGN(const schedules::Order order, schedules::makeOrder(schedule->name, shape));
    const bool named = !request_.recompute.checkpoints.empty();
    for (std::size_t s = 0; s < stages_; ++s)
      problem_.recomputes.push_back(training && recomputes_ && (named || order.stashEntries[s] > 0));
    return {};
  }

  /// A stage needs an operator that takes time and that every executable has.
  void findWorking(const SplitCosts& costs) {
    for (std::size_t place = 0; place < order_.size(); ++place) {
      const std::string& name = forward_.node(order_[place]).name;
      problem_.works.push_back(costs.forward[place] > 0 &&
                               std::ranges::all_of(request_.executables, [&](const auto& executable) {
                                 const auto& nodes = executable.forward->nodes();
                                 return executable.forward == request_.executables.front().forward ||
                                        std::ranges::find(nodes, name, &Node::name) != nodes.end();
                               }));
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

  void addExchange(const SplitCosts& costs, const devices::System& system) {
    const int last = static_cast<int>(system.devices().size()) - 1;
    std::map<devices::Flow, std::int64_t> known;
    const auto ticks = [&](int from, int to, std::int64_t bytes) -> std::int64_t {
      // Whether there are enough devices is checked when the stages are compiled.
      from = std::min(from, last);
      to = std::min(to, last);
      if (bytes == 0 || from == to) return 0;
      const devices::Flow flow{from, to, base::Bytes(bytes)};
      const auto [at, isNew] = known.try_emplace(flow, 0);
      if (isNew) at->second = system.transferTicks({flow}).front().count;
      return at->second;
    };
    problem_.exchange.assign(stages_, std::vector<std::int64_t>(order_.size(), 0));
    for (std::size_t s = 1; s < stages_; ++s) {
      const int from = places_.device[s - 1], to = places_.device[s];
      for (std::size_t cut = 1; cut < order_.size(); ++cut)
        problem_.exchange[s][cut] =
            ticks(from, to, costs.activationBytes[cut]) + ticks(to, from, costs.gradientBytes[cut]);
    }
  }

  /// By cut: 0 between blocks, otherwise 1 + the number of layers around both operators.
  std::vector<std::size_t> depths() const {
    std::vector<std::size_t> depth(order_.size(), 0);
    for (std::size_t cut = 1; cut < order_.size(); ++cut) {
      const Node &before = forward_.node(order_[cut - 1]), &after = forward_.node(order_[cut]);
      if (before.block == after.block) depth[cut] = 1 + commonParts(before.name, after.name);
    }
    return depth;
  }

  /// The split at the outermost borders that is nearly as good as the best one.
  base::Result<Split> solve() {
    const std::vector<std::size_t> depth = depths();
    const std::set<std::size_t> levels(std::next(depth.begin()), depth.end());
    std::vector<Split> found;
    for (const std::size_t level : levels) {
      problem_.mayCut.clear();
      for (std::size_t cut = 0; cut < depth.size(); ++cut)
        problem_.mayCut.push_back(borders_[cut] && depth[cut] <= level);
      std::optional<Split> split = splitContiguously(problem_);
      if (!split) continue;
      found.push_back(*std::move(split));
      if (static_cast<double>(found.back().largest) <= kWorthOfLayers * static_cast<double>(leastLoad()))
        break;
    }
    if (found.empty()) return refusal();
    const auto good = [&](const Split& split) {
      return static_cast<double>(split.largest) <= kWorthOfLayers * static_cast<double>(found.back().largest);
    };
    return *std::ranges::find_if(found, good);
  }

  /// No split has a smaller load.
  std::int64_t leastLoad() const {
    const auto sum = [](const std::vector<std::int64_t>& each) {
      return std::accumulate(each.begin(), each.end(), std::int64_t{0});
    };
    const std::int64_t all = sum(problem_.cost) + sum(problem_.fixed);
    return std::max(*std::ranges::max_element(problem_.cost), all / static_cast<std::int64_t>(stages_));
  }

  base::Error refusal() const {
    const auto working = static_cast<std::size_t>(std::ranges::count(problem_.works, true));
    if (working < stages_ || shared_.empty()) {
      return base::badInput(
          fmt::format("execution.stages is {}, but only {} operator{} of the model take{} time: use at most "
                      "as many stages.",
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

  /// The stage of each node of a graph. A node that the first executable does not have follows what it reads.
  std::vector<int> stagesOf(const Graph& graph, const Split& split) const {
    std::map<std::string_view, int> known;
    for (std::size_t place = 0, s = 0; place < order_.size(); ++place) {
      while (s + 1 < stages_ && split.first[s + 1] <= place) ++s;
      known[forward_.node(order_[place]).name] = static_cast<int>(s);
    }
    std::vector<int> stages, least(graph.nodes().size(), static_cast<int>(stages_) - 1);
    for (const Node& node : graph.nodes()) {
      const auto found = known.find(node.name);
      stages.push_back(found == known.end() ? -1 : found->second);
    }
    const auto producer = [&](TensorId id) { return id.valid() ? graph.tensor(id).producer : NodeId(); };
    for (std::size_t i = stages.size(); i-- > 0;) {
      const int own = stages[i] < 0 ? least[i] : stages[i];
      for (const TensorId input : graph.nodes()[i].inputs) {
        if (!producer(input).valid()) continue;
        int& most = least[static_cast<std::size_t>(producer(input).value)];
        most = std::min(most, own);
      }
    }
    for (std::size_t i = 0; i < stages.size(); ++i) {
      int before = -1;
      for (const TensorId input : graph.nodes()[i].inputs) {
        if (producer(input).valid())
          before = std::max(before, stages[static_cast<std::size_t>(producer(input).value)]);
      }
      if (stages[i] < 0 && before < 0) stages[i] = least[i];
      stages[i] = std::max(stages[i], before);
    }
    return stages;
  }

  base::Result<ModelRequest> applied(const Split& split) const {
    std::vector<std::vector<int>> stages;
    std::map<std::string, std::set<int>> spans;  // by block
    for (const ExecutableRequest& executable : request_.executables) {
      stages.push_back(stagesOf(*executable.forward, split));
      for (const Node& node : executable.forward->nodes())
        spans[node.block].insert(stages.back()[static_cast<std::size_t>(node.id.value)]);
    }
    ModelRequest changed = request_;
    changed.layout.stages.resize(stages_);
    for (std::size_t e = 0; e < stages.size(); ++e) {
      std::vector<std::string> blocks;
      for (const Node& node : request_.executables[e].forward->nodes()) {
        const int stage = stages[e][static_cast<std::size_t>(node.id.value)];
        const bool whole = spans.at(node.block).size() == 1;
        blocks.push_back(whole ? node.block : fmt::format("{}/stage{}", node.block, stage));
        std::vector<std::string>& own = changed.layout.stages[static_cast<std::size_t>(stage)].blocks;
        if (std::ranges::find(own, blocks.back()) == own.end()) own.push_back(blocks.back());
      }
      PIPESCOPE_ASSIGN(Graph graph, BlockRewriter(*request_.executables[e].forward, blocks).run());
      changed.executables[e].forward = std::make_shared<const Graph>(std::move(graph));
    }
    if (split.device == places_.device) return changed;
    changed.layout.chunks = 0;
    for (std::size_t s = 0; s < stages_; ++s) changed.layout.stages[s].device = split.device[s];
    return changed;
  }

  std::vector<std::string> notices(const devices::System& system) const {
    const auto time = [&](std::int64_t ticks) {
      const double us =
          static_cast<double>(ticks) * 1e6 / static_cast<double>(system.devices().front().ticksPerSecond);
      return us >= 1000 ? fmt::format("{:.3g} ms", us * 1e-3) : fmt::format("{:.3g} µs", us);
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
      all.push_back(fmt::format("Stage {} on device {}: {} operators from {} to {}, estimated {}.", s,
                                best_.device[s], end - best_.first[s],
                                forward_.node(order_[best_.first[s]]).name,
                                forward_.node(order_[end - 1]).name, time(best_.stageCost[s])));
    }
    return all;
  }

  const ModelRequest& request_;
  bool recomputes_;
  const Compile& compile_;
  const Graph& forward_;
  std::vector<NodeId> order_;
  std::size_t stages_;
  StagePlaces places_;
  SplitProblem problem_;
  std::vector<bool> borders_;     ///< see splitBorders
  std::vector<TensorId> shared_;  ///< by entry of SplitProblem::together: one parameter of that set
  Split best_;                    ///< of those that were compiled
};

}  // namespace

base::Result<SplitRequest> splitIntoStages(const ModelRequest& request, bool recomputes,
                                           const Compile& compile) {
  if (!request.layout.stages.empty() || !request.layout.layersPerStage.empty()) {
    return base::badInput(
        fmt::format("execution.stages and {} both say what the stages are: leave one out.",
                    request.layout.stages.empty() ? "execution.layers_per_stage" : "[[stages]]"));
  }
  if (request.layout.splitInto == 1) {
    SplitRequest one{request, {}};
    one.request.layout.whole = true;
    one.request.layout.splitInto = 0;
    return one;
  }
  return StageSplitter(request, recomputes, compile).run();
}

}  // namespace pipescope::compile
