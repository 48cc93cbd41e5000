// pipescope schedule prints the table, the times and the stash of a schedule for given stage costs.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/frame/between.h"
#include "app/cli/frame/command.h"
#include "app/run/request/schedule_table.h"
#include "profiler/base/number_text.h"

namespace pipescope::cli {
namespace {

struct ScheduleOptions {
  std::string schedule = "popart", format = "text", forward = "1", backward = "2", weight;
  int stages = 4, microBatches = 8, chunks = 0;
  double exchange = 0;
  bool inference = false;
};

/// Returns a cost for each stage. The text gives one cost for all stages, one for each device or one for each
/// stage.
base::Result<std::vector<double>> costs(const std::string& text, const char* flag,
                                        const std::vector<int>& placeOfStage, int devices) {
  std::vector<double> values;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    const std::optional<double> value = base::numberOf(part);
    if (!value || !(*value >= 0) || *value > 1e9) {
      return base::badInput(fmt::format(
          "{} must be costs between 0 and 1e9 separated by commas, but holds \"{}\".", flag, part));
    }
    values.push_back(*value);
    at = comma + 1;
  }
  const std::size_t stages = placeOfStage.size(), given = values.size();
  if (given == stages) return values;
  if (given != 1 && given != static_cast<std::size_t>(devices)) {
    return base::badInput(fmt::format("{} has {} costs for {} stages: give one for each, or one for all.",
                                      flag, given, devices));
  }
  std::vector<double> all;
  for (const int device : placeOfStage)
    all.push_back(values[given == 1 ? 0 : static_cast<std::size_t>(device)]);
  return all;
}

base::Result<std::string> table(const ScheduleOptions& options) {
  compile::FixedRun run;
  run.schedule = options.schedule;
  run.microBatches = options.microBatches;
  run.training = !options.inference;
  run.exchange = options.exchange;
  PIPESCOPE_ASSIGN(const schedules::ScheduleDefinition* schedule, schedules::findSchedule(options.schedule));
  PIPESCOPE_ASSIGN(run.chunks, schedules::chunksPerDevice(*schedule, options.chunks));
  // Lists the device of each stage of one pipe. Each chunk is a stage. A second pipe has the same stages.
  const int stages = schedule->pipes > 1 ? options.stages : options.stages * run.chunks;
  std::vector<int> devices;
  for (int s = 0; s < stages; ++s) devices.push_back(s);
  if (schedule->pipes == 1) {
    PIPESCOPE_ASSIGN(devices, schedules::layOut(*schedule, stages, run.chunks));
  }
  const auto costsOf = [&](const std::string& text, const char* flag) {
    return costs(text, flag, devices, options.stages);
  };
  PIPESCOPE_ASSIGN(const std::vector<double> forward, costsOf(options.forward, "--forward"));
  PIPESCOPE_ASSIGN(const std::vector<double> backward, costsOf(options.backward, "--backward"));
  std::vector<double> weight(devices.size(), -1);
  if (!options.weight.empty()) {
    PIPESCOPE_ASSIGN(weight, costsOf(options.weight, "--weight"));
  }
  for (std::size_t s = 0; s < devices.size(); ++s)
    run.stages.push_back({forward[s], 0, backward[s], 0, weight[s]});
  PIPESCOPE_ASSIGN(const app::ScheduleTable result, app::scheduleTable(run));
  return options.format == "json" ? app::toJson(result) : app::toText(result);
}

/// Puts the flags of this command into a message about a configuration.
std::string withFlags(std::string message) {
  constexpr std::pair<std::string_view, const char*> kFlags[] = {
      {"a gradient_accumulation", "a number of --micro-batches"},
      {"gradient_accumulation", "--micro-batches"}};
  for (const auto& [words, by] : kFlags) {
    if (const std::size_t at = message.find(words); at != std::string::npos)
      message.replace(at, words.size(), by);
  }
  return message;
}

std::function<int()> setUpSchedule(CLI::App& command) {
  auto options = std::make_shared<ScheduleOptions>();
  const std::string names = schedules::scheduleNames();
  std::string words = names;
  std::erase(words, ' ');
  command.add_option("--schedule", options->schedule, "Name of the schedule: " + names)
      ->type_name("TEXT:{" + words + "}")  // for completions; the schedules refuse other names
      ->capture_default_str();
  command.add_option("--stages", options->stages, "Forward stages N, one device each")
      ->check(between(1, 1024))
      ->capture_default_str();
  command.add_option("--micro-batches", options->microBatches, "Micro-batches G")
      ->check(between(1, 100000))
      ->capture_default_str();
  command
      .add_option(
          "--forward", options->forward,
          "Forward cost of each stage, separated by commas, or one for all; with chunks, of each chunk")
      ->capture_default_str();
  command.add_option("--backward", options->backward, "Backward cost, likewise")->capture_default_str();
  command.add_option("--weight", options->weight,
                     "Weight gradients within the backward cost, likewise; default half of it. Zero-bubble "
                     "schedules run them as a pass of their own");
  command
      .add_option(
          "--chunks", options->chunks,
          "Chunks of the model on each device, each with the costs given; 0: as the schedule wants it")
      ->check(between(0, 64))
      ->capture_default_str();
  command.add_option("--exchange", options->exchange, "Cost of one inter-device exchange")
      ->check(between(0.0, 1e9))
      ->capture_default_str();
  command.add_flag("--inference", options->inference, "Forward passes only");
  command.add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [options] {
    const base::Result<std::string> text = table(*options);
    return text.ok() ? print(*text) : fail({text.error().kind, withFlags(text.error().message)});
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(schedule) {
  registry.add({"schedule", "Show a schedule's table, times and stash for given stage costs", setUpSchedule,
                "pipescope schedule --schedule 1f1b --stages 4 --micro-batches 8 --backward 2"});
}

}  // namespace pipescope::cli
