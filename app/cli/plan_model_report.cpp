#include "app/cli/plan_model_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/plan_trust.h"
#include "profiler/base/number_text.h"
#include "profiler/sections/frame/column_text.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::cli {
namespace {

using app::ConfigurationPlan;
using plan::TriedPlan;
using plan::TriedStage;
using sections::Cell;
using sections::Format;

/// Plans that differ by less are called equal.
constexpr double kEqualPlans = 0.01;

/// A list of many elements without those in the middle: `["a", …, "f"] (6 in all)`.
std::string withoutMiddle(const std::string& value) {
  constexpr std::ptrdiff_t kMost = 3;
  const std::ptrdiff_t count = std::ranges::count(value, ',') + 1;
  if (!value.starts_with('[') || count <= kMost) return value;
  return fmt::format("{}, …,{} ({} in all)", value.substr(0, value.find(',')),
                     value.substr(value.rfind(',') + 1), count);
}

std::string settingsText(const std::vector<app::PlanSetting>& settings) {
  std::string text;
  for (const auto& [key, value] : settings)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key, withoutMiddle(value));
  return text;
}

/// "636,628 samples/s"
std::string samplesText(double perSecond) {
  std::string text = sections::formatCell(perSecond, Format::rate);  // "636,628 /s"
  return text.replace(text.size() - 2, 2, "samples/s");
}

double tokensPerSecond(const TriedPlan& tried) {
  return tried.samplesPerSecond * static_cast<double>(tried.tokensPerSample);
}

/// "81,488,384 tokens/s"
std::string tokensText(const TriedPlan& tried) {
  std::string text = sections::formatCell(tokensPerSecond(tried), Format::rate);
  return text.replace(text.size() - 2, 2, "tokens/s");
}

}  // namespace

std::string rateText(const TriedPlan& tried) {
  std::string text = samplesText(tried.samplesPerSecond);
  if (tried.tokensPerSample > 0) text += ", " + tokensText(tried);
  return text + (tried.value.missing > 0 ? ", but it does not fit" : "");
}

namespace {

/// Relative gain in samples per second, against the present plan; nullopt if there is no such plan.
std::optional<double> gainOf(const ConfigurationPlan& planned) {
  if (!planned.present || planned.present->samplesPerSecond <= 0) return std::nullopt;
  return planned.best.plan.best.tried.samplesPerSecond / planned.present->samplesPerSecond - 1;
}

std::string scheduleText(const TriedPlan& tried) {
  return fmt::format("{}, {} micro-batch{} of {}, {} replica{}, recompute {}", tried.schedule,
                     tried.microBatches, tried.microBatches == 1 ? "" : "es", tried.microBatchSize,
                     tried.replicas, tried.replicas == 1 ? "" : "s", tried.recompute);
}

std::size_t longestStage(const TriedPlan& tried) {
  const auto longest = std::ranges::max_element(tried.stages, {}, &TriedStage::occupied);
  return static_cast<std::size_t>(longest - tried.stages.begin());
}

std::string gainSentence(const ConfigurationPlan& planned) {
  if (!planned.present) return "The present configuration cannot run: " + planned.presentRefusal;
  const TriedPlan &now = *planned.present, &best = planned.best.plan.best.tried;
  if (now.value.missing > 0 && best.value.missing == 0)
    return "The plan fits, and the present configuration does not.";
  if (best.value.missing > now.value.missing)
    return "Nothing that was tried fits better than the present configuration.";
  if (best.value.missing < now.value.missing) {
    return fmt::format(
        "Neither fits: the fullest device lacks {} in the plan, and {} in the present configuration.",
        sections::formatCell(best.value.missing, Format::bytes),
        sections::formatCell(now.value.missing, Format::bytes));
  }
  const double gain = gainOf(planned).value_or(0);
  if (gain == 0) return "The plan is as fast as the present configuration.";
  const bool isEqual = gain > -kEqualPlans && gain < kEqualPlans;
  const double share = 100 * (gain > 0 ? gain : 1 / (1 + gain) - 1);
  // Two digits, because 0.98 % would be rounded to the limit that it is below.
  const std::string much = isEqual ? fmt::format("{:.2g} %", share) : fmt::format("{:.1f} %", share);
  const std::string equal = isEqual ? " They count as equal, because the difference is below 1 %." : "";
  if (gain < 0)
    return "The present configuration is " + much + " faster than the best plan that was found." + equal;
  const std::string devices = best.devices == now.devices
                                  ? ""
                                  : fmt::format(", on {} devices instead of {}", best.devices, now.devices);
  return "The plan is " + much + " faster than the present configuration" + devices + "." + equal;
}

/// The plan against the split that counts blocks only. Empty: there is none.
std::string equalBlocksSentence(const plan::ModelPlan& model) {
  if (!model.equalBlocks || model.best.tried.stages.size() < 2) return "";
  const TriedPlan &equal = *model.equalBlocks, &best = model.best.tried;
  if (equal.cuts == best.cuts && equal.samplesPerSecond == best.samplesPerSecond)
    return "The stages of the plan have equally many blocks, or one more.";
  std::string split = "Stages of equally many blocks would make " + samplesText(equal.samplesPerSecond);
  if (equal.value.missing > 0)
    split +=
        ", but their fullest device would lack " + sections::formatCell(equal.value.missing, Format::bytes);
  if (equal.samplesPerSecond <= 0 || equal.value.missing != best.value.missing) return split + ".";
  const double gain = 100 * (best.samplesPerSecond / equal.samplesPerSecond - 1);
  if (gain < 0) return fmt::format("{}, {:.1f} % more than the plan.", split, 100 / (1 + gain / 100) - 100);
  return fmt::format("{}; the plan is {:.1f} % faster.", split, gain);
}

/// Names the limit that keeps the plan from being faster.
std::string limitSentence(const ConfigurationPlan& planned) {
  const TriedPlan& best = planned.best.plan.best.tried;
  if (best.value.missing > 0) {
    return fmt::format("Memory limits the plan: the fullest device lacks {}. {}",
                       sections::formatCell(best.value.missing, Format::bytes),
                       best.overflow.empty() ? "" : best.overflow.front());
  }
  if (best.stages.size() == 1)
    return "The model is one stage: a faster plan needs more devices or other options.";
  const std::size_t longest = longestStage(best);
  const TriedStage& stage = best.stages[longest];
  const double balanced = planned.best.plan.balancedSamplesPerSecond;
  const double more = best.samplesPerSecond > 0 ? balanced / best.samplesPerSecond - 1 : 0;
  const bool single = stage.operators == 1;
  std::string text = fmt::format("Stage {} takes longest{}.", longest,
                                 single ? ", and it is one operator, which cannot be divided" : "");
  if (more >= kEqualPlans) {
    text += fmt::format(
        " Stages that all took equally long would be about {:.1f} % faster than the plan: no other split "
        "gains "
        "more.",
        more * 100);
  } else {
    constexpr double kNearlyEqual = 1.05;
    double sum = 0;
    for (const TriedStage& each : best.stages) sum += each.occupied;
    const bool equal = stage.occupied * static_cast<double>(best.stages.size()) <= kNearlyEqual * sum;
    text += equal ? " The stages are nearly equal" : " Equally long stages would not make the plan faster";
    text += ": that needs other options, such as more micro-batches.";
  }
  return text;
}

std::vector<std::string> modelRemarks(const ConfigurationPlan& planned) {
  std::vector<std::string> remarks;
  if (planned.stoppedAfter)
    remarks.push_back(
        fmt::format("The search was stopped after {} of {} combinations, and the plan is the best of these.",
                    *planned.stoppedAfter, planned.variants.size()));
  remarks.push_back(gainSentence(planned));
  if (planned.microBatchesChosen) {
    const TriedPlan& best = planned.best.plan.best.tried;
    remarks.push_back(
        fmt::format("training.gradient_accumulation is not given, so that a weight update of every variant "
                    "has {} samples: "
                    "two micro-batches for each device. Give it to plan for another number of samples.",
                    base::groupedText(best.microBatches * best.microBatchSize * best.replicas)));
  }
  if (const std::string equal = equalBlocksSentence(planned.best.plan); !equal.empty())
    remarks.push_back(equal);
  remarks.push_back(limitSentence(planned));
  if (planned.intervals.step) remarks.emplace_back(kSharedErrors);
  if (planned.runnerUp) {
    const std::string settings = settingsText(planned.runnerUpSettings);
    std::string text = fmt::format("Runner-up: {}{}", rateText(*planned.runnerUp),
                                   settings.empty() ? "" : " with " + settings);
    // The two are plans of one model on one device, so that the interval of the best serves both.
    if (const auto share = shareBehind(planned.best.plan.best.tried, planned.intervals, *planned.runnerUp,
                                       planned.intervals))
      text +=
          fmt::format("; the plan is faster in {:.0f} % of draws of the device model's errors", 100 * *share);
    remarks.push_back(text + ".");
  }
  return remarks;
}

std::string blocksText(const TriedStage& stage) {
  std::string words;
  for (const std::string& block : stage.blocks) words += (words.empty() ? "" : " ") + block;
  return words;
}

}  // namespace

sections::SectionTable stageTable(const char* key, const char* title, const TriedPlan& tried) {
  sections::SectionTable table{key, title, "per micro-batch", {}, {}};
  table.columns = {
      {"stage", "Stage", Format::index, ""},          {"device", "Device", Format::index, ""},
      {"blocks", "Blocks", Format::list, ""},         {"operators", "Operators", Format::count, ""},
      {"forward", "Forward", Format::seconds, ""},    {"recompute", "Recompute", Format::seconds, ""},
      {"backward", "Backward", Format::seconds, ""},  {"host", "Host", Format::seconds, ""},
      {"exchange", "Exchange", Format::seconds, ""},  {"occupied", "Occupied", Format::seconds, ""},
      {"parameters", "Parameters", Format::bytes, ""}};
  const bool missing = tried.value.missing > 0;
  if (missing) table.columns.push_back({"missing", "Lacks", Format::bytes, ""});
  for (std::size_t s = 0; s < tried.stages.size(); ++s) {
    const TriedStage& stage = tried.stages[s];
    const auto seconds = [&](std::int64_t ticks) {
      return Cell(static_cast<double>(ticks) / tried.ticksPerSecond);
    };
    table.rows.push_back({static_cast<std::int64_t>(s), static_cast<std::int64_t>(stage.place),
                          blocksText(stage), stage.operators, seconds(stage.forward),
                          seconds(stage.recompute), seconds(stage.backward), seconds(stage.host),
                          seconds(stage.exchange), seconds(stage.occupied), stage.parameters});
    if (missing) table.rows.back().emplace_back(stage.missing);
  }
  constexpr std::size_t kMostInText = 24;
  table.mostInText = kMostInText;
  sections::hideUnused(table, {"recompute", "backward", "host", "exchange"});
  return table;
}

namespace {

/// The memory of each stage's device. Stages on one device share it.
void addMemoryColumns(const TriedPlan& tried, sections::SectionTable& table) {
  table.columns.push_back(
      {"largest_span", "Largest address span", Format::bytes, "of a tile or card: its bytes with gaps"});
  table.columns.push_back({"filled", "Filled", Format::fraction, "of that unit"});
  for (std::size_t s = 0; s < tried.stages.size(); ++s) {
    const TriedStage& stage = tried.stages[s];
    table.rows[s].emplace_back(stage.used);
    table.rows[s].push_back(
        stage.room > 0 ? Cell(static_cast<double>(stage.used) / static_cast<double>(stage.room)) : Cell());
  }
}

/// The best plan of each variant, the best variant first. Many variants are cut after the best of them.
sections::SectionTable variantTable(const ConfigurationPlan& planned) {
  constexpr std::size_t kMostRows = 30;
  const std::size_t count = planned.variants.size();
  const std::string scope =
      count > kMostRows
          ? fmt::format("the best plan of each; the best {} of {}, --format json has all", kMostRows, count)
          : "the best plan of each";
  sections::SectionTable table{"variants", "Variants", scope, {}, {}};
  table.columns = {{"stages", "Stages", Format::index, ""},
                   {"rate", "Samples per second", Format::rate, ""},
                   {"missing", "Lacks", Format::bytes, ""},
                   {"settings", "Settings", Format::plain, ""}};
  std::vector<const app::VariantResult*> all;
  for (const app::VariantResult& variant : planned.variants) all.push_back(&variant);
  std::ranges::stable_sort(all, {}, [](const app::VariantResult* variant) {
    const std::int64_t missing = variant->value ? variant->value->missing : INT64_MAX;
    return std::pair(missing, -variant->samplesPerSecond);
  });
  if (all.size() > kMostRows) all.resize(kMostRows);
  for (const app::VariantResult* variant : all) {
    const bool runs = variant->value.has_value();
    const std::string settings = settingsText(variant->settings);
    table.rows.push_back({std::int64_t{variant->stages}, runs ? Cell(variant->samplesPerSecond) : Cell(),
                          runs ? Cell(variant->value->missing) : Cell(),
                          runs ? settings : settings + (settings.empty() ? "" : ": ") + variant->refusal});
  }
  return table;
}

}  // namespace

std::string toText(const ConfigurationPlan& planned, const std::string& file) {
  const plan::ModelPlan& model = planned.best.plan;
  sections::Section section{"plan", fmt::format("Plan of {}", file), {}, {}, {}};
  const auto add = [&](const char* label, const std::string& value) {
    section.facts.push_back({"", label, value, Format::plain, ""});
  };
  add("Plan", rateText(model.best.tried));
  addInterval(model.best.tried, planned.intervals, section);
  if (planned.present) add("Present", rateText(*planned.present));
  if (!planned.best.settings.empty()) add("Settings", settingsText(planned.best.settings));
  const TriedPlan& tried = model.best.tried;
  add("Schedule", scheduleText(tried));
  add("Tried",
      fmt::format("{} plan{} compiled and emulated{}", planned.compiled, planned.compiled == 1 ? "" : "s",
                  model.exact && planned.variants.size() == 1 ? ", which are all" : ""));
  if (planned.variants.size() > 1) section.tables.push_back(variantTable(planned));
  section.tables.push_back(stageTable("plan", "Stages of the plan", model.best.tried));
  if (planned.present) section.tables.push_back(stageTable("present", "Stages at present", *planned.present));
  section.remarks = modelRemarks(planned);
  return sections::toText(section);
}

namespace {

using Json = nlohmann::ordered_json;

Json modelNumber(double value) {
  return base::numberOf(sections::plainNumber(value)).value_or(value);
}

/// The ends of the rate's interval of 80 %; null: not known.
void addRates(const TriedPlan& tried, const app::PlanIntervals& intervals, Json& json) {
  const RateInterval rates = ratesWithin(tried, intervals);
  json["samples_per_second_least"] = rates.least ? modelNumber(*rates.least) : Json();
  json["samples_per_second_most"] = rates.most ? modelNumber(*rates.most) : Json();
}

Json stagesJson(const TriedPlan& tried) {
  Json all = Json::array();
  const auto ms = [&](std::int64_t ticks) {
    return modelNumber(static_cast<double>(ticks) / tried.ticksPerSecond * 1e3);
  };
  for (const TriedStage& stage : tried.stages) {
    Json json;
    json["layers"] = stage.blocks;
    json["first_operator"] = stage.first;
    json["last_operator"] = stage.last;
    json["device"] = stage.place;
    json["forward_ms"] = ms(stage.forward);
    json["recompute_ms"] = ms(stage.recompute);
    json["backward_ms"] = ms(stage.backward);
    json["host_ms"] = ms(stage.host);
    json["exchange_ms"] = ms(stage.exchange);
    json["occupied_ms"] = ms(stage.occupied);
    json["activation_bytes"] = stage.activations;
    json["parameter_bytes"] = stage.parameters;
    json["largest_span_bytes"] = stage.used;
    json["unit_capacity_bytes"] = stage.room;
    json["missing_bytes"] = stage.missing;
    all.push_back(std::move(json));
  }
  return all;
}

Json triedJson(const TriedPlan& tried) {
  Json json;
  const TriedStage& longest = tried.stages[longestStage(tried)];
  json["largest_stage_ms"] = modelNumber(static_cast<double>(longest.occupied) / tried.ticksPerSecond * 1e3);
  json["stages"] = stagesJson(tried);
  json["samples_per_second"] = modelNumber(tried.samplesPerSecond);
  json["tokens_per_second"] = tried.tokensPerSample > 0 ? modelNumber(tokensPerSecond(tried)) : Json();
  json["fits"] = tried.value.missing == 0;
  json["missing_bytes"] = tried.value.missing;
  json["schedule"] = tried.schedule;
  json["recompute"] = tried.recompute;
  json["micro_batches"] = tried.microBatches;
  json["micro_batch_size"] = tried.microBatchSize;
  json["replicas"] = tried.replicas;
  json["devices"] = tried.devices;
  return json;
}

Json settingsJson(const std::vector<app::PlanSetting>& settings) {
  Json json = Json::object();
  for (const auto& [key, value] : settings) json[key] = value;
  return json;
}

Json variantsJson(const ConfigurationPlan& planned) {
  Json all = Json::array();
  for (const app::VariantResult& variant : planned.variants) {
    const bool runs = variant.value.has_value();
    Json json;
    json["settings"] = settingsJson(variant.settings);
    json["stages"] = variant.stages;
    json["samples_per_second"] = runs ? modelNumber(variant.samplesPerSecond) : Json();
    json["missing_bytes"] = runs ? Json(variant.value->missing) : Json();
    json["refusal"] = runs ? Json() : Json(variant.refusal);
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace

std::string toText(const app::PresentPlan& plan, const std::string& file) {
  const TriedPlan& present = plan.tried;
  sections::Section section{"plan", fmt::format("{} as it is", file), {}, {}, {}};
  section.facts.push_back({"", "Present", rateText(present), Format::plain, ""});
  addInterval(present, plan.intervals, section);
  section.facts.push_back({"", "Schedule", scheduleText(present), Format::plain, ""});
  section.tables.push_back(stageTable("present", "Stages", present));
  addMemoryColumns(present, section.tables.back());
  section.remarks = present.overflow;
  return sections::toText(section);
}

std::string toJson(const app::PresentPlan& plan) {
  Json json = triedJson(plan.tried);
  addRates(plan.tried, plan.intervals, json);
  json["limiting_stage"] = longestStage(plan.tried);
  json["remarks"] = plan.tried.overflow;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string toJson(const ConfigurationPlan& planned) {
  const plan::ModelPlan& model = planned.best.plan;
  Json json = triedJson(model.best.tried);
  json["cuts"] = model.best.cuts;
  json["settings"] = settingsJson(planned.best.settings);
  const std::optional<double> gain = gainOf(planned);
  addRates(model.best.tried, planned.intervals, json);
  json["gain"] = gain ? modelNumber(*gain) : Json();
  json["equal"] = gain ? Json(*gain > -kEqualPlans && *gain < kEqualPlans) : Json();
  json["error_band_p90"] = planned.errorBand ? modelNumber(*planned.errorBand) : Json();
  json["limiting_stage"] = longestStage(model.best.tried);
  json["balanced_samples_per_second"] = modelNumber(model.balancedSamplesPerSecond);
  const std::optional<TriedPlan>& equal = model.equalBlocks;
  json["equal_layers_samples_per_second"] = equal ? modelNumber(equal->samplesPerSecond) : Json();
  json["equal_layers_missing_bytes"] = equal ? Json(equal->value.missing) : Json();
  json["exact"] = model.exact && planned.variants.size() == 1;
  json["plans_tried"] = planned.compiled;
  json["stopped_after"] = planned.stoppedAfter ? Json(*planned.stoppedAfter) : Json();
  json["variants"] = variantsJson(planned);
  json["present"] = planned.present ? triedJson(*planned.present) : Json();
  json["runner_up"] = planned.runnerUp ? triedJson(*planned.runnerUp) : Json();
  json["runner_up_settings"] = planned.runnerUp ? settingsJson(planned.runnerUpSettings) : Json();
  json["dimensions"] = nullptr;
  json["remarks"] = modelRemarks(planned);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipescope::cli
