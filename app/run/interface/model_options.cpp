#include "app/run/interface/model_options.h"

#include <cstdlib>

#include "app/run/request/configuration_keys.h"
#include "app/run/request/instance_launch.h"
#include "engine/numerics/instance_module.h"

namespace pipescope::run {

ModelOptions::ModelOptions() : configuration_(app::configurationKeys()) {}

base::Result<ModelOptions> ModelOptions::read(const std::string& file) {
  PIPESCOPE_ASSIGN(config::Configuration configuration, app::readConfiguration(file));
  return ModelOptions(std::move(configuration));
}

base::Result<ModelOptions> ModelOptions::parse(std::string_view toml, const std::string& name) {
  PIPESCOPE_ASSIGN(config::Configuration configuration, app::parseConfiguration(toml, name));
  return ModelOptions(std::move(configuration));
}

base::Status ModelOptions::set(std::string_view key, std::string_view value) {
  return configuration_.setText(key, value, config::Origin::flag);
}

base::Status ModelOptions::useEnvironment() {
  return configuration_.applyEnvironment(
      [](const char* name) { return static_cast<const char*>(std::getenv(name)); });
}

base::Status ModelOptions::joinInstances() {
  PIPESCOPE_ASSIGN(const std::optional<app::Launch> launch, app::launchOf([](const char* name) {
                     return static_cast<const char*>(std::getenv(name));
                   }));
  if (!launch) {
    if (configuration_.integer("execution.instances") == 1) return {};
    return base::badInput(
        "execution.instances is set by the launcher: start the program with `pipescope poprun "
        "--num-instances N`, and leave the key out.");
  }
  PIPESCOPE_TRY(app::useLaunch(*launch, configuration_));
  PIPESCOPE_ASSIGN(instances_, numerics::joinInstances());
  return app::compareInstances(*instances_, configuration_);
}

base::Status ModelOptions::useModel(const std::string& name,
                                    std::shared_ptr<const std::vector<std::byte>> onnx) {
  PIPESCOPE_TRY(configuration_.set("model.onnx", name, config::Origin::flag));
  configuration_.setContent("model.onnx", std::move(onnx));
  return {};
}

}  // namespace pipescope::run
