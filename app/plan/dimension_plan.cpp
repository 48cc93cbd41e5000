#include "app/plan/dimension_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "app/plan/checkpoint_choices.h"
#include "app/plan/dimension_axes.h"
#include "app/plan/dimension_costs.h"
#include "app/plan/dimension_estimate.h"
#include "app/plan/plan_variants.h"
#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_checks.h"
#include "app/run/request/model_translation.h"
#include "app/run/request/user_folders.h"
#include "engine/compile/attention_finder.h"
#include "engine/compile/sharding/graph_division.h"
#include "engine/compile/stage_division.h"
#include "engine/compiler/model_compiler.h"
#include "engine/devices/core/bands.h"
#include "engine/devices/system_registry.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::app {
namespace {

using config::Configuration;
using config::Origin;

constexpr const char* kPlacesKey = "execution.stages";
constexpr const char* kReplicas = "training.replication_factor";
constexpr const char* kInferenceReplicas = "inference.replication_factor";
constexpr const char* kCheckpoints = "execution.checkpoints";

/// One combination: a value for each axis, which may be empty, and for each further key.
struct Combination {
  std::map<std::string, std::string> values;
  std::size_t rank = 0;  ///< index of the costs of its ranks
  plan::Division division;
};

class DimensionPlanner {
 public:
  DimensionPlanner(const Configuration& given, const DimensionRequest& request, base::Executor& executor,
                   base::Progress& progress)
      : given_(given), request_(request), executor_(executor), progress_(progress) {}

  base::Result<DimensionPlan> plan() {
    PIPESCOPE_TRY(prepare());
    PIPESCOPE_TRY(enumerate());
    PIPESCOPE_TRY(measureRanks());
    std::vector<plan::Prospect> prospects;
    for (const Combination& each : combinations_)
      prospects.push_back(prospectOf(*costs_[each.rank], each.division));
    if (request_.everything)
      for (plan::Prospect& each : prospects) each.bound = {};
    splits_.resize(combinations_.size());
    refusals_.resize(combinations_.size());
    const plan::Trial trial = [this](std::size_t i) { return tryOut(i); };
    const plan::BoundedSearch search =
        plan::searchByBounds(prospects, mostTrials(), trial, executor_, progress_);
    return result(search);
  }

 private:
  /// Settles what does not depend on the combination.
  base::Status prepare() {
    Configuration& c = given_;
    const auto byDefault = [&](const char* key, const std::string& value) -> base::Status {
      if (c.given(key)) return {};
      PIPESCOPE_TRY(c.setText(key, value, Origin::flag));
      result_.defaults.emplace_back(key, value);
      return {};
    };
    if (!c.given("execution.mode")) PIPESCOPE_TRY(c.setText("execution.mode", "training", Origin::flag));
    if (!c.given("execution.numerics")) PIPESCOPE_TRY(c.setText("execution.numerics", "false", Origin::flag));
    training_ = result_.training = c.text("execution.mode") != "inference";
    const bool ownNumbers = !c.given("execution.precision") && !c.given("training.optimizer");
    if (training_) PIPESCOPE_TRY(byDefault("training.optimizer", "adamw"));
    PIPESCOPE_ASSIGN(Configuration resolved, resolvedConfiguration(c));
    PIPESCOPE_TRY(checkConfiguration(resolved));
    PIPESCOPE_ASSIGN(const compile::ModelRequest model, modelRequest(resolved));
    const graph::Graph& forward = *model.executables.front().forward;
    blocks_ = compile::blocksOf(forward);
    nodes_ = forward.nodes().size();
    findAxesOf(forward);
    if (const std::vector<std::string> lists = checkpointChoices(forward); !lists.empty())
      checkpoints_ = lists.front();
    PIPESCOPE_TRY(byDefault("execution.precision", usualPrecision()));
    if (training_ && ownNumbers) PIPESCOPE_TRY(byDefault("training.master_weights", "true"));
    PIPESCOPE_ASSIGN(resolved, resolvedConfiguration(c));
    resolved_.emplace(resolved);
    devices::SystemOptions options;
    options.userFolder = userConfigurationFolder();
    PIPESCOPE_ASSIGN(const auto system, known_.system(resolved.text("system.name"), options));
    const std::int64_t asked = resolved.integer("system.devices");
    chips_ = asked > 0 ? asked : static_cast<std::int64_t>(system->devices().size());
    result_.errorBand = devices::widestTimeError(system->devices().front().kind);
    scoreBytes_ = keptScores(forward, *system);
    const std::string& order = resolved.text("execution.axis_order");
    placesOutermost_ = order == "auto" ? !system->placesShareLinks() : order == "tp-cp-ep-dp-pp";
    return chooseSamples();
  }

  /// Finds out what the axes context and expert can divide.
  void findAxesOf(const graph::Graph& forward) {
    positions_ = compile::tokenPositions(forward);
    for (const graph::Node& node : forward.nodes()) {
      if (node.op != "ExpertDispatch") continue;
      const std::int64_t own = graph::intAttribute(node, "experts", 0);
      experts_ = experts_ == 0 ? own : std::min(experts_, own);
    }
  }

  /// Bytes of the scores of an attention that the system's software keeps for a backward pass, in 16 bits and
  /// for the model's micro-batch: probabilities, and what dropout makes of them. 0: it keeps none.
  std::int64_t keptScores(const graph::Graph& forward, const devices::System& system) const {
    const std::string& fused = resolved_->text("execution.fused_attention");
    const std::optional<std::int64_t> from = fused == "true"    ? 1
                                             : fused == "false" ? std::nullopt
                                                                : system.fusesAttentionFrom();
    std::int64_t most = 0;
    for (const auto& [last, attention] : compile::findAttention(forward, 1, ops::standardOperators())) {
      const graph::TensorType& scores = forward.tensor(forward.node(attention.nodes.front()).outputs[0]).type;
      if (from && scores.shape.back() >= *from) continue;
      most = std::max(most, 2 * scores.elements() * (attention.draws ? 2 : 1));
    }
    return most;
  }

  /// The 16-bit type in which the devices compute.
  std::string usualPrecision() {
    Configuration c = given_;
    const bool set = c.setText("execution.precision", "bfloat16", Origin::flag).ok();
    return set && rankCosts(c, blocks_, known_).ok() ? "bfloat16" : "float16";
  }

  base::Status chooseSamples() {
    constexpr std::int64_t kForEachChip = 2;
    const bool given = resolved_->given("training.gradient_accumulation");
    result_.samplesGiven = request_.samples.has_value() || (training_ && given);
    samples_ = result_.samples = request_.samples ? *request_.samples
                                 : training_ && given
                                     ? resolved_->integer("training.gradient_accumulation") *
                                           resolved_->integer("training.micro_batch_size")
                                     : kForEachChip * chips_ * (training_ ? 1 : inferenceSize());
    return {};
  }
  std::int64_t inferenceSize() const { return resolved_->integer("inference.micro_batch_size"); }

  const PlanChoice* choiceOf(const std::string& key) const {
    const auto found = std::ranges::find(request_.choices, key, &PlanChoice::key);
    return found == request_.choices.end() ? nullptr : &*found;
  }

  /// Values such as *2 or /2 are relative to a present plan, which there is not.
  static bool statesValues(const PlanChoice& choice) {
    return !choice.values.empty() && std::ranges::none_of(choice.values, [](const std::string& value) {
      return value.starts_with('*') || value.starts_with('/');
    });
  }

  bool matters(const PlanAxis& axis) const { return training_ ? axis.inTraining : axis.inInference; }
  const char* sizeKey() const {
    return training_ ? "training.micro_batch_size" : "inference.micro_batch_size";
  }

  /// The values of an axis for the axes that are chosen.
  std::vector<std::string> valuesOf(const PlanAxis& axis, const AxisContext& at) const {
    if (!matters(axis)) return {""};
    if (const auto fixed = request_.fixed.find(axis.key); fixed != request_.fixed.end())
      return {fixed->second};
    if (const PlanChoice* choice = choiceOf(axis.key); choice != nullptr && statesValues(*choice))
      return choice->values;
    if (std::string_view(axis.key) != kPlacesKey && isFixed(axis)) return {""};
    return axis.candidates(at);
  }
  bool isFixed(const PlanAxis& axis) const {
    return given_.given(axis.key) || fixedByOtherKeys(axis, given_);
  }

  /// True if nobody says which values an axis may have.
  bool isOpen(std::string_view key) const {
    const auto axis = std::ranges::find(planAxes(), key, [](const PlanAxis& each) { return each.key; });
    const PlanChoice* choice = choiceOf(std::string(key));
    return !request_.fixed.contains(std::string(key)) && !isFixed(*axis) &&
           (choice == nullptr || !statesValues(*choice));
  }

  std::vector<PlanChoice> furtherKeys() const {
    std::vector<PlanChoice> keys;
    for (const PlanChoice& choice : request_.choices) {
      const auto isAxis = [&](const PlanAxis& axis) { return choice.key == axis.key; };
      if (std::ranges::none_of(planAxes(), isAxis)) keys.push_back(choice);
    }
    return keys;
  }

  /// Values of axes that the configuration gives count as chosen for the axes behind them.
  std::string chosenText(const PlanAxis& axis, const std::string& value) const {
    if (!value.empty() || std::string_view(axis.key) == kPlacesKey || !given_.given(axis.key)) return value;
    const config::Value& own = resolved_->value(axis.key);
    if (const auto* number = std::get_if<std::int64_t>(&own)) return std::to_string(*number);
    if (const auto* text = std::get_if<std::string>(&own)) return *text;
    return value;
  }

  base::Status enumerate() {
    for (const PlanAxis& axis : planAxes()) {
      if (const auto fixed = request_.fixed.find(axis.key); fixed != request_.fixed.end()) {
        result_.fixed.emplace_back(axis.key, fixed->second);
      } else if (matters(axis) && choiceOf(axis.key) == nullptr && isFixed(axis)) {
        result_.fixed.emplace_back(axis.key, config::toToml(resolved_->value(axis.key)));
      }
    }
    if (const auto fixed = request_.fixed.find(kReplicas); fixed != request_.fixed.end())
      result_.fixed.emplace_back(training_ ? kReplicas : kInferenceReplicas, fixed->second);
    std::vector<std::map<std::string, std::string>> all(1);
    for (const PlanAxis& axis : planAxes()) {
      std::vector<std::map<std::string, std::string>> more;
      for (const auto& values : all) {
        const AxisContext at{*resolved_,      chips_,     static_cast<std::int64_t>(blocks_.size()),
                             samples_,        positions_, experts_,
                             scoreBytes_ > 0, training_,  request_.framework,
                             values};
        for (const std::string& value : valuesOf(axis, at)) {
          more.push_back(values);
          more.back()[axis.key] = chosenText(axis, value);
        }
      }
      PIPESCOPE_TRY(checkCount(more.size()));
      all = std::move(more);
    }
    for (const PlanChoice& choice : furtherKeys()) {
      std::vector<std::map<std::string, std::string>> more;
      for (const auto& values : all) {
        for (const std::string& value : choice.values) (more.emplace_back(values))[choice.key] = value;
      }
      PIPESCOPE_TRY(checkCount(more.size()));
      all = std::move(more);
    }
    for (auto& values : all) add(std::move(values));
    result_.combinations = combinations_.size();
    if (!combinations_.empty()) return {};
    return base::badInput(fmt::format(
        "No combination of the dimensions divides {} chips and {} samples of a weight update: change what is "
        "fixed, or the samples with --global-batch-size.",
        chips_, samples_));
  }

  static base::Status checkCount(std::size_t count) {
    constexpr std::size_t kMost = 500'000;
    if (count <= kMost) return {};
    return base::badInput(
        fmt::format("The choices have more than {} combinations: fix some of the dimensions.", kMost));
  }

  static std::int64_t numberIn(const std::map<std::string, std::string>& values, const char* key,
                               std::int64_t otherwise) {
    const auto found = values.find(key);
    return found == values.end() || found->second.empty() ? otherwise : std::atoll(found->second.c_str());
  }

  /// Adds a combination if its numbers divide.
  void add(std::map<std::string, std::string> values) {
    Combination made{std::move(values), 0, {}};
    plan::Division& d = made.division;
    d.training = training_;
    d.placesOutermost = placesOutermost_;
    if (training_) d.iterations = resolved_->integer("training.device_iterations");
    std::int64_t width = 1;
    for (const PlanAxis& axis : planAxes()) {
      if (axis.takesChips && std::string_view(axis.key) != kPlacesKey)
        width *= numberIn(made.values, axis.key, 1);
    }
    d.width = width;
    d.places = numberIn(made.values, kPlacesKey, 1);
    if (d.places < 1 || width < 1 || chips_ % (width * d.places) != 0) return;
    d.replicas = chips_ / (width * d.places);
    if (const auto fixed = request_.fixed.find(kReplicas); fixed != request_.fixed.end()) {
      d.replicas = std::atoll(fixed->second.c_str());
      if (d.replicas * width * d.places > chips_) return;
    }
    d.microBatchSize = numberIn(made.values, sizeKey(), resolved_->integer(sizeKey()));
    const std::int64_t experts = numberIn(made.values, "execution.expert_parallel", 1),
                       contexts = numberIn(made.values, "execution.context_parallel", 1);
    d.holders = d.replicas * experts * contexts;
    const std::int64_t each = d.replicas * experts * d.microBatchSize;
    if (d.microBatchSize < 1 || samples_ % each != 0) return;
    d.microBatches = samples_ / each;
    result_.largerMicroBatches = result_.largerMicroBatches ||
                                 (isOpen(sizeKey()) && samples_ / d.replicas / experts > kLargestMicroBatch);
    const std::string& schedule = made.values["execution.schedule"];
    d.schedule = schedule.empty() ? resolved_->text("execution.schedule") : schedule;
    d.chunks = std::max<std::int64_t>(1, numberIn(made.values, "execution.chunks", 1));
    if (d.schedule == "interleaved-1f1b" && d.places > 1 && d.microBatches % d.places != 0) return;
    d.zero = d.replicas > 1 ? zeroOf(made.values) : 0;
    const std::string& recompute = made.values["execution.recompute"];
    d.recompute = recompute.empty() ? resolved_->text("execution.recompute") : recompute;
    if (d.recompute == "auto") d.recompute = d.places > 1 ? "pipeline" : "none";
    if (d.recompute == "checkpoints" && checkpoints_.empty() && resolved_->texts(kCheckpoints).empty())
      return;
    if (d.recompute == "selective") {
      const std::int64_t size = resolved_->integer(sizeKey());
      d.scoreBytes = static_cast<double>(scoreBytes_ * d.microBatchSize / size /
                                         std::max<std::int64_t>(1, width / experts));
    }
    combinations_.push_back(std::move(made));
  }

  std::int64_t zeroOf(const std::map<std::string, std::string>& values) const {
    const std::int64_t stage = numberIn(values, "execution.zero", 0);
    if (stage > 0) return stage;
    if (resolved_->boolean("execution.shard_weights")) return 3;
    if (resolved_->boolean("execution.shard_accumulators")) return 2;
    return resolved_->boolean("execution.shard_optimizer") ? 1 : 0;
  }

  /// The configuration with the values of a combination. `wholly`: also those that do not change a rank.
  base::Result<Configuration> configurationOf(const Combination& of, bool wholly) const {
    Configuration c = given_;
    for (const auto& [key, value] : of.values) {
      if (value.empty() || key == kPlacesKey) continue;
      const auto axis = std::ranges::find(planAxes(), key, [](const PlanAxis& each) { return each.key; });
      if (!wholly && axis != planAxes().end() && !axis->ofRank) continue;
      const base::Status status = c.setText(key, value, Origin::flag);
      if (!status.ok()) return base::badInput("--vary: " + status.error().message);
    }
    if (!wholly) return c;
    const plan::Division& d = of.division;
    PIPESCOPE_TRY(c.set(training_ ? kReplicas : kInferenceReplicas, d.replicas, Origin::flag));
    PIPESCOPE_TRY(c.set(training_ ? "training.gradient_accumulation" : "inference.device_iterations",
                        d.microBatches, Origin::flag));
    // One replica has nobody to share with.
    if (d.replicas == 1 && c.integer("execution.zero") > 0)
      PIPESCOPE_TRY(c.replace("execution.zero", std::int64_t{0}));
    if (c.text("execution.recompute") == "checkpoints" && c.texts(kCheckpoints).empty())
      PIPESCOPE_TRY(c.setText(kCheckpoints, checkpoints_, Origin::flag));
    return c;
  }

  /// Measures the ranks of all combinations that differ in them. Combinations whose ranks cannot share the
  /// model are refused.
  base::Status measureRanks() {
    std::map<std::string, std::size_t> known;
    std::vector<std::size_t> example;  // a combination for each kind of rank
    for (std::size_t i = 0; i < combinations_.size(); ++i) {
      std::string key;
      for (const auto& [name, value] : combinations_[i].values) {
        const auto axis = std::ranges::find(planAxes(), name, [](const PlanAxis& each) { return each.key; });
        if (axis == planAxes().end() || axis->ofRank) key += fmt::format("{}={};", name, value);
      }
      const auto [at, isNew] = known.try_emplace(key, example.size());
      if (isNew) example.push_back(i);
      combinations_[i].rank = at->second;
    }
    progress_.report(0, "measuring layers");
    costs_.resize(example.size());
    std::vector<std::string> refusals(example.size());
    executor_.parallelFor(example.size(), [&](std::size_t k) {
      if (progress_.cancelled()) return;
      const auto measured = [&]() -> base::Result<RankCosts> {
        PIPESCOPE_ASSIGN(const Configuration c, configurationOf(combinations_[example[k]], false));
        return rankCosts(c, blocks_, known_);
      }();
      if (measured.ok()) {
        costs_[k].emplace(*measured);
      } else {
        refusals[k] = measured.error().message;
      }
    });
    if (progress_.cancelled()) return base::cancelled("Stopped before the search was complete.");
    std::vector<Combination> left;
    for (Combination& each : combinations_) {
      if (costs_[each.rank]) {
        left.push_back(std::move(each));
      } else {
        refuse(refusals[each.rank]);
      }
    }
    combinations_ = std::move(left);
    return combinations_.empty() ? base::badInput(result_.firstRefusal) : base::Status();
  }

  void refuse(const std::string& reason) {
    ++result_.refused;
    if (result_.firstRefusal.empty()) result_.firstRefusal = reason;
  }

  /// Large models are compiled less often, so that a plan takes about as long for each.
  std::size_t mostTrials() const {
    if (request_.everything) return combinations_.size();
    if (request_.most > 0) return request_.most;
    constexpr std::size_t kOperators = 120'000;
    return std::clamp<std::size_t>(kOperators / std::max<std::size_t>(1, nodes_), 16, 100);
  }

  base::Result<compile::ModelRequest> requestOf(const Combination& of) const {
    PIPESCOPE_ASSIGN(const Configuration c, configurationOf(of, true));
    PIPESCOPE_ASSIGN(const Configuration resolved, resolvedConfiguration(c));
    PIPESCOPE_TRY(checkConfiguration(resolved));
    PIPESCOPE_ASSIGN(compile::ModelRequest request, modelRequest(resolved));
    request.executables.resize(1);
    request.devicesOnly = true;
    request.computesNumbers = false;
    request.layout.stages.clear();
    request.layout.splitInto = static_cast<int>(of.division.places * of.division.chunks);
    PIPESCOPE_TRY(addWeightCopies(request));
    return request;
  }

  struct Compiled {
    plan::BlockSplit split;
    compile::Compilation compilation;
  };
  base::Result<Compiled> compiledOf(const Combination& of) {
    PIPESCOPE_ASSIGN(const compile::ModelRequest request, requestOf(of));
    PIPESCOPE_ASSIGN(plan::BlockSplit split,
                     plan::splitBlocks(request, costs_[of.rank]->blocks, request_.level));
    base::SerialExecutor serial;
    PIPESCOPE_ASSIGN(compile::Compilation compilation, compile::compileModel(split.request, serial, &known_));
    return Compiled{std::move(split), std::move(compilation)};
  }

  std::optional<plan::Value> tryOut(std::size_t i) {
    const auto tried = [&]() -> base::Result<plan::SplitPlan> {
      PIPESCOPE_ASSIGN(const Compiled compiled, compiledOf(combinations_[i]));
      const plan::BlockSplit& split = compiled.split;
      plan::SplitPlan made{plan::tryOut(compiled.compilation), {}, {}, split.devices};
      if (split.request.layout.stages.empty()) {
        made.blocks = {blocks_};
      } else {
        for (const compile::StageRequest& stage : split.request.layout.stages) {
          if (!made.blocks.empty()) made.cuts.push_back(stage.blocks.front());
          made.blocks.push_back(stage.blocks);
        }
      }
      return made;
    }();
    if (!tried.ok()) {
      refusals_[i] = tried.error().message;
      return std::nullopt;
    }
    splits_[i] = *tried;
    return tried->tried.value;
  }

  base::Result<DimensionPlan> result(const plan::BoundedSearch& search) {
    result_.excludedByMemory = search.excludedByMemory;
    result_.excludedByTime = search.excludedByTime;
    result_.left = search.left;
    result_.stopped = search.stopped;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < combinations_.size(); ++i) {
      if (search.values[i]) order.push_back(i);
      if (search.tried[i] && !search.values[i]) refuse(refusals_[i]);
    }
    if (order.empty()) {
      if (search.stopped) return base::cancelled("Stopped before the search found a plan.");
      return base::badInput("None of the combinations can run. The first one: " + result_.firstRefusal);
    }
    result_.proven = search.left == 0 && !search.stopped;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return *search.values[i]; });
    for (const std::size_t i : order) {
      const Combination& of = combinations_[i];
      PIPESCOPE_ASSIGN(Configuration c, configurationOf(of, true));
      DimensionProposal proposal{{},          of.division.width, of.division.places, of.division.replicas,
                                 *splits_[i], std::move(c)};
      for (const auto& [key, value] : of.values)
        if (!value.empty()) proposal.settings.emplace_back(key, value);
      result_.proposals.push_back(std::move(proposal));
    }
    order.resize(std::min(order.size(), kShownProposals));
    PIPESCOPE_TRY(addIntervals(order));
    return std::move(result_);
  }

  /// Emulates the best combinations again, with a record.
  base::Status addIntervals(const std::vector<std::size_t>& best) {
    std::vector<base::Status> failures(best.size());
    executor_.parallelFor(best.size(), [&](std::size_t n) {
      failures[n] = [&]() -> base::Status {
        PIPESCOPE_ASSIGN(const Compiled compiled, compiledOf(combinations_[best[n]]));
        PIPESCOPE_ASSIGN(result_.proposals[n].intervals, planIntervals(compiled.compilation));
        return {};
      }();
    });
    for (const base::Status& failure : failures) PIPESCOPE_TRY(failure);
    return {};
  }

  Configuration given_;
  const DimensionRequest& request_;
  base::Executor& executor_;
  base::Progress& progress_;
  std::optional<Configuration> resolved_;
  std::vector<std::string> blocks_;
  std::string checkpoints_;  ///< the last operator of each block
  std::size_t nodes_ = 1;
  std::int64_t chips_ = 1, samples_ = 1, positions_ = 0, experts_ = 0;
  std::int64_t scoreBytes_ = 0;  // see keptScores()
  bool placesOutermost_ = false;
  bool training_ = true;
  std::vector<Combination> combinations_;
  std::vector<std::optional<RankCosts>> costs_;
  std::vector<std::optional<plan::SplitPlan>> splits_;
  std::vector<std::string> refusals_;
  compile::LoweredStages known_;
  DimensionPlan result_;
};

}  // namespace

bool asksForDimensions(const Configuration& configuration) {
  const bool hasModel =
      !configuration.text("model.builder").empty() || !configuration.text("model.onnx").empty();
  return hasModel && asksForStages(configuration, {}) &&
         !devices::hasGivenCosts(configuration.text("system.name"), userConfigurationFolder());
}

base::Result<DimensionPlan> planDimensions(const Configuration& configuration,
                                           const DimensionRequest& request, base::Executor& executor,
                                           base::Progress& progress) {
  return DimensionPlanner(configuration, request, executor, progress).plan();
}

ConfigurationPlan asConfigurationPlan(const DimensionProposal& proposal) {
  ConfigurationPlan planned{.best = {proposal.settings,
                                     static_cast<int>(proposal.split.tried.stages.size()),
                                     {},
                                     proposal.configuration}};
  planned.best.plan.best = proposal.split;
  return planned;
}

}  // namespace pipescope::app
