#include "app/plan/plan_variants.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/plan/checkpoint_choices.h"
#include "app/plan/stage_settings.h"
#include "app/run/request/accelerator.h"
#include "app/run/request/model_defaults.h"
#include "app/run/request/model_translation.h"
#include "engine/schedules/schedule.h"

namespace pipescope::app {

using config::Configuration;

namespace {

/// Stages to plan where no choice says it: as many as devices now hold stages, with their chunks.
int presentStages(const Configuration& c, const PlanBasis& basis) {
  if (!basis.startStages.empty()) return static_cast<int>(basis.startStages.size());
  if (basis.present) {
    if (c.integer("execution.chunks") > 0) return static_cast<int>(basis.present->stages.size());
    int devices = 0;
    for (const plan::TriedStage& stage : basis.present->stages) devices = std::max(devices, stage.place + 1);
    return std::max(1, devices);
  }
  // The present plan cannot run, so that the configuration says what it would have.
  const auto clamped = [](std::int64_t stages) {
    return static_cast<int>(std::clamp<std::int64_t>(stages, 1, 1024));
  };
  const auto listed = [&c](const char* key) { return static_cast<std::int64_t>(c.integers(key).size()); };
  if (const auto stages = static_cast<std::int64_t>(c.tables("stages").size()); stages > 0)
    return clamped(stages);
  if (c.integer("execution.stages") > 0) return clamped(c.integer("execution.stages"));
  if (listed("execution.layers_per_stage") > 0) return clamped(listed("execution.layers_per_stage"));
  if (const auto cuts = static_cast<std::int64_t>(c.texts("execution.cuts").size()); cuts > 0)
    return clamped(cuts + 1);
  return clamped(c.integer("system.devices"));
}

/// Devices of all replicas: those that are given, or those that the present plan uses.
std::int64_t devicesOf(const Configuration& c, const PlanBasis& basis) {
  if (basis.wholeSystem) return *basis.wholeSystem;
  if (c.integer("system.devices") > 0) return c.integer("system.devices");
  return basis.present ? basis.present->devices : 1;
}

bool infers(const Configuration& c) {
  return c.text("execution.mode") == "inference";
}

bool isPipelined(const Configuration& c) {
  return c.text("execution.strategy") == "pipelined";
}

/// True if the plan may choose the number of stages.
bool choosesStages(const PlanBasis& basis) {
  return basis.wholeSystem || basis.given.origin("system.devices") == config::Origin::flag ||
         std::ranges::find(basis.choices, "execution.stages", &PlanChoice::key) != basis.choices.end();
}

std::string settingOf(const Variant& variant, const char* key, const Configuration& c) {
  const auto found = std::ranges::find(variant.settings, key, &PlanSetting::first);
  return found == variant.settings.end() ? c.text(key) : found->second;
}
bool isSetIn(const Variant& variant, const char* key) {
  return std::ranges::find(variant.settings, key, &PlanSetting::first) != variant.settings.end();
}

/// Adds a variant. If it recomputes from checkpoints and no key names them, it is added once for each
/// choice of checkpoints.
void addVariant(Variant variant, const Configuration& c, const PlanBasis& basis, std::vector<Variant>& all) {
  const bool open = variant.settings.size() > 0 && variant.settings.back().first == "execution.recompute" &&
                    variant.settings.back().second == "checkpoints" &&
                    c.texts("execution.checkpoints").empty() && !isSetIn(variant, "execution.checkpoints");
  const bool chosen = std::ranges::any_of(
      basis.choices, [](const PlanChoice& choice) { return choice.key == "execution.checkpoints"; });
  std::vector<std::string> lists;
  if (open && !chosen) {
    const base::Result<compile::ModelRequest> request = modelRequest(c);
    if (request.ok()) lists = checkpointChoices(*request->executables.front().forward);
  }
  if (lists.empty()) return all.push_back(std::move(variant));
  variant.choosesCheckpoints = true;
  for (const std::string& list : lists) {
    all.push_back(variant);
    all.back().settings.emplace_back("execution.checkpoints", list);
  }
}

/// Schedules that hold several stages on each device get so many, so that all variants use as many devices.
void setChunks(Variant& variant, const Configuration& c) {
  if (variant.asksStages || c.integer("execution.chunks") > 0 || isSetIn(variant, "execution.chunks") ||
      settingOf(variant, "execution.strategy", c) != "pipelined")
    return;
  const auto schedule = schedules::findSchedule(settingOf(variant, "execution.schedule", c));
  if (!schedule.ok()) return;
  const base::Result<int> chunks = schedules::chunksPerDevice(**schedule, 0);
  if (!chunks.ok() || *chunks < 2) return;
  variant.chunks = *chunks;
  variant.stages *= *chunks;
}

base::Result<Variant> withChoice(Variant variant, const std::string& key, std::string value,
                                 const Configuration& c) {
  if (key == "execution.stages") {
    const std::int64_t stages = std::atoll(value.c_str());
    if (stages < 1 || stages > 1024 || std::to_string(stages) != value) {
      return base::badInput(
          fmt::format("--vary stages={}: the number of stages is a whole number from 1 to 1024.", value));
    }
    variant.stages = static_cast<int>(stages);
    return variant;
  }
  if (value.size() > 1 && (value[0] == '/' || value[0] == '*')) {
    const std::int64_t now = c.integer(key), by = std::atoll(value.c_str() + 1);
    value = std::to_string(std::max<std::int64_t>(1, value[0] == '*' ? now * by : now / by));
  }
  variant.settings.emplace_back(key, std::move(value));
  return variant;
}

}  // namespace

base::Result<Configuration> resolvedConfiguration(const Configuration& given) {
  PIPESCOPE_ASSIGN(const Configuration defaults, withModelDefaults(given));
  PIPESCOPE_ASSIGN(const ChosenSystem chosen, chooseSystem(defaults));
  return chosen.configuration;
}

bool asksForStages(const Configuration& given, const std::vector<PlanChoice>& choices) {
  for (const char* key : {"execution.stages", "execution.cuts", "execution.layers_per_stage",
                          "system.devices", "training.replication_factor", "inference.replication_factor"}) {
    if (given.given(key)) return false;
  }
  // A model of [[model.layers]] that states no number of stages has a stage for each block.
  return given.tables("stages").empty() && given.tables("model.layers").empty() &&
         std::ranges::find(choices, "execution.stages", &PlanChoice::key) == choices.end();
}

bool choosesMicroBatches(const PlanBasis& basis, const Configuration& resolved) {
  return choosesStages(basis) && isPipelined(resolved) && !infers(resolved) &&
         !basis.given.given("training.gradient_accumulation");
}

base::Result<std::vector<Variant>> variantsOf(const PlanBasis& basis) {
  PIPESCOPE_ASSIGN(const Configuration c, resolvedConfiguration(basis.given));
  std::vector<Variant> variants(1);
  variants.front().stages = presentStages(c, basis);
  std::vector<PlanChoice> choices = basis.choices;
  std::erase_if(choices, [](const PlanChoice& choice) { return choice.key == kStageProportion; });
  const auto isStages = [](const PlanChoice& choice) { return choice.key == "execution.stages"; };
  if (choosesStages(basis) && std::ranges::none_of(choices, isStages))
    choices.push_back({"execution.stages", {}});
  const bool asksStages = std::ranges::any_of(
      basis.choices, [&](const PlanChoice& choice) { return isStages(choice) && !choice.values.empty(); });
  variants.front().asksStages = asksStages || !basis.startStages.empty();
  for (PlanChoice& choice : choices) {
    if (isStages(choice) && choice.values.empty()) {
      for (std::int64_t n = devicesOf(c, basis); n > 0; --n) {
        if (devicesOf(c, basis) % n == 0) choice.values.push_back(std::to_string(n));
      }
    }
    std::vector<Variant> more;
    for (const Variant& variant : variants) {
      for (const std::string& value : choice.values) {
        PIPESCOPE_ASSIGN(Variant changed, withChoice(variant, choice.key, value, c));
        addVariant(std::move(changed), c, basis, more);
      }
    }
    constexpr std::size_t kMost = 2000;
    if (more.size() > kMost) {
      return base::badInput(fmt::format(
          "The choices have {} combinations or more, but a plan tries at most {}: give fewer values.",
          more.size(), kMost));
    }
    variants = std::move(more);
  }
  for (Variant& variant : variants) setChunks(variant, c);
  return variants;
}

base::Result<Configuration> configurationOf(Variant& variant, const PlanBasis& basis) {
  Configuration c = basis.given;
  for (const auto& [key, value] : variant.settings) {
    const base::Status status = c.setText(key, value, config::Origin::flag);
    if (!status.ok()) return base::badInput("--vary: " + status.error().message);
  }
  PIPESCOPE_ASSIGN(const Configuration chosen, resolvedConfiguration(basis.given));
  const auto isSet = [&](const char* key) {
    return std::ranges::any_of(variant.settings, [&](const PlanSetting& each) { return each.first == key; });
  };
  const auto set = [&](const char* key, std::int64_t value) -> base::Status {
    if (c.integer(key) == value) return {};
    PIPESCOPE_TRY(c.set(key, value, config::Origin::flag));
    variant.settings.emplace_back(key, std::to_string(value));
    return {};
  };
  const char* factor = infers(chosen) ? "inference.replication_factor" : "training.replication_factor";
  const std::int64_t now = basis.present ? basis.present->replicas : 1;
  std::int64_t replicas = isSet(factor) ? c.integer(factor) : now;
  const bool fillsDevices = basis.wholeSystem || variant.devices() != presentStages(chosen, basis);
  if (fillsDevices && !isSet(factor)) {
    replicas = std::max<std::int64_t>(1, devicesOf(chosen, basis) / variant.devices());
    PIPESCOPE_TRY(set(factor, replicas));
  }
  const char* iterations = "inference.device_iterations";
  const bool fillsInference = chosen.text("execution.mode") != "training" && choosesStages(basis) &&
                              isPipelined(chosen) && variant.devices() > 1;
  if (fillsInference && !basis.given.given(iterations) && !isSet(iterations))
    PIPESCOPE_TRY(set(iterations, 2 * variant.devices()));
  if (infers(chosen)) return c;
  const std::int64_t microBatches = choosesMicroBatches(basis, chosen)
                                        ? 2 * devicesOf(chosen, basis)
                                        : chosen.integer("training.gradient_accumulation") * now;
  const std::int64_t samples = chosen.integer("training.micro_batch_size") * microBatches;
  // An ONNX model may decide the size, which only the resolved configuration knows.
  const std::int64_t size =
      (c.given("training.micro_batch_size") ? c : chosen).integer("training.micro_batch_size");
  const std::int64_t each = size * replicas;
  if (samples % each != 0) {
    return base::badInput(fmt::format(
        "A weight update has {} samples, which {} replica{} with micro-batches of {} cannot share.", samples,
        replicas, replicas == 1 ? "" : "s", size));
  }
  if (!isSet("training.gradient_accumulation"))
    PIPESCOPE_TRY(set("training.gradient_accumulation", samples / each));
  return c;
}

}  // namespace pipescope::app
