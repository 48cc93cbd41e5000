#pragma once
#include "engine/config/configuration.h"

namespace pipescope::config {

/// The keys that need no registry.
inline const KeyTable& coreTable() {
  static const KeyTable table(coreKeys());
  return table;
}

}  // namespace pipescope::config
