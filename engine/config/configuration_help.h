#pragma once
#include <string>

#include "engine/config/key_table.h"

namespace pipescope::config {

/// The text of resources/help/configuration.md.
std::string configurationHelp(const KeyTable& keys);

}  // namespace pipescope::config
