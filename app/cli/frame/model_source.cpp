#include "app/cli/frame/model_source.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "app/cli/frame/command.h"
#include "app/cli/frame/environment.h"
#include "app/cli/frame/key_flags.h"
#include "app/cli/frame/typed_flags.h"
#include "app/run/request/configuration_keys.h"

namespace pipescope::cli {

void addModeFlags(CLI::App& command, bool& training, bool& inference) {
  command.add_flag("--training", training, "Only train");
  command.add_flag("--inference", inference, "Only infer");
}

base::Status applyMode(bool training, bool inference, config::Configuration& configuration) {
  if (!training && !inference) return {};
  return configuration.set("execution.mode", std::string(training ? "training" : "inference"),
                           config::Origin::flag);
}

void addModelOptions(CLI::App& command, ModelSource& source) {
  for (const auto& [key, value] :
       {std::pair{"model.builder", &source.builder}, std::pair{"system.name", &source.system}}) {
    const config::Key& described = *app::configurationKeys().find(key);
    command.add_option("--" + described.flags.front(), *value, flagHelp(described))
        ->type_name(flagType(described));
  }
  addModeFlags(command, source.training, source.inference);
  command
      .add_option("--set", source.settings,
                  "Set any key: --set training.gradient_accumulation=16; repeatable")
      ->allow_extra_args(false);
}

base::Result<config::Configuration> readConfigurationOrNone(const std::string& file) {
  return file.empty() ? app::parseConfiguration("", file) : app::readConfiguration(file);
}

base::Status nameModel(const std::string& file, std::string_view command,
                       config::Configuration& configuration) {
  const std::string &onnx = configuration.text("model.onnx"), &builder = configuration.text("model.builder");
  if (file.empty() && onnx.empty() && builder.empty()) {
    return base::badInput(
        fmt::format("`pipescope {0}` needs a configuration or a model: pipescope {0} CONFIG.toml, pipescope "
                    "{0} MODEL.onnx or pipescope {0} --builder NAME. `pipescope {0} --help` lists the "
                    "options.",
                    command));
  }
  if (onnx.empty() && builder.empty()) return {};
  const std::string name = onnx.empty() ? builder : std::filesystem::path(onnx).stem().string();
  return configuration.set("model.name", name, config::Origin::derived);
}

base::Result<config::Configuration> configurationOf(const ModelSource& source, std::string_view command) {
  PIPESCOPE_ASSIGN(config::Configuration configuration, readConfigurationOrNone(source.file));
  PIPESCOPE_TRY(readEnvironment(configuration));
  PIPESCOPE_TRY(TypedFlags(app::configurationKeys(), arguments(), environmentNames()).contradiction());
  for (const auto& [key, value] :
       {std::pair{"model.builder", &source.builder}, std::pair{"system.name", &source.system}}) {
    if (!value->empty()) PIPESCOPE_TRY(configuration.setText(key, *value, config::Origin::flag));
  }
  PIPESCOPE_TRY(applyMode(source.training, source.inference, configuration));
  PIPESCOPE_TRY(app::applySettings(source.settings, configuration));
  PIPESCOPE_TRY(nameModel(source.file, command, configuration));
  return configuration;
}

}  // namespace pipescope::cli
