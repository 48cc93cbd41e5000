#include "app/run/request/configuration_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/builders/builder_keys.h"
#include "engine/compile/passes/pass_keys.h"
#include "engine/data/dataset_keys.h"
#include "engine/devices/system_registry.h"
#include "engine/optimizers/optimizer_keys.h"
#include "engine/schedules/schedule.h"
#include "profiler/base/files/output_file.h"

namespace pipescope::app {
namespace {

/// Makes the accelerators that can be emulated the choices of system.accelerator.
config::Key acceleratorKey() {
  config::Key key;
  key.path = "system.accelerator";
  key.fallback = std::string("auto");
  key.flags = {"accelerator"};
  key.choices = {"auto"};
  key.help =
      "Kind of device; auto takes what the system has. Without system.name, and as a flag also in place of "
      "another "
      "kind of system in the file, the system is";
  for (const devices::Accelerator& each : devices::accelerators()) {
    key.help += (key.choices.size() > 1 ? ", " : " ") + each.usualSystem + " for " + each.name;
    key.choices.push_back(each.name);
  }
  key.help += ".";
  return key;
}

/// A profile is easily taken for what it was made from.
base::Status refuseProfile(const std::string& file) {
  // The content of a pipe can be read only once.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return {};
  std::ifstream stream(file, std::ios::binary);
  std::string head(base::kHeadBytes, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, stream.gcount())));
  if (!base::isOfKind(base::FileKind::profile, head)) return {};
  return base::badInput(fmt::format(
      "{0} is a profile, not a configuration: `pipescope report {0}` prints what it holds.", file));
}

}  // namespace

config::KeyTable joinKeys(const KeyOwners& owners) {
  std::vector<config::Key> keys = config::coreKeys();
  config::insertAfter(keys, "model.input", builders::builderKeys(owners.builders));
  config::insertAfter(keys, "execution.require_fit", compile::passKeys(owners.passes));
  config::insertAfter(keys, "training.validation_interval", optimizers::groupKeys(owners.optimizers));
  config::insertAfter(keys, "training.clip_norm", optimizers::learningRateKeys());
  config::insertAfter(keys, "training.loss", optimizers::optimizerKeys(owners.optimizers));
  config::insertAfter(keys, "data.directory", data::datasetKeys(owners.datasets));
  config::insertAfter(keys, "system.name", {acceleratorKey()});
  const auto schedule = std::ranges::find(keys, "execution.schedule", &config::Key::path);
  for (const schedules::ScheduleDefinition& each : schedules::scheduleRegistry().all())
    schedule->choices.push_back(each.name);
  return config::KeyTable(std::move(keys));
}

const config::KeyTable& configurationKeys() {
  static const config::KeyTable keys = joinKeys({builders::builderRegistry(), compile::passRegistry(),
                                                 data::datasetRegistry(), optimizers::optimizerRegistry()});
  return keys;
}

base::Result<config::Configuration> parseConfiguration(std::string_view toml, const std::string& file) {
  return config::Configuration::parse(configurationKeys(), toml, file);
}

base::Result<config::Configuration> readConfiguration(const std::string& file) {
  PIPESCOPE_TRY(refuseProfile(file));
  if (!file.ends_with(".onnx")) return config::Configuration::read(configurationKeys(), file);
  PIPESCOPE_ASSIGN(config::Configuration configuration, parseConfiguration("", file));
  PIPESCOPE_TRY(configuration.set("model.onnx", file, config::Origin::file));
  const std::string name = std::filesystem::path(file).stem().string();
  PIPESCOPE_TRY(configuration.set("model.name", name, config::Origin::derived));
  return configuration;
}

base::Status applySettings(const std::vector<std::string>& settings, config::Configuration& configuration) {
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos)
      return base::badInput("--set takes key=value, but \"" + setting + "\" was given.");
    const base::Status status =
        configuration.setText(setting.substr(0, equals), setting.substr(equals + 1), config::Origin::flag);
    if (!status.ok()) return base::badInput("--set: " + status.error().message);
  }
  return {};
}

}  // namespace pipescope::app
