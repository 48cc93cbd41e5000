#pragma once
// Plans a model over all dimensions: tensor ranks, stages, replicas and what goes with them.
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/plan/plan_intervals.h"
#include "app/plan/plan_request.h"
#include "engine/plan/bounded_search.h"

namespace pipescope::app {

struct DimensionRequest {
  /// Values that the command line fixes for axes whose key would mean something else in a configuration, by
  /// key: execution.stages, which here are places, and training.replication_factor.
  std::map<std::string, std::string> fixed = {};
  std::vector<PlanChoice> choices = {};      ///< values of axes, and further keys that the plan may choose
  std::optional<std::int64_t> samples = {};  ///< of a weight update; none: as the configuration says
  std::string framework = {};                ///< the one that the plan is written for; empty: any
  plan::CutLevel level = plan::CutLevel::blocks;
  std::size_t most = 0;  ///< combinations that are compiled at most; 0: as many as the model's size suggests
  bool everything = false;  ///< compile every combination, whatever the bounds say
};

/// A combination that was compiled and emulated.
struct DimensionProposal {
  std::vector<PlanSetting> settings;  ///< of all axes, without those that were left as they are
  std::int64_t tensor = 1, places = 1, replicas = 1;
  plan::SplitPlan split;
  config::Configuration configuration;  ///< with the settings, but without the stages
  PlanIntervals intervals = {};         ///< of the first kShownProposals
};

/// Proposals that reports show at most.
inline constexpr std::size_t kShownProposals = 16;

struct DimensionPlan {
  std::vector<DimensionProposal> proposals;  ///< best first; each combination that was compiled
  std::size_t combinations = 0;
  /// Combinations that were not compiled: the bounds say that they need too much memory, or are slower.
  /// Others were left, because enough were compiled.
  std::size_t excludedByMemory = 0, excludedByTime = 0, left = 0;
  std::size_t refused = 0;            ///< combinations that cannot run
  std::string firstRefusal;           ///< reason of the first of them
  bool proven = false;                ///< no other combination is better
  bool stopped = false;               ///< the user stopped the search
  std::vector<PlanSetting> fixed;     ///< axes that somebody fixed
  std::vector<PlanSetting> defaults;  ///< settings that nobody gives, and that are usual for such a plan
  std::int64_t samples = 1;           ///< of a weight update, or of a call in inference
  bool samplesGiven = false;
  bool training = true;
  bool largerMicroBatches = false;  ///< micro-batches above kLargestMicroBatch would divide the samples, too
  std::optional<double> errorBand;  ///< see ConfigurationPlan
};

/// True if plan searches all dimensions: the configuration does not say how many stages, devices or replicas
/// there are.
bool asksForDimensions(const config::Configuration& configuration);

/// Enumerates all combinations of the axes (dimension_axes.h) that use all chips and keep the samples of a
/// weight update, excludes what closed forms show to be worse, and compiles and emulates the others in the
/// order of their estimated times. Stages are whole blocks. Errors: a model that no combination can run, and
/// samples that no combination can divide.
base::Result<DimensionPlan> planDimensions(const config::Configuration& configuration,
                                           const DimensionRequest& request, base::Executor& executor,
                                           base::Progress& progress);

/// The proposal as the plan of a configuration, to write it.
ConfigurationPlan asConfigurationPlan(const DimensionProposal& proposal);

}  // namespace pipescope::app
