#pragma once
// What a configuration of this program may say: the keys of engine/config, and those of everything that is
// registered.
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
config::KeyTable joinKeys(const KeyOwners& owners);

/// The keys of all that this program contains; made once.
const config::KeyTable& configurationKeys();

/// Configuration::parse and Configuration::read with these keys.
base::Result<config::Configuration> parseConfiguration(std::string_view toml, const std::string& file);
base::Result<config::Configuration> readConfiguration(const std::string& file);

}  // namespace pipescope::app
