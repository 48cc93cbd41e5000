#include "app/plan/plan_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "app/plan/checkpoint_search.h"
#include "app/plan/plan_start.h"
#include "app/plan/plan_trial.h"
#include "app/plan/plan_variants.h"
#include "app/plan/shared_variants.h"
#include "app/plan/stage_settings.h"
#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_checks.h"
#include "app/run/request/model_translation.h"
#include "app/run/request/user_folders.h"
#include "engine/compile/stage_division.h"
#include "engine/devices/core/bands.h"
#include "engine/devices/system_registry.h"
#include "engine/schedules/schedule.h"

namespace pipescope::app {
namespace {

using config::Configuration;

base::Status checkDivisible(const Configuration& c) {
  const std::string& system = c.text("system.name");
  if (!devices::hasGivenCosts(system, userConfigurationFolder())) return {};
  return base::badInput(fmt::format(
      "System {} has costs that are given for whole stages, so there is nothing to divide: plan from the "
      "costs of layers with --profile, or choose another system.",
      system));
}

/// The stages of a starting plan. Refused: devices that the schedule gives another number of stages.
base::Result<std::vector<compile::StageRequest>> startStagesOf(const std::string& text,
                                                               const Configuration& c) {
  PIPESCOPE_ASSIGN(const compile::ModelRequest request, modelRequest(c));
  PIPESCOPE_ASSIGN(const StartPlan start,
                   readStartPlan(text, compile::blocksOf(*request.executables.front().forward)));
  if (start.devices == 0 || c.text("execution.strategy") != "pipelined") return start.stages;
  PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* schedule,
                   schedules::findSchedule(c.text("execution.schedule")));
  PIPESCOPE_ASSIGN(const int chunks,
                   schedules::chunksPerDevice(*schedule, static_cast<int>(c.integer("execution.chunks"))));
  const std::size_t each = start.stages.size() / start.devices;
  if (static_cast<std::size_t>(chunks) == each) return start.stages;
  return base::badInput(fmt::format(
      "--start puts {} stages on {} device{}, {} on each, but schedule {} puts {} there: choose a schedule "
      "with so many, such as --set execution.schedule={}{}, or leave --pipeline-model-parallel-size out.",
      start.stages.size(), start.devices, start.devices == 1 ? "" : "s", each, schedule->name, chunks,
      each > 1 ? "interleaved-1f1b --set execution.chunks=" : "1f1b",
      each > 1 ? std::to_string(each) : std::string()));
}

bool isBetter(const plan::Value& a, double rateOfA, const plan::Value& b, double rateOfB) {
  return a.missing != b.missing ? a.missing < b.missing : rateOfA > rateOfB;
}

/// A part of the whole work.
class PartOfProgress : public base::Progress {
 public:
  PartOfProgress(base::Progress& whole, std::size_t part, std::size_t parts)
      : whole_(whole), part_(static_cast<double>(part)), parts_(static_cast<double>(parts)) {}
  void report(double fraction, std::string_view what) override {
    whole_.report((part_ + fraction) / parts_, what);
  }
  bool cancelled() const override { return whole_.cancelled(); }

 private:
  base::Progress& whole_;
  double part_, parts_;
};

class ConfigurationPlanner {
 public:
  ConfigurationPlanner(const Configuration& configuration, const std::vector<PlanChoice>& choices,
                       const std::string& start, base::Executor& executor, base::Progress& progress,
                       plan::CutLevel level, const numerics::Instances* instances)
      : given_(configuration),
        choices_(choices),
        start_(start),
        executor_(executor),
        progress_(progress),
        level_(level),
        instances_(instances) {}

  base::Result<ConfigurationPlan> plan() {
    PIPESCOPE_ASSIGN(const Configuration chosen, resolvedConfiguration(given_));
    PIPESCOPE_TRY(checkDivisible(chosen));
    if (!start_.empty()) {
      PIPESCOPE_ASSIGN(startStages_, startStagesOf(start_, chosen));
    }
    addErrorBand(chosen);
    addPresent();
    if (start_.empty() && asksForStages(given_, choices_)) {
      PIPESCOPE_ASSIGN(const auto system, devicesOfSystem(chosen));
      wholeSystem_ = system;
    }
    if (choosesMicroBatches(basis(), chosen)) result_.microBatchesChosen = true;
    PIPESCOPE_ASSIGN(const std::vector<Variant> variants, variantsOf(basis()));
    result_.variants.resize(variants.size());
    for (std::size_t i = 0; i < variants.size(); ++i)
      result_.variants[i] = {variants[i].settings, variants[i].stages, std::nullopt, 0, {}};
    PIPESCOPE_TRY(search(variants));
    if (instances_ != nullptr && instances_->index() > 0) return std::move(result_);
    if (!best_) {
      const std::string& refusal = result_.variants.front().refusal;
      return base::badInput(variants.size() > 1 ? "None of the variants can run. The first one: " + refusal
                                                : refusal);
    }
    if (choosesForStages() && !result_.stoppedAfter) {
      PIPESCOPE_TRY(chooseForStages());
    } else {
      addRunnerUp();
      result_.best = *std::move(best_);
    }
    PIPESCOPE_TRY(addIntervals());
    return std::move(result_);
  }

 private:
  PlanBasis basis() const { return {given_, choices_, result_.present, startStages_, wholeSystem_}; }

  base::Result<std::int64_t> devicesOfSystem(const Configuration& c) {
    devices::SystemOptions options;
    options.userFolder = userConfigurationFolder();
    PIPESCOPE_ASSIGN(const auto system, known_.system(c.text("system.name"), options));
    return static_cast<std::int64_t>(system->devices().size());
  }

  /// A variant, with samples per second that none of its plans exceeds.
  struct Bounded {
    std::size_t index = 0;
    double bound = std::numeric_limits<double>::infinity();
  };

  /// Searches the variants, or with instances this one's part of them.
  base::Status search(const std::vector<Variant>& variants) {
    const std::vector<Bounded> list = byBound(variants);
    const std::size_t parts = instances_ == nullptr ? 1 : static_cast<std::size_t>(instances_->count());
    const std::size_t own = instances_ == nullptr ? 0 : static_cast<std::size_t>(instances_->index());
    for (std::size_t i = own; i < list.size(); i += parts) {
      PartOfProgress progress(progress_, i, list.size());
      const base::Status tried = progress_.cancelled()
                                     ? base::cancelled("Stopped before the search was complete.")
                                     : tryVariant(variants[list[i].index], list[i], progress);
      if (tried.ok()) continue;
      const bool keeps = parts == 1 && best_ && tried.error().kind == base::ErrorKind::cancelled;
      if (!keeps) return tried;
      result_.stoppedAfter = i;
      for (std::size_t rest = i; rest < list.size(); ++rest)
        result_.variants[list[rest].index].refusal = "Not searched: the search was stopped before.";
      break;
    }
    return parts > 1 ? join(variants, list) : base::Status();
  }

  /// Exchanges the results of the instances. The first instance then searches again the variants that count
  /// and that others have searched.
  base::Status join(const std::vector<Variant>& variants, const std::vector<Bounded>& list) {
    std::vector<std::size_t> order;
    for (const Bounded& each : list) order.push_back(each.index);
    joinVariants(*instances_, order, result_.variants);
    result_.compiled = instances_->sum(result_.compiled);
    if (instances_->index() > 0) return {};
    const std::int64_t compiled = result_.compiled;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const VariantResult &one = result_.variants[a], &other = result_.variants[b];
      if (!one.value || !other.value) return one.value.has_value() && !other.value;
      return isBetter(*one.value, one.samplesPerSecond, *other.value, other.samplesPerSecond);
    });
    best_ = second_ = checkpointed_ = std::nullopt;
    base::SilentProgress silent;
    bool checkpoints = false;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Variant& variant = variants[order[i]];
      const bool firstOfThem = variant.choosesCheckpoints && !checkpoints;
      checkpoints = checkpoints || variant.choosesCheckpoints;
      if (i >= 2 && !firstOfThem) continue;
      if (!result_.variants[order[i]].value) continue;
      PIPESCOPE_TRY(tryVariant(variant, {order[i], std::numeric_limits<double>::infinity()}, silent));
    }
    result_.compiled = compiled;
    return {};
  }

  /// Compiles the plan as it is written.
  base::Status addIntervals() {
    progress_.report(1, "compiling the plan");
    const base::Result<Configuration> written = parseConfiguration(plannedToml(result_, ""), "the plan");
    if (!written.ok()) return {};
    const base::Result<compile::Compilation> compilation = compileRun(*written, &executor_, &known_);
    if (!compilation.ok()) return {};
    PIPESCOPE_ASSIGN(result_.intervals, planIntervals(*compilation));
    return {};
  }

  void addPresent() {
    progress_.report(0, "compiling the present plan");
    const base::Result<compile::Compilation> compilation = compileRun(given_, &executor_, &known_);
    if (!compilation.ok()) {
      result_.presentRefusal = compilation.error().message;
      return;
    }
    result_.present = plan::tryOut(*compilation);
  }

  void addErrorBand(const Configuration& c) {
    devices::SystemOptions options;
    options.userFolder = userConfigurationFolder();
    const auto system = known_.system(c.text("system.name"), options);
    if (system.ok()) result_.errorBand = devices::widestTimeError((*system)->devices().front().kind);
  }

  /// The request to split the model of a configuration into so many stages. Its own stages are in `start`.
  base::Result<compile::ModelRequest> requestOf(const Configuration& given, int stages,
                                                std::vector<compile::StageRequest>* start = nullptr) const {
    PIPESCOPE_ASSIGN(const Configuration c, resolvedConfiguration(given));
    PIPESCOPE_TRY(checkConfiguration(c));
    PIPESCOPE_ASSIGN(compile::ModelRequest request, modelRequest(c));
    const std::vector<std::string> proportions = givenProportions(c);
    if (!proportions.empty()) {
      if (proportions.size() != static_cast<std::size_t>(stages)) {
        return base::badInput(fmt::format(
            "[[stages]] gives {0} to single ones of its {1} stages, which {2} stages cannot keep: set "
            "execution.{0} for all, or let --vary {3} choose it.",
            kProportionSetting, proportions.size(), stages, kStageProportion));
      }
      PIPESCOPE_TRY(applyProportions(proportions, presentDevices(), request));
    }
    if (start != nullptr) *start = startStages_.empty() ? request.layout.stages : startStages_;
    request.layout.stages.clear();
    request.layout.layersPerStage.clear();
    request.layout.cuts.clear();
    request.layout.cutDevices.clear();
    request.layout.whole = false;
    request.layout.splitInto = stages;
    PIPESCOPE_TRY(addWeightCopies(request));
    return request;
  }

  /// The devices of the present stages; empty: they are not known.
  std::vector<int> presentDevices() const {
    std::vector<int> devices;
    if (!result_.present) return devices;
    for (const plan::TriedStage& stage : result_.present->stages) devices.push_back(stage.place);
    return devices;
  }

  bool choosesProportions() const {
    return std::ranges::find(choices_, kStageProportion, &PlanChoice::key) != choices_.end();
  }
  bool choosesForStages() const { return choosesProportions() || checkpointed_; }

  /// Lets the best plans choose what they may choose for each stage on its own. Then the best of them is the
  /// plan, and the next one the runner-up. The search for the results to keep is made for one plan; the
  /// others try the same results.
  base::Status chooseForStages() {
    std::vector<PlannedVariant> finalists;
    if (checkpointed_) finalists.push_back(*checkpointed_);
    for (const std::optional<PlannedVariant>* each : {&best_, &second_}) {
      const bool isNew = *each && (!checkpointed_ || (*each)->settings != checkpointed_->settings ||
                                   (*each)->stages != checkpointed_->stages);
      if (isNew) finalists.push_back(**each);
    }
    if (best_->plan.runnerUp) {
      finalists.push_back(*best_);
      finalists.back().plan.best = *best_->plan.runnerUp;
    }
    std::optional<std::vector<std::string>> kept;
    for (PlannedVariant& finalist : finalists) PIPESCOPE_TRY(chooseFor(finalist, kept));
    std::ranges::stable_sort(finalists, [](const PlannedVariant& a, const PlannedVariant& b) {
      const plan::TriedPlan &one = a.plan.best.tried, &other = b.plan.best.tried;
      return isBetter(one.value, one.samplesPerSecond, other.value, other.samplesPerSecond);
    });
    result_.best = finalists.front();
    for (const PlannedVariant& other : finalists) {
      const plan::SplitPlan &split = other.plan.best, &best = result_.best.plan.best;
      const bool same =
          other.settings == result_.best.settings && split.cuts == best.cuts && split.devices == best.devices;
      if (same) continue;
      result_.runnerUp = split.tried;
      result_.runnerUpSettings = other.settings;
      break;
    }
    return {};
  }

  /// `kept`: the results that the first plan keeps, once they are known.
  base::Status chooseFor(PlannedVariant& planned, std::optional<std::vector<std::string>>& kept) {
    const TrialContext context{known_, executor_, progress_, result_.compiled};
    if (planned.choosesCheckpoints) {
      PIPESCOPE_ASSIGN(const compile::ModelRequest request, requestOf(planned.configuration, planned.stages));
      PIPESCOPE_TRY(kept ? tryCheckpoints(*kept, request, context, planned)
                         : chooseCheckpoints(request, context, planned));
      if (!kept) kept = planned.configuration.texts("execution.checkpoints");
    }
    for (const PlanChoice& choice : choices_) {
      if (choice.key != kStageProportion) continue;
      PIPESCOPE_ASSIGN(const compile::ModelRequest request, requestOf(planned.configuration, planned.stages));
      PIPESCOPE_TRY(chooseProportions(choice.values, request, context, planned));
    }
    return {};
  }

  base::Result<plan::ModelPlan> planOf(const Configuration& given, int stages, base::Progress& progress) {
    std::vector<compile::StageRequest> start;
    PIPESCOPE_ASSIGN(const compile::ModelRequest request, requestOf(given, stages, &start));
    // A configuration gives settings to single stages in [[stages]], which hold whole blocks.
    const bool forStages = !givenProportions(given).empty() || choosesProportions();
    return plan::planModel(request, start, known_, executor_, progress,
                           forStages && level_ == plan::CutLevel::anywhere ? plan::CutLevel::blocks : level_);
  }

  /// The variants, the most promising ones first. A few are all searched, so their bounds are not needed.
  std::vector<Bounded> byBound(const std::vector<Variant>& variants) {
    constexpr std::size_t kFew = 3;
    std::vector<Bounded> list(variants.size());
    for (std::size_t i = 0; i < variants.size(); ++i) {
      list[i].index = i;
      if (variants.size() <= kFew || progress_.cancelled()) continue;
      progress_.report(0, "estimating what variants can reach");
      Variant variant = variants[i];
      const base::Result<Configuration> c = configurationOf(variant, basis());
      if (!c.ok()) continue;
      const base::Result<compile::ModelRequest> request = requestOf(*c, variant.stages);
      if (!request.ok()) continue;
      const base::Result<double> most = plan::mostSamplesPerSecond(*request, known_, executor_);
      if (most.ok()) list[i].bound = *most;
    }
    std::ranges::stable_sort(list, std::greater<>(), &Bounded::bound);
    return list;
  }

  base::Status tryVariant(Variant variant, const Bounded& bounded, base::Progress& progress) {
    const base::Result<Configuration> c = configurationOf(variant, basis());
    VariantResult& entry = result_.variants[bounded.index];
    entry.settings = variant.settings;
    if (best_ && best_->plan.best.tried.value.missing == 0 &&
        bounded.bound < best_->plan.best.tried.samplesPerSecond) {
      entry.refusal = fmt::format("Not searched: no split of it exceeds {:.{}f} samples/s.", bounded.bound,
                                  bounded.bound < 100 ? 2 : 0);
      return {};
    }
    if (!c.ok()) {
      entry.refusal = c.error().message;
      return {};
    }
    base::Result<plan::ModelPlan> found = planOf(*c, variant.stages, progress);
    if (!found.ok()) {
      if (found.error().kind == base::ErrorKind::cancelled) return found.error();
      entry.refusal = found.error().message;
      return {};
    }
    entry.value = found->best.tried.value;
    entry.samplesPerSecond = found->best.tried.samplesPerSecond;
    result_.compiled += found->compiled;
    PlannedVariant planned{variant.settings,         variant.stages,
                           std::move(found).value(), *c,
                           givenProportions(*c),     variant.choosesCheckpoints};
    const auto better = [&](const std::optional<PlannedVariant>& other) {
      if (!other) return true;
      const plan::TriedPlan &tried = planned.plan.best.tried, &than = other->plan.best.tried;
      return isBetter(tried.value, tried.samplesPerSecond, than.value, than.samplesPerSecond);
    };
    if (planned.choosesCheckpoints && better(checkpointed_)) checkpointed_ = planned;
    if (better(best_)) {
      if (best_) second_ = *std::move(best_);
      best_ = std::move(planned);
    } else if (better(second_)) {
      second_ = std::move(planned);
    }
    return {};
  }

  void addRunnerUp() {
    const std::optional<plan::SplitPlan>& own = best_->plan.runnerUp;
    if (own) result_.runnerUp = own->tried;
    result_.runnerUpSettings = best_->settings;
    if (!second_) return;
    const plan::TriedPlan& other = second_->plan.best.tried;
    if (own && !isBetter(other.value, other.samplesPerSecond, own->tried.value, own->tried.samplesPerSecond))
      return;
    result_.runnerUp = other;
    result_.runnerUpSettings = second_->settings;
  }

  const Configuration& given_;
  const std::vector<PlanChoice>& choices_;
  const std::string& start_;
  std::vector<compile::StageRequest> startStages_;  ///< stages of start_
  std::optional<std::int64_t> wholeSystem_;         ///< PlanBasis::wholeSystem
  base::Executor& executor_;
  base::Progress& progress_;
  const plan::CutLevel level_;
  const numerics::Instances* instances_;
  plan::SharedStages known_;
  ConfigurationPlan result_{.best = {{}, 1, {}, given_, {}, false}};
  std::optional<PlannedVariant> best_, second_;
  std::optional<PlannedVariant> checkpointed_;  ///< the best one that may choose which results it keeps
};

}  // namespace

base::Result<PresentPlan> presentPlan(const Configuration& configuration, base::Executor& executor) {
  PIPESCOPE_ASSIGN(const Configuration chosen, resolvedConfiguration(configuration));
  PIPESCOPE_TRY(checkDivisible(chosen));
  PIPESCOPE_ASSIGN(const compile::Compilation compilation, compileRun(configuration, &executor));
  PIPESCOPE_ASSIGN(PlanIntervals intervals, planIntervals(compilation));
  return PresentPlan{plan::tryOut(compilation), std::move(intervals)};
}

base::Result<ConfigurationPlan> planConfiguration(const Configuration& configuration,
                                                  const std::vector<PlanChoice>& choices,
                                                  const std::string& start, base::Executor& executor,
                                                  base::Progress& progress, plan::CutLevel level,
                                                  const numerics::Instances* instances) {
  return ConfigurationPlanner(configuration, choices, start, executor, progress, level, instances).plan();
}

}  // namespace pipescope::app
