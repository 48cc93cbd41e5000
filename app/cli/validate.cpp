// pipescope validate compares what is emulated with a table of measurements.
#include "app/run/sweep/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "app/cli/frame/between.h"
#include "app/cli/frame/command.h"
#include "app/cli/frame/environment.h"
#include "app/cli/frame/progress_display.h"
#include "app/run/request/configuration_keys.h"

namespace pipescope::cli {
namespace {

struct ValidateOptions {
  std::string file, measured, format = "text", progress = "bar";
  CsvOptions csv;
  std::vector<std::string> settings;
  int jobs = 0;
};

base::Result<std::string> runValidate(const ValidateOptions& options) {
  PIPESCOPE_TRY(refuseCsvOptions(options.format, options.csv));
  PIPESCOPE_ASSIGN(config::Configuration configuration, app::readConfiguration(options.file));
  PIPESCOPE_TRY(readEnvironment(configuration));
  PIPESCOPE_TRY(app::applySettings(options.settings, configuration));
  PIPESCOPE_ASSIGN(const app::MeasuredTable measured,
                   app::readMeasured(configuration.keys(), options.measured));
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  catchInterrupts();
  const std::unique_ptr<base::Progress> progress = makeProgress(options.progress);
  const base::Result<app::Validation> validation =
      app::validate(configuration, measured, options.jobs > 0 ? options.jobs : cores, *progress);
  finishProgress(*progress);
  if (!validation.ok()) return validation.error();
  const bool none =
      std::ranges::all_of(validation->rows, [](const app::ValidatedRow& row) { return !row.error.empty(); });
  if (none) {
    return base::badInput(
        fmt::format("None of the variants can run. The first one: {}", validation->rows.front().error));
  }
  const sections::Section section = app::validationSection(*validation);
  if (section.tables.front().rows.empty())
    return base::badInput("Nothing can be compared: " + section.remarks.front());
  if (options.format == "json") return sections::toJson(section) + "\n";
  if (options.format == "csv")
    return csvOf(section, {options.csv.table.empty() ? "variants" : options.csv.table, options.csv.safe});
  return sections::toText(section);
}

std::function<int()> setUpValidate(CLI::App& command) {
  auto options = std::make_shared<ValidateOptions>();
  command.add_option("config", options->file, "Configuration (TOML), or model (ONNX)")->required();
  command
      .add_option("measured", options->measured,
                  "Table (CSV). A column that is named by a key holds settings; measured_step_time_us, "
                  "measured_samples_per_second, measured_tokens_per_second and measured_memory_bytes hold "
                  "measurements; name names a row")
      ->required();
  command.add_option("--set", options->settings, "Set any key for all variants; repeatable")
      ->allow_extra_args(false);
  command.add_option("--jobs", options->jobs, "Processes that work at the same time; 0: one for each core")
      ->check(between(0, 1024))
      ->capture_default_str();
  command.add_option("--format", options->format, "text, json or csv (one table)")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  addCsvOptions(command, options->csv, "With --format csv: agreement or variants (default)");
  command.add_option("--progress", options->progress, "How to show progress on standard error")
      ->check(CLI::IsMember({"bar", "plain", "json", "off"}))
      ->capture_default_str();
  return [options]() -> int {
    const base::Result<std::string> text = runValidate(*options);
    return text.ok() ? print(*text) : failAsTyped(text.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(validate) {
  registry.add({"validate", "Compare emulated variants with a table of measurements", setUpValidate,
                "pipescope validate samples/mnist/pipelined.toml measured.csv"});
}

}  // namespace pipescope::cli
