// pipescope schedule: a schedule's table, times and stash for given stage costs.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/command.h"
#include "app/run/schedule_table.h"

namespace pipescope::cli {
namespace {

struct Options {
  std::string schedule = "popart", format = "text", forward = "1", backward = "2";
  int stages = 4, microBatches = 8;
  double exchange = 0;
  bool inference = false;
};

base::Result<std::vector<double>> costs(const std::string& text, const char* flag, int stages) {
  std::vector<double> values;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    char* end = nullptr;
    const double value = std::strtod(part.c_str(), &end);
    if (part.empty() || *end != '\0' || !(value >= 0) || value > 1e9) {
      return base::badInput(fmt::format(
          "{} must be costs between 0 and 1e9 separated by commas, but holds \"{}\".", flag, part));
    }
    values.push_back(value);
    at = comma + 1;
  }
  if (values.size() == 1) values.resize(static_cast<std::size_t>(stages), values.front());
  if (static_cast<int>(values.size()) != stages) {
    return base::badInput(fmt::format("{} has {} costs for {} stages: give one for each, or one for all.",
                                      flag, values.size(), stages));
  }
  return values;
}

base::Result<std::string> table(const Options& options) {
  app::FixedRun run;
  run.schedule = options.schedule;
  run.microBatches = options.microBatches;
  run.training = !options.inference;
  run.exchange = options.exchange;
  PIPESCOPE_ASSIGN(const std::vector<double> forward, costs(options.forward, "--forward", options.stages));
  PIPESCOPE_ASSIGN(const std::vector<double> backward, costs(options.backward, "--backward", options.stages));
  for (int s = 0; s < options.stages; ++s) {
    const auto i = static_cast<std::size_t>(s);
    run.stages.push_back({forward[i], 0, backward[i], 0});
  }
  PIPESCOPE_ASSIGN(const app::ScheduleTable result, app::scheduleTable(run));
  return options.format == "json" ? app::toJson(result) : app::toText(result);
}

std::function<int()> setUp(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("--schedule", options->schedule, "Name of the schedule: " + app::scheduleNames())
      ->capture_default_str();
  command.add_option("--stages", options->stages, "Forward stages N, one device each")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--micro-batches", options->microBatches, "Micro-batches G")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command
      .add_option("--forward", options->forward,
                  "Forward cost of each stage, separated by commas, or one for all")
      ->capture_default_str();
  command.add_option("--backward", options->backward, "Backward cost, likewise")->capture_default_str();
  command.add_option("--exchange", options->exchange, "Cost of one inter-device exchange")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command.add_flag("--inference", options->inference, "Forward passes only");
  command.add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [options] {
    const base::Result<std::string> text = table(*options);
    return text.ok() ? print(*text) : fail(text.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(schedule) {
  registry.add({"schedule", "Show a schedule's table, times and stash for given stage costs", setUp});
}

}  // namespace pipescope::cli
