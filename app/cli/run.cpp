// pipescope run checks the configuration, compiles, emulates, trains or infers, and writes the profile.
#include "app/run/execute/run.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "app/cli/command.h"
#include "app/cli/overflow_report.h"
#include "app/cli/progress_display.h"
#include "app/run/request/configuration_keys.h"
#include "engine/config/configuration_help.h"
#include "profiler/base/log.h"

namespace pipescope::cli {
namespace {

struct RunOptions {
  std::string file, output, profileDirectory, progress = "bar";
  std::map<std::string, std::string> flags;  ///< key path → value as typed
  std::map<std::string, bool> switches;      ///< key path → value
  std::vector<std::string> settings;         ///< --set key=value
  bool training = false, inference = false, debug = false, helpKeys = false;
};

/// Adds an option for every key that has a flag. A boolean key gets --flag and --no-flag.
void addKeyFlags(CLI::App& command, RunOptions& options) {
  for (const config::Key& key : app::configurationKeys().all()) {
    if (key.flags.empty()) continue;
    std::string names, negated;
    for (const std::string& flag : key.flags) {
      names += (names.empty() ? "--" : ",--") + flag;
      negated += (negated.empty() ? "--no-" : ",--no-") + flag;
    }
    const std::string help = key.help + " (" + key.path + ")";
    CLI::Option* option = nullptr;
    if (key.type == config::KeyType::boolean) {
      option = command.add_flag_callback(
          names, [&options, &key] { options.switches[key.path] = true; }, help);
      command
          .add_flag_callback(
              negated, [&options, &key] { options.switches[key.path] = false; }, "The opposite")
          ->group("Configuration");
    } else {
      option = command.add_option(names, options.flags[key.path], help);
    }
    option->group("Configuration");
  }
}

base::Status applyFlags(const RunOptions& options, const CLI::App& command,
                        config::Configuration& configuration) {
  for (const config::Key& key : app::configurationKeys().all()) {
    if (key.flags.empty() || key.type == config::KeyType::boolean ||
        command.count("--" + key.flags.front()) == 0)
      continue;
    const base::Status status =
        configuration.setText(key.path, options.flags.at(key.path), config::Origin::flag);
    if (!status.ok()) return base::badInput("--" + key.flags.front() + ": " + status.error().message);
  }
  for (const auto& [path, value] : options.switches)
    PIPESCOPE_TRY(configuration.set(path, value, config::Origin::flag));
  if (options.training && options.inference)
    return base::badInput("--training and --inference exclude each other; without either both run.");
  if (options.training)
    PIPESCOPE_TRY(configuration.set("execution.mode", std::string("training"), config::Origin::flag));
  if (options.inference)
    PIPESCOPE_TRY(configuration.set("execution.mode", std::string("inference"), config::Origin::flag));
  for (const std::string& setting : options.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos)
      return base::badInput("--set takes key=value, but \"" + setting + "\" was given.");
    const base::Status status =
        configuration.setText(setting.substr(0, equals), setting.substr(equals + 1), config::Origin::flag);
    if (!status.ok()) return base::badInput("--set: " + status.error().message);
  }
  return {};
}

base::Result<std::string> outputOf(const RunOptions& options) {
  if (options.profileDirectory.empty())
    return options.output.empty() ? std::string("profile.pop") : options.output;
  if (!options.output.empty())
    return base::badInput(
        "--output and --profile-dir exclude each other: --profile-dir D means -o D/profile.pop.");
  std::error_code error;
  std::filesystem::create_directories(options.profileDirectory, error);
  if (error)
    return base::ioError(
        fmt::format("Cannot make the folder {}: {}.", options.profileDirectory, error.message()));
  return options.profileDirectory + "/profile.pop";
}

void say(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", sentence.c_str());
}

std::string closingLine(const app::RunResult& result, const std::string& output) {
  std::string line =
      fmt::format("{} {}", result.cancelled ? "Stopped; the profile so far is" : "Wrote", output);
  if (result.finalLoss) line += fmt::format(" · final loss {:.4f}", *result.finalLoss);
  if (result.testAccuracy) line += fmt::format(" · test accuracy {:.2f} %", *result.testAccuracy * 100);
  if (result.emulatedUnits > 0) line += fmt::format(" · {:g} cost units emulated", result.emulatedUnits);
  if (result.emulatedSeconds > 0) line += fmt::format(" · {:.4g} s emulated", result.emulatedSeconds);
  if (!result.fits) line += " (hypothetical, because the model does not fit)";
  return line;
}

/// Reads a configuration. For an ONNX file, the configuration only names the model. Without a file, flags and
/// the environment name it.
base::Result<config::Configuration> readConfiguration(const std::string& file) {
  if (!file.empty() && !file.ends_with(".onnx")) return app::readConfiguration(file);
  PIPESCOPE_ASSIGN(config::Configuration configuration, app::parseConfiguration("", file));
  if (!file.empty()) PIPESCOPE_TRY(configuration.set("model.onnx", file, config::Origin::file));
  return configuration;
}

/// Without a configuration file, the model is called after its file or its builder.
base::Status nameModel(const std::string& file, config::Configuration& configuration) {
  const std::string &onnx = configuration.text("model.onnx"), &builder = configuration.text("model.builder");
  if (file.empty() && onnx.empty() && builder.empty()) {
    return base::badInput(
        "run needs a configuration or a model: pipescope run CONFIG.toml, pipescope run MODEL.onnx or "
        "pipescope run --builder NAME. `pipescope run --help` lists the options.");
  }
  if (!file.empty() && !file.ends_with(".onnx")) return {};
  const std::string name = onnx.empty() ? builder : std::filesystem::path(onnx).stem().string();
  return configuration.set("model.name", name, config::Origin::file);
}

base::Result<int> runOnce(const RunOptions& options, const CLI::App& command) {
  PIPESCOPE_ASSIGN(config::Configuration configuration, readConfiguration(options.file));
  PIPESCOPE_TRY(configuration.applyEnvironment(
      [](const char* name) { return static_cast<const char*>(std::getenv(name)); }));
  PIPESCOPE_TRY(applyFlags(options, command, configuration));
  PIPESCOPE_TRY(nameModel(options.file, configuration));
  PIPESCOPE_ASSIGN(const std::string output, outputOf(options));
  catchInterrupts();
  const std::unique_ptr<base::Progress> progress = makeProgress(options.progress);
  const base::Result<app::RunResult> result =
      app::runConfiguration(configuration, {output, commandLine()}, *progress);
  finishProgress(*progress);
  if (!result.ok()) return result.error();
  for (const std::string& notice : result->notices) say("note: " + notice);
  sayWhatDoesNotFit(result->overflow, output);
  say(closingLine(*result, output));
  if (result->cancelled) return static_cast<int>(kAnswerIsNo);
  const bool refusedToRun = !result->fits && configuration.boolean("execution.require_fit");
  return static_cast<int>(refusedToRun ? kAnswerIsNo : kDone);
}

std::function<int()> setUpRun(CLI::App& command) {
  auto options = std::make_shared<RunOptions>();
  command.add_option("config", options->file,
                     "Configuration (TOML) or model (ONNX); not needed with --builder or --onnx");
  command.add_option("-o,--output", options->output,
                     "Profile to write (default profile.pop); only profiles are overwritten");
  command.add_option("--profile-dir", options->profileDirectory,
                     "Folder for the profile: the same as -o DIR/profile.pop");
  command.add_option("--progress", options->progress, "How to show progress on standard error")
      ->check(CLI::IsMember({"bar", "plain", "json", "off"}))
      ->capture_default_str();
  command.add_option("--set", options->settings, "Set any key: --set training.epochs=1; repeatable");
  command.add_flag("--training", options->training, "Only train");
  command.add_flag("--inference", options->inference, "Only infer");
  command.add_flag("--debug", options->debug, "Print debug messages while running");
  command.add_flag("--help-keys", options->helpKeys,
                   "Print every configuration key with type, default and meaning");
  addKeyFlags(command, *options);
  return [options, &command]() -> int {
    if (options->helpKeys) return print(config::configurationHelp(app::configurationKeys()));
    if (options->debug)
      base::setLogSink([](base::LogLevel, const std::string& message) { say("debug: " + message); });
    const base::Result<int> status = runOnce(*options, command);
    return status.ok() ? *status : fail(status.error());
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(run) {
  registry.add({"run", "Train or infer on an emulated system and write a profile", setUpRun});
}

}  // namespace pipescope::cli
