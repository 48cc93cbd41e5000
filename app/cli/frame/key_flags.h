#pragma once
// Describes the flag of a configuration key in the help of a command.
#include <string>

#include "engine/config/configuration.h"

namespace pipescope::cli {

/// Meaning of the key, with its path, unit, default and range.
std::string flagHelp(const config::Key& key);
/// The placeholder of the flag's value, with the words that it takes.
std::string flagType(const config::Key& key);

}  // namespace pipescope::cli
