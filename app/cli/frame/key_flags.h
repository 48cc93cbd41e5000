#pragma once
// How the help of a command describes the flag of a configuration key.
#include <string>

#include "engine/config/configuration.h"

namespace pipescope::cli {

/// What the key means, with its path, unit, default and range.
std::string flagHelp(const config::Key& key);
/// The placeholder of the flag's value, with the words that it takes.
std::string flagType(const config::Key& key);

}  // namespace pipescope::cli
