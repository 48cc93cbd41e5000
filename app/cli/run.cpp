// pipescope run checks the configuration, compiles, emulates, trains or infers, and writes the profile.
#include "app/run/execute/run.h"

#include <fmt/format.h>
#include <cstdlib>
#include <filesystem>

#include "app/cli/frame/command.h"
#include "app/cli/frame/environment.h"
#include "app/cli/frame/key_flags.h"
#include "app/cli/frame/model_source.h"
#include "app/cli/frame/overflow_report.h"
#include "app/cli/frame/progress_display.h"
#include "app/cli/frame/typed_flags.h"
#include "app/run/request/configuration_keys.h"
#include "app/run/request/instance_launch.h"
#include "engine/config/configuration_help.h"
#include "profiler/base/log.h"
#include "profiler/base/printable.h"

namespace pipescope::cli {
namespace {

struct RunOptions {
  std::string file, output, profileDirectory, progress = "bar";
  std::map<std::string, std::vector<std::string>> flags;  ///< key path → values as typed
  std::map<std::string, bool> switches;                   ///< key path → value
  std::vector<std::string> settings;                      ///< --set key=value
  bool training = false, inference = false, debug = false, helpKeys = false, overwrite = false,
       profile = false;
};

/// "Keys of [training]": the heading above the flags of a table.
std::string groupOf(const config::Key& key) {
  return "Keys of [" + key.path.substr(0, key.path.rfind('.')) + "]";
}

/// Adds an option for every key that has a flag. A boolean key gets --flag and --no-flag.
void addKeyFlags(CLI::App& command, RunOptions& options) {
  for (const config::Key& key : app::configurationKeys().all()) {
    if (key.flags.empty()) continue;
    std::string names, negated;
    for (const std::string& flag : key.flags) {
      names += (names.empty() ? "--" : ",--") + flag;
      negated += (negated.empty() ? "--no-" : ",--no-") + flag;
    }
    CLI::Option* option = nullptr;
    if (key.type == config::KeyType::boolean) {
      option = command.add_flag_callback(
          names, [&options, &key] { options.switches[key.path] = true; }, flagHelp(key));
      command
          .add_flag_callback(
              negated, [&options, &key] { options.switches[key.path] = false; },
              "The opposite of --" + key.flags.front())
          ->group("");
    } else {
      option = command.add_option(names, options.flags[key.path], flagHelp(key));
      option->allow_extra_args(false)->type_name(flagType(key));
    }
    option->group(groupOf(key));
  }
}

base::Status applyFlags(const RunOptions& options, const CLI::App& command, const TypedFlags& typed,
                        config::Configuration& configuration) {
  PIPESCOPE_TRY(typed.contradiction());
  if (options.file.ends_with(".onnx") && command.count("--onnx") > 0)
    return base::badInput(fmt::format("{} and --onnx {} are two models: leave one of them out.", options.file,
                                      options.flags.at("model.onnx").front()));
  for (const config::Key& key : app::configurationKeys().all()) {
    if (key.flags.empty() || key.type == config::KeyType::boolean ||
        command.count("--" + key.flags.front()) == 0)
      continue;
    PIPESCOPE_TRY(configuration.setTexts(key.path, options.flags.at(key.path), config::Origin::flag));
  }
  for (const auto& [path, value] : options.switches)
    PIPESCOPE_TRY(configuration.set(path, value, config::Origin::flag));
  PIPESCOPE_TRY(applyMode(options.training, options.inference, configuration));
  PIPESCOPE_TRY(app::applySettings(options.settings, configuration));
  return typed.checkEffect(configuration);
}

/// The profile's path. --profile without another option is --profile-dir profile, as in the tutorial.
base::Result<std::string> outputOf(const RunOptions& options, const CLI::App& command) {
  for (const auto& [name, value] :
       {std::pair{"-o", &options.output}, std::pair{"--profile-dir", &options.profileDirectory}}) {
    if (command.count(name) > 0 && value->empty())
      return base::badInput(fmt::format("{} names nothing: give it a path, or leave it out.", name));
  }
  if (!options.output.empty() && !options.profileDirectory.empty())
    return base::badInput("-o and --profile-dir exclude each other: --profile-dir D means -o D/profile.pop.");
  if (!options.output.empty()) return options.output;
  if (options.profileDirectory.empty() && !options.profile) return std::string("profile.pop");
  const std::string folder = options.profileDirectory.empty() ? "profile" : options.profileDirectory;
  if (base::isStandardOutput(folder))
    return base::badInput("--profile-dir takes a folder; a profile cannot be written to standard output.");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return base::ioError(fmt::format("Cannot make the folder {}: {}.", folder, error.message()));
  return folder + "/profile.pop";
}

void say(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", base::printable(sentence).c_str());
}

std::string closingLine(const app::RunResult& result, const std::string& output) {
  if (!result.written) return fmt::format("Stopped before the first call; {} is as it was", output);
  std::string line =
      fmt::format("{} {}", result.cancelled ? "Stopped; the profile so far is" : "Wrote", output);
  if (result.finalLoss) line += fmt::format(" · final loss {:.4f}", *result.finalLoss);
  if (result.testAccuracy) line += fmt::format(" · test accuracy {:.2f} %", *result.testAccuracy * 100);
  if (result.emulatedUnits > 0)
    line += fmt::format(" · {:g} cost unit{} emulated", result.emulatedUnits,
                        result.emulatedUnits == 1 ? "" : "s");
  if (result.emulatedSeconds > 0) line += fmt::format(" · {:.4g} s emulated", result.emulatedSeconds);
  if (!result.fits) line += " (hypothetical, because the model does not fit)";
  return line;
}

/// Progress that is shown: only the first of several instances shows its own.
std::string progressOf(const RunOptions& options) {
  const auto launch =
      app::launchOf([](const char* name) { return static_cast<const char*>(std::getenv(name)); });
  return launch.ok() && *launch && (*launch)->instance > 0 ? "off" : options.progress;
}

base::Result<int> runOnce(const RunOptions& options, const CLI::App& command, TypedFlags& typed) {
  PIPESCOPE_ASSIGN(config::Configuration configuration, readConfigurationOrNone(options.file));
  typed.noteFile(configuration);
  PIPESCOPE_TRY(readEnvironment(configuration));
  PIPESCOPE_TRY(applyFlags(options, command, typed, configuration));
  PIPESCOPE_TRY(nameModel(options.file, "run", configuration));
  PIPESCOPE_ASSIGN(const std::string output, outputOf(options, command));
  const base::OutputRules rules{{options.file}, options.overwrite, kOverwriteAdvice};
  catchInterrupts();
  const std::unique_ptr<base::Progress> progress = makeProgress(progressOf(options));
  const auto sayVerdict = [&](const std::string& sentence) {
    finishProgress(*progress);
    if (options.progress != "off" && options.progress != "json") say(sentence);
  };
  const base::Result<app::RunResult> result =
      app::runConfiguration(configuration, {output, commandLine(), rules, sayVerdict}, *progress);
  finishProgress(*progress);
  if (!result.ok()) return result.error();
  if (!result->isFirst) return static_cast<int>(result->cancelled ? interruptStatus() : kDone);
  for (const std::string& notice : result->notices) say("note: " + typed.named(notice));
  sayWhatDoesNotFit(result->overflow, output);
  say(closingLine(*result, output));
  if (result->cancelled) return interruptStatus();
  const bool refusedToRun = !result->fits && configuration.boolean("execution.require_fit");
  return static_cast<int>(refusedToRun ? kAnswerIsNo : kDone);
}

std::function<int()> setUpRun(CLI::App& command) {
  auto options = std::make_shared<RunOptions>();
  command.add_option("config", options->file,
                     "Configuration (TOML) or model (ONNX); not needed with --builder or --onnx");
  command.add_option("-o,--output", options->output, "Profile to write (default profile.pop)");
  command.add_option("--profile-dir", options->profileDirectory,
                     "Folder for the profile: the same as -o DIR/profile.pop");
  command.add_flag("--profile", options->profile, "Alone: the same as -o profile/profile.pop");
  command.add_flag("--overwrite", options->overwrite, kOverwriteHelp);
  command.add_option("--progress", options->progress, "How to show progress on standard error")
      ->check(CLI::IsMember({"bar", "plain", "json", "off"}))
      ->capture_default_str();
  command.add_option("--set", options->settings, "Set any key: --set training.epochs=1; repeatable")
      ->allow_extra_args(false);
  addModeFlags(command, options->training, options->inference);
  command.add_flag("--debug", options->debug, "Print debug messages while running");
  command.add_flag("--help-keys", options->helpKeys,
                   "Print every configuration key with type, default and meaning");
  addKeyFlags(command, *options);
  return [options, &command]() -> int {
    if (options->helpKeys) return print(config::configurationHelp(app::configurationKeys()));
    if (options->debug)
      base::setLogSink([](base::LogLevel, const std::string& message) { say("debug: " + message); });
    TypedFlags typed(app::configurationKeys(), arguments(), environmentNames());
    const base::Result<int> status = runOnce(*options, command, typed);
    return status.ok() ? *status : fail({status.error().kind, typed.named(status.error().message)});
  };
}

}  // namespace

PIPESCOPE_REGISTER_COMMAND(run) {
  registry.add({"run", "Train or infer on an emulated system and write a profile", setUpRun,
                "pipescope run samples/mnist/pipelined.toml --epochs 1 -o mnist.pop"});
}

}  // namespace pipescope::cli
