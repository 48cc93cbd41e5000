#include "app/cli/plan_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "profiler/base/number_text.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::cli {
namespace {

using sections::Cell;
using sections::Format;

double milliseconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

/// Samples per second of a plan of this value; nullopt if it takes no time.
std::optional<double> planRate(const ProfilePlan& planned, const plan::Value& value) {
  if (value.time <= 0) return std::nullopt;
  const std::int64_t samples = planned.samplesPerMicroBatch * std::max(1, planned.request.microBatches);
  return static_cast<double>(samples) * 1e9 / static_cast<double>(value.time);
}

bool limitsMemory(const ProfilePlan& planned) {
  return planned.request.memory > 0;
}

std::string layerNames(const ProfilePlan& planned, const plan::StageCost& stage) {
  const std::string& first = planned.layers.layers[stage.first].id;
  const std::string& last = planned.layers.layers[stage.first + stage.count - 1].id;
  return stage.count == 1 ? first : fmt::format("{} … {}", first, last);
}

sections::SectionTable stageTable(const ProfilePlan& planned) {
  sections::SectionTable table{"stages", "Stages", "per micro-batch", {}, {}};
  const bool copies = planned.request.bandwidth > 0, memory = limitsMemory(planned);
  const bool shared = planned.best.stages.size() > 1 && planned.request.microBatches > 0;
  table.columns.push_back({"stage", "Stage", Format::index, ""});
  if (shared) table.columns.push_back({"device", "Device", Format::index, ""});
  for (const sections::SectionColumn& column :
       std::vector<sections::SectionColumn>{{"layers", "Layers", Format::plain, ""},
                                            {"count", "Number", Format::count, ""},
                                            {"forward", "Forward", Format::seconds, ""},
                                            {"backward", "Backward", Format::seconds, ""}})
    table.columns.push_back(column);
  if (copies) table.columns.push_back({"exchange", "Copies", Format::seconds, ""});
  table.columns.push_back({"activations", "Activations", Format::bytes, ""});
  table.columns.push_back({"parameters", "Parameters", Format::bytes, ""});
  if (memory) table.columns.push_back({"memory", "Memory", Format::bytes, ""});
  for (std::size_t s = 0; s < planned.best.stages.size(); ++s) {
    const plan::StageCost& stage = planned.best.stages[s];
    std::vector<Cell> row{static_cast<std::int64_t>(s)};
    if (shared) row.emplace_back(static_cast<std::int64_t>(stage.place));
    row.insert(row.end(), {layerNames(planned, stage), static_cast<std::int64_t>(stage.count),
                           milliseconds(stage.forward) / 1e3, milliseconds(stage.backward) / 1e3});
    if (copies) row.emplace_back(milliseconds(stage.exchange) / 1e3);
    row.insert(row.end(), {stage.activations, stage.parameters});
    if (memory) row.emplace_back(stage.memory());
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Says how much faster the plan is than equal numbers of layers.
std::string againstEqualLayers(const ProfilePlan& planned) {
  const plan::Value &equal = planned.best.equalLayers, &best = planned.best.value;
  if (equal.missing > best.missing) {
    return fmt::format("Stages with equal numbers of layers would lack {} on the fullest device.",
                       sections::formatCell(equal.missing, Format::bytes));
  }
  if (best.time <= 0 || equal.missing < best.missing) return {};
  const double gain = static_cast<double>(equal.time) / static_cast<double>(best.time) - 1;
  if (gain < 0.01) return "Stages with equal numbers of layers are equally fast within 1 %.";
  return fmt::format("The plan is {:.1f} % faster than stages with equal numbers of layers.", gain * 100);
}

std::vector<std::string> remarksOf(const ProfilePlan& planned) {
  std::vector<std::string> remarks;
  if (std::string sentence = againstEqualLayers(planned); !sentence.empty()) remarks.push_back(sentence);
  if (planned.best.value.missing > 0) {
    remarks.push_back(fmt::format(
        "No plan with {} stages that was found fits: this one lacks least, {} on the fullest device. Use "
        "more stages, or devices with more memory.",
        planned.request.stages, sections::formatCell(planned.best.value.missing, Format::bytes)));
  }
  if (!planned.best.exact) {
    remarks.push_back(fmt::format(
        "The plan is the best of {} that were emulated; there are too many to try all.", planned.best.tried));
  }
  if (planned.samplesPerMicroBatch == 1)
    remarks.push_back("A micro-batch counts as one sample; --micro-batch-size says how many it has.");
  return remarks;
}

}  // namespace

std::string toText(const ProfilePlan& planned) {
  const plan::CostPlan& best = planned.best;
  sections::Section section{"plan", fmt::format("Plan of {}", planned.file), {}, {}, {}};
  const auto add = [&](const char* label, Cell value, Format format) {
    section.facts.push_back({"", label, std::move(value), format, ""});
  };
  add("Objective",
      planned.request.microBatches > 0
          ? fmt::format("shortest weight update of {} micro-batches, schedule {}",
                        planned.request.microBatches, planned.request.schedule)
          : std::string("smallest longest stage"),
      Format::plain);
  std::int64_t sum = 0;
  for (const plan::StageCost& stage : best.stages) sum += stage.time();
  const double mean = static_cast<double>(sum) / static_cast<double>(best.stages.size());
  add("Longest stage", milliseconds(best.largest) / 1e3, Format::seconds);
  add("Longest ÷ mean", sum > 0 ? Cell(static_cast<double>(best.largest) / mean) : Cell(), Format::ratio);
  if (planned.request.microBatches > 0)
    add("Weight update", milliseconds(best.value.time) / 1e3, Format::seconds);
  const std::optional<double> rate = planRate(planned, best.value);
  add("Samples per second", rate ? Cell(*rate) : Cell(), Format::rate);
  section.tables.push_back(stageTable(planned));
  section.remarks = remarksOf(planned);
  return sections::toText(section);
}

namespace {

nlohmann::ordered_json planNumber(double value) {
  return base::numberOf(sections::plainNumber(value)).value_or(value);
}
nlohmann::ordered_json planNumber(const std::optional<double>& value) {
  return value ? planNumber(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json stageJson(const ProfilePlan& planned, const plan::StageCost& stage) {
  nlohmann::ordered_json json;
  json["layers"] = nlohmann::ordered_json::array();
  for (std::size_t i = stage.first; i < stage.first + stage.count; ++i)
    json["layers"].push_back(planned.layers.layers[i].id);
  json["device"] = stage.place;
  json["forward_ms"] = planNumber(milliseconds(stage.forward));
  json["backward_ms"] = planNumber(milliseconds(stage.backward));
  json["exchange_ms"] = planNumber(milliseconds(stage.exchange));
  json["activation_bytes"] = stage.activations;
  json["parameter_bytes"] = stage.parameters;
  json["sent_bytes"] = stage.sends;
  json["micro_batches_held"] = stage.held;
  json["memory_bytes"] = stage.memory();
  return json;
}

}  // namespace

std::string toJson(const ProfilePlan& planned) {
  const plan::CostPlan& best = planned.best;
  const bool emulated = planned.request.microBatches > 0;
  const auto orNull = [](bool there, auto value) {
    return there ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json json;
  json["largest_stage_ms"] = planNumber(milliseconds(best.largest));
  json["stages"] = nlohmann::ordered_json::array();
  for (const plan::StageCost& stage : best.stages) json["stages"].push_back(stageJson(planned, stage));
  json["samples_per_second"] = planNumber(planRate(planned, best.value));
  json["schedule"] = orNull(emulated, planned.request.schedule);
  json["micro_batches"] = orNull(emulated, planned.request.microBatches);
  json["micro_batch_size"] = planned.samplesPerMicroBatch;
  json["update_ms"] = emulated ? planNumber(milliseconds(best.value.time)) : nlohmann::ordered_json();
  json["exact"] = best.exact;
  json["fits"] = orNull(limitsMemory(planned), best.value.missing == 0);
  json["missing_bytes"] = orNull(limitsMemory(planned), best.value.missing);
  json["equal_layers_samples_per_second"] = planNumber(planRate(planned, best.equalLayers));
  json["runner_up_samples_per_second"] =
      best.runnerUp ? planNumber(planRate(planned, *best.runnerUp)) : nlohmann::ordered_json();
  json["remarks"] = remarksOf(planned);
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pipescope::cli
