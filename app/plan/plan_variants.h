#pragma once
// The combinations of what a plan may choose, each as a configuration to search.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "app/plan/plan_request.h"

namespace pipescope::app {

/// One combination of choices.
struct Variant {
  std::vector<PlanSetting> settings;
  int stages = 1;
  int chunks = 1;           ///< stages on each device
  bool asksStages = false;  ///< the user gives the number of stages, with chunks
  bool choosesCheckpoints = false;
  int devices() const { return std::max(1, stages / chunks); }
};

/// The configuration with the model's defaults and the system that it means.
base::Result<config::Configuration> resolvedConfiguration(const config::Configuration& given);

/// Plan and configuration from which the variants of a plan differ. The references must outlive the variants.
struct PlanBasis {
  const config::Configuration& given;
  const std::vector<PlanChoice>& choices;
  const std::optional<plan::TriedPlan>& present;
  const std::vector<compile::StageRequest>& startStages;  ///< empty: the plan starts from the configuration
  /// Devices of the whole system, if nobody says how many stages or devices there are (asksForStages).
  std::optional<std::int64_t> wholeSystem = std::nullopt;
};

/// True if neither the configuration nor a choice says how many stages or devices there are. The plan then
/// chooses both for the whole system.
bool asksForStages(const config::Configuration& given, const std::vector<PlanChoice>& choices);

/// True if the plan chooses the stages of a pipeline, and nobody says how many micro-batches a weight update
/// has. It then has two of them for each device, which fill every schedule.
bool choosesMicroBatches(const PlanBasis& basis, const config::Configuration& resolved);

/// All combinations. Errors: a number of stages outside 1 … 1024, and more than 2,000
/// combinations.
base::Result<std::vector<Variant>> variantsOf(const PlanBasis& basis);

/// The configuration of a variant. Its replicas fill the devices, and a weight update keeps its number of
/// samples, unless choosesMicroBatches(). The settings that follow from that are added to the variant.
/// Errors: values that a key does not take, and samples that do not divide by the replicas.
base::Result<config::Configuration> configurationOf(Variant& variant, const PlanBasis& basis);

}  // namespace pipescope::app
