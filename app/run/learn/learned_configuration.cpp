#include "app/run/learn/learned_configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/run/learn/learned_layers.h"
#include "app/run/request/configuration_keys.h"
#include "app/run/request/fixed/fixed_configuration.h"
#include "engine/config/key.h"
#include "engine/plan/emulated_time.h"
#include "profiler/base/files/file_kind.h"

namespace pipescope::app {
namespace {

using replay::LearnedModel;

constexpr double kUnitsPerSecond = 1e3;

std::string unitsText(double seconds) {
  constexpr double kPerUnit = 1e6;  // A nanosecond is enough.
  return config::toToml(std::round(seconds * kUnitsPerSecond * kPerUnit) / kPerUnit);
}

/// The text without line ends, for a comment.
std::string lineOf(std::string text) {
  for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  return text;
}

void addCost(std::string& text, const char* key, double seconds) {
  if (seconds > 0) text += fmt::format("{} = {}\n", key, unitsText(seconds));
}

void addBytes(std::string& text, const char* key, std::int64_t bytes) {
  if (bytes > 0) text += fmt::format("{} = {}\n", key, bytes);
}

std::string costText(const replay::LearnedCost& cost) {
  return fmt::format("{} (80 %: {} to {})", unitsText(cost.usual), unitsText(cost.least),
                     unitsText(cost.most));
}

std::string layerText(const CostLayer& layer, const LearnedModel& learned, bool known) {
  const replay::LearnedStage& stage = learned.stages[static_cast<std::size_t>(layer.stage)];
  std::string text = "\n";
  if (layer.counted) {
    text += fmt::format("# Stage {}: its forward passes took {}, its backward passes {}.\n", layer.stage,
                        costText(stage.forward), costText(stage.backward));
    if (!known)
      text += fmt::format("# Nobody said how many layers it has, so it has {} parts.\n", layer.count);
  } else {
    text += "# More than the layers of the stages between need, such as an embedding or a loss.\n";
  }
  text += "[[fixed.layers]]\n";
  if (layer.count != 1) text += fmt::format("count = {}\n", layer.count);
  if (!layer.counted) text += "counted = false\n";
  text += fmt::format("forward = {}\n", unitsText(layer.forward));
  addCost(text, "recompute", layer.recompute);
  addCost(text, "backward", layer.backward);
  if (layer.weight > 0) addCost(text, "weight", layer.weight);
  addCost(text, "update", layer.update);
  addBytes(text, "sends", layer.sends);
  addBytes(text, "holds", layer.holds);
  addBytes(text, "stash", layer.stash);
  return text;
}

std::string fixedText(const LearnedModel& learned, const LearnedLayers& layers) {
  std::string text = fmt::format("\n[fixed]\nunit = \"ms\"\nplaces = {}\n", learned.places);
  if (!isEqualSplit(layers.ofStage)) text += fmt::format("split = [{}]\n", fmt::join(layers.ofStage, ", "));
  addCost(text, "launch", learned.launch);
  addCost(text, "receive", learned.receive);
  addCost(text, "exchange", learned.exchange);
  if (learned.blockingSends) text += "blocking_sends = true\n";
  if (learned.sharedCompute > 0)
    text += fmt::format("shared_compute = {}\n", config::toToml(learned.sharedCompute));
  if (learned.bytesPerSecond > 0)
    text += fmt::format("bandwidth = {}\n", config::toToml(learned.bytesPerSecond / kUnitsPerSecond));
  double collective = 0;
  for (const replay::LearnedStage& stage : learned.stages)
    collective = std::max(collective, stage.collective);
  addCost(text, "collective", collective);
  if (learned.begin > 0)
    text += "# Of it, " + unitsText(learned.begin) +
            " are what the first passes of an iteration take longer on all devices.\n";
  addCost(text, "call", learned.betweenIterations + learned.begin);
  return text;
}

}  // namespace

std::string learnedToml(const LearnedModel& learned, const LearnedLayers& layers, const std::string& source) {
  std::string text =
      fmt::format("{} from {}; a unit is a millisecond.\n", base::kLearnedTitle, lineOf(source));
  text += fmt::format("# Medians over {} steady iterations of the means over micro-batches", learned.steady);
  if (learned.warmUp > 0) text += fmt::format(", without the first {}", learned.warmUp);
  text += ".\n";
  for (const std::string& remark : learned.remarks) text += "# " + lineOf(remark) + "\n";
  text += fmt::format("\n[system]\nname = \"fixed\"\n\n[execution]\nschedule = \"{}\"\n",
                      learned.schedule.empty() ? "1f1b" : learned.schedule);
  const auto places = static_cast<std::size_t>(learned.places);
  if (learned.stages.size() > places) text += fmt::format("chunks = {}\n", learned.stages.size() / places);
  text += fmt::format("\n[training]\ngradient_accumulation = {}\n", learned.microBatches);
  if (learned.replicas > 1) text += fmt::format("replication_factor = {}\n", learned.replicas);
  text += fixedText(learned, layers);
  for (const CostLayer& layer : costLayers(learned, layers)) text += layerText(layer, learned, layers.known);
  return text;
}

base::Result<double> stepOfLearned(const std::string& toml) {
  PIPESCOPE_ASSIGN(const config::Configuration c,
                   config::Configuration::parse(configurationKeys(), toml, "the learned configuration"));
  PIPESCOPE_ASSIGN(const compile::FixedRun run, fixedRun(c));
  PIPESCOPE_ASSIGN(const base::Ticks ticks, plan::callTicks(run));
  constexpr double kTicksPerUnit = 1e6;
  return static_cast<double>(ticks.count) / kTicksPerUnit / kUnitsPerSecond;
}

sections::Section learnedSection(const LearnedModel& learned, const LearnedLayers& layers,
                                 double emulatedStep) {
  using sections::Format;
  sections::Section section{"learned", "Learned", {}, {}, {}};
  const auto seconds = [&](const char* key, const char* label, double value, const char* doc) {
    section.facts.push_back({key, label, value, Format::seconds, doc});
  };
  section.facts.push_back(
      {"schedule", "Schedule", learned.schedule, Format::plain, "the one that fits best"});
  section.facts.push_back({"steady_iterations", "Steady iterations", std::int64_t{learned.steady},
                           Format::count, "those whose medians are taken"});
  section.facts.push_back({"warm_up_iterations", "Warm-up", std::int64_t{learned.warmUp}, Format::count,
                           "iterations before the first one that lasts at most 5 % longer than the median"});
  seconds("step_s", "Recorded step (median)", learned.step, "median of the steady iterations");
  seconds("emulated_step_s", "Emulated step", emulatedStep, "of the configuration as it is written");
  section.facts.push_back({"step_error", "Difference", learned.step > 0 ? emulatedStep / learned.step - 1 : 0,
                           Format::fraction, "emulated ÷ recorded step − 1"});
  seconds("launch_s", "Launch", learned.launch, "before a pass that needs no input from another device");
  seconds("receive_s", "Receive", learned.receive, "besides, where the input came in time");
  seconds("exchange_s", "Exchange", learned.exchange, "of a message to a device that waits");
  section.facts.push_back({"blocking_sends", "Sends block", learned.blockingSends, Format::plain,
                           "devices wait until the receivers take what they send"});
  section.facts.push_back(
      {"shared_compute", "Share cores of",
       learned.sharedCompute > 0 ? sections::Cell(learned.sharedCompute) : sections::Cell(), Format::amount,
       "devices that compute at full speed at the same time", learned.sharedCompute > 0});
  section.facts.push_back(
      {"bandwidth_bytes_per_second", "Bandwidth",
       learned.bytesPerSecond > 0 ? sections::Cell(learned.bytesPerSecond) : sections::Cell(),
       Format::byteRate, "of messages between stages"});
  sections::SectionTable table{"stages", "Stages", "per micro-batch; updates per iteration", {}, {}};
  table.columns = {{"stage", "Stage", Format::index, ""},
                   {"device", "Device", Format::index, ""},
                   {"layers", "Layers", Format::count, "", layers.known},
                   {"forward_s", "Forward", Format::seconds, "median of the means of iterations"},
                   {"forward_least_s", "From", Format::seconds, "80 % of the passes"},
                   {"forward_most_s", "To", Format::seconds, ""},
                   {"backward_s", "Backward", Format::seconds, "median of the means of iterations"},
                   {"backward_least_s", "From", Format::seconds, "80 % of the passes"},
                   {"backward_most_s", "To", Format::seconds, ""},
                   {"update_s", "Update", Format::seconds, ""},
                   {"sends_bytes", "Sends", Format::bytes, ""},
                   {"memory_bytes", "Memory", Format::bytes, "most of the device"}};
  for (std::size_t s = 0; s < learned.stages.size(); ++s) {
    const replay::LearnedStage& stage = learned.stages[s];
    const auto& memory = learned.memory[static_cast<std::size_t>(stage.place)];
    table.rows.push_back({static_cast<std::int64_t>(s), std::int64_t{stage.place},
                          layers.known ? sections::Cell(std::int64_t{layers.ofStage[s]}) : sections::Cell(),
                          stage.forward.usual, stage.forward.least, stage.forward.most, stage.backward.usual,
                          stage.backward.least, stage.backward.most, stage.update,
                          stage.sends > 0 ? sections::Cell(stage.sends) : sections::Cell(),
                          memory ? sections::Cell(*memory) : sections::Cell()});
  }
  section.tables.push_back(std::move(table));
  section.remarks = learned.remarks;
  return section;
}

}  // namespace pipescope::app
