#pragma once
// Gives all keys that a configuration may contain: the keys of engine/config and those of all registered
// parts.
#include <string>
#include <string_view>

#include "engine/builders/builder.h"
#include "engine/compile/passes/pass.h"
#include "engine/config/configuration.h"
#include "engine/data/dataset_registry.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::app {

/// The registries that add keys.
struct KeyOwners {
  const builders::BuilderRegistry& builders;
  const compile::PassRegistry& passes;
  const data::DatasetRegistry& datasets;
  const optimizers::OptimizerRegistry& optimizers;
};
/// Makes one table of the keys of engine/config and of these registries.
config::KeyTable joinKeys(const KeyOwners& owners);

/// The keys of all parts of this program. The first call makes the table.
const config::KeyTable& configurationKeys();

/// Calls Configuration::parse with these keys.
base::Result<config::Configuration> parseConfiguration(std::string_view toml, const std::string& file);
/// Calls Configuration::read with these keys. For an ONNX file, the configuration only names the model.
base::Result<config::Configuration> readConfiguration(const std::string& file);

/// Applies the texts of --set, each key=value.
base::Status applySettings(const std::vector<std::string>& settings, config::Configuration& configuration);

}  // namespace pipescope::app
