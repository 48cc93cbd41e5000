// pipescope calibrate corrects the figures of a system by measured steps, and writes a device with them.
#include "app/run/calibrate/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "app/cli/frame/between.h"
#include "app/cli/frame/command.h"
#include "app/cli/frame/environment.h"
#include "app/cli/frame/model_source.h"
#include "app/cli/frame/progress_display.h"
#include "app/run/request/configuration_keys.h"
#include "profiler/base/files/output_file.h"

namespace pipescope::cli {
namespace {

constexpr const char* kGuide =
    R"(The table has a column for each setting that differs, named by its key or flag, and one or more of
measured_step_time_us (one weight update), measured_samples_per_second, measured_tokens_per_second and
measured_memory_bytes (the fullest device). Settings that all rows share may stand in a configuration or behind
--set. For example:

  tensor_parallel,gradient_accumulation,measured_step_time_us
  1,8,1935400
  8,8,488100

The file that -o names is an ordinary system: `pipescope run CONFIG.toml --system ./mine.toml`. In the folder
systems (or devices, for a chip alone) of the user folder it is known by its name. What the measurements do not
tell apart is not fitted, and keeps the value that it had.)";

struct CalibrateOptions {
  std::string system, measured, output, format = "text", progress = "bar";
  ModelSource source;
  CsvOptions csv;
  std::vector<std::string> only;
  int jobs = 0;
  bool overwrite = false;
};

base::Result<config::Configuration> configurationFor(const CalibrateOptions& options) {
  PIPESCOPE_ASSIGN(config::Configuration configuration, readConfigurationOrNone(options.source.file));
  PIPESCOPE_TRY(readEnvironment(configuration));
  if (!options.source.builder.empty())
    PIPESCOPE_TRY(configuration.setText("model.builder", options.source.builder, config::Origin::flag));
  PIPESCOPE_TRY(app::applySettings(options.source.settings, configuration));
  PIPESCOPE_TRY(configuration.setText("system.name", options.system, config::Origin::flag));
  return configuration;
}

base::Result<std::string> textOf(const sections::Section& section, const CalibrateOptions& options) {
  if (options.format == "json") return sections::toJson(section) + "\n";
  if (options.format == "csv")
    return csvOf(section, {options.csv.table.empty() ? "properties" : options.csv.table, options.csv.safe});
  return sections::toText(section);
}

base::Result<int> runCalibrate(const CalibrateOptions& options) {
  PIPESCOPE_TRY(refuseCsvOptions(options.format, options.csv));
  PIPESCOPE_ASSIGN(const config::Configuration configuration, configurationFor(options));
  app::CalibrationRequest request{options.system, options.measured, {}, options.only};
  PIPESCOPE_ASSIGN(request.measured, app::readMeasured(configuration.keys(), options.measured));
  const base::OutputRules rules{{options.measured, options.source.file}, options.overwrite, kOverwriteAdvice};
  if (!options.output.empty())
    PIPESCOPE_TRY(base::checkOutput(options.output, base::FileKind::device, rules));
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  request.processes = options.jobs > 0 ? options.jobs : cores;
  catchInterrupts();
  const std::unique_ptr<base::Progress> progress = makeProgress(options.progress);
  const base::Result<app::Calibration> calibration = app::calibrate(configuration, request, *progress);
  finishProgress(*progress);
  if (!calibration.ok()) return calibration.error();
  const bool determined = app::determinesAnything(*calibration);
  if (!options.output.empty() && determined) {
    PIPESCOPE_ASSIGN(base::OutputFile file,
                     base::OutputFile::create(options.output, base::FileKind::device, rules));
    PIPESCOPE_TRY(file.write(app::calibratedToml(*calibration, request)));
    PIPESCOPE_TRY(file.close());
  }
  PIPESCOPE_ASSIGN(const std::string text, textOf(app::calibrationSection(*calibration), options));
  const int printed = print(text);
  if (printed != kDone || determined) return printed;
  std::fprintf(stderr, "pipescope: The measurements determine no property, so that no file is written.\n");
  return kAnswerIsNo;
}

std::function<int()> setUpCalibrate(CLI::App& command) {
  auto options = std::make_shared<CalibrateOptions>();
  command.add_option("system", options->system, "System whose figures are the start, such as dgx-h100x4")
      ->required();
  command.add_option("measured", options->measured, "Table of measured steps (CSV); see below")->required();
  command.add_option("config", options->source.file, "Configuration (TOML), or model (ONNX)");
  command.add_option("-o,--output", options->output, "File to write: a system with the fitted figures");
  command.add_option("--builder", options->source.builder,
                     "Builder or model of all rows, such as llama-2-7b");
  command.add_option("--set", options->source.settings, "Set any key for all rows; repeatable")
      ->allow_extra_args(false);
  command.add_option("--only", options->only, "Fit only this property, such as peak_share; repeatable")
      ->allow_extra_args(false);
  command.add_option("--jobs", options->jobs, "Processes that work at the same time; 0: one for each core")
      ->check(between(0, 1024))
      ->capture_default_str();
  command.add_flag("--overwrite", options->overwrite, kOverwriteHelp);
  command.add_option("--format", options->format, "text, json or csv (one table)")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  addCsvOptions(command, options->csv, "With --format csv: properties (default) or rows");
  command.add_option("--progress", options->progress, "How to show progress on standard error")
      ->check(CLI::IsMember({"bar", "plain", "json", "off"}))
      ->capture_default_str();
  return [options]() -> int {
    const base::Result<int> status = runCalibrate(*options);
    return status.ok() ? *status : failAsTyped(status.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(calibrate) {
  registry.add({"calibrate", "Correct the figures of a system by measured steps", setUpCalibrate,
                "pipescope calibrate dgx-h100 measured.csv --builder llama-2-7b -o mine.toml", kGuide});
}

}  // namespace pipescope::cli
