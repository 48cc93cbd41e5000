#pragma once
// Finds the best plan of a configuration's model: the question of `pipescope plan CONFIG`.
#include <optional>
#include <string>
#include <vector>

#include "app/plan/plan_intervals.h"
#include "engine/config/configuration.h"
#include "engine/numerics/instances.h"
#include "engine/plan/model_planner.h"
#include "profiler/base/executor.h"
#include "profiler/base/progress.h"

namespace pipescope::app {

/// A key that the plan may choose, with the values that are tried. Without values, common ones are tried.
struct PlanChoice {
  std::string key;
  std::vector<std::string> values;
};

/// Reads "key", "key=a,b" or a part of a key: "schedule" means execution.schedule. `stages` is the number of
/// stages. Refused: an unknown key, and one that has no values to try.
base::Result<PlanChoice> planChoice(const std::string& text);

/// A key and its value.
using PlanSetting = std::pair<std::string, std::string>;

struct PlannedVariant {
  std::vector<PlanSetting> settings;  ///< differences from the configuration
  int stages = 1;
  plan::ModelPlan plan;
  /// Configuration with the settings, but the stages are those of the original.
  config::Configuration configuration;
  /// Proportion of available memory of each stage's device. Empty: all devices have the same one.
  std::vector<std::string> proportions = {};
  bool choosesCheckpoints = false;  ///< the plan may choose which results it keeps
};

/// The best plan of one combination of choices.
struct VariantResult {
  std::vector<PlanSetting> settings;
  int stages = 1;
  std::optional<plan::Value> value;  ///< none if it cannot run
  double samplesPerSecond = 0;
  std::string refusal;  ///< reason why it has no value: it cannot run, or it was not searched
};

struct ConfigurationPlan {
  std::optional<plan::TriedPlan> present;  ///< none if the configuration cannot run
  std::string presentRefusal;              ///< then the reason
  PlannedVariant best;
  /// The best other plan: another split of the same variant, or another variant.
  std::optional<plan::TriedPlan> runnerUp;
  std::vector<PlanSetting> runnerUpSettings;
  std::vector<VariantResult> variants;
  std::int64_t compiled = 0;  ///< plans of all variants
  /// Nobody says how many micro-batches a weight update has, so that every variant has twice as many as
  /// devices. It then differs from the present one in its samples.
  bool microBatchesChosen = false;
  /// The user stopped the search after so many variants, and the plan is the best of these. None: it ended.
  std::optional<std::size_t> stoppedAfter;
  /// Intervals of the best plan's figures. None: its configuration could not be compiled alone.
  PlanIntervals intervals = {};
  /// The error band of times on this device: p90 of |ln(emulated ÷ measured)|, the widest of all kinds of
  /// layers and steps that were measured. None if nothing was checked.
  std::optional<double> errorBand;
};

/// A configuration that was compiled and emulated as it is.
struct PresentPlan {
  plan::TriedPlan tried;
  PlanIntervals intervals;
};

/// Searches the splits of every combination of the choices. It skips a combination whose bound
/// (plan::mostSamplesPerSecond) is below the best plan so far. Changes of the micro-batch size and of the
/// gradient accumulation keep the number of samples of a weight update.
///
/// Each stage may also choose its available-memory proportion and the results that it keeps. The best plans
/// of the search choose these, and are then compared again.
///
/// `start` replaces [[stages]] as the plan to begin with (plan_start.h). If it is empty, the search begins
/// with the stages of the configuration. With `instances`, each of them searches a part of the combinations,
/// and only the first one has the plan afterwards.
///
/// If the user stops the search, the plan is the best of the combinations that were searched until then.
///
/// Errors: systems whose costs are given, too many combinations, models that no combination can run, and a
/// search that was stopped before it found a plan.
base::Result<ConfigurationPlan> planConfiguration(const config::Configuration& configuration,
                                                  const std::vector<PlanChoice>& choices,
                                                  const std::string& start, base::Executor& executor,
                                                  base::Progress& progress,
                                                  plan::CutLevel level = plan::CutLevel::anywhere,
                                                  const numerics::Instances* instances = nullptr);

/// Compiles and emulates the configuration as it is. Refused: systems whose costs are given, and what the
/// compiler refuses.
base::Result<PresentPlan> presentPlan(const config::Configuration& configuration, base::Executor& executor);

/// The configuration of the best plan, as TOML that runs as planned.
std::string plannedToml(const ConfigurationPlan& plan, const std::string& source);

}  // namespace pipescope::app
