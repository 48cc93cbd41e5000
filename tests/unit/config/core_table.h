#pragma once
#include "engine/config/configuration.h"

namespace pipescope::config {

/// The table of keys that do not depend on a registry.
inline const KeyTable& coreTable() {
  static const KeyTable table(coreKeys());
  return table;
}

}  // namespace pipescope::config
