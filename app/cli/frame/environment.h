#pragma once
// Takes configuration keys from environment variables, for all commands that read a configuration.
#include <string>
#include <vector>

#include "engine/config/configuration.h"

namespace pipescope::cli {

/// Names of all environment variables.
std::vector<std::string> environmentNames();
/// Sets the keys whose variables exist. Variables whose names are only close to a key's have no effect: a
/// note on standard error says so.
base::Status readEnvironment(config::Configuration& configuration);
/// Returns the message with the flags and variables that set a key instead of the key, for commands that read
/// a configuration.
std::string asTyped(const std::string& message);
/// The same as fail(), with the message asTyped().
int failAsTyped(const base::Error& error);

}  // namespace pipescope::cli
