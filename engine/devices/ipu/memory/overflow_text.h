#pragma once
// Describes a model that does not fit: which tiles lack memory and how much, and what lies there. Remedies
// are tried out where the configuration is known (app/plan/fit_advice.h).
#include <cstdint>
#include <string>
#include <vector>

#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/memory/tile_layout.h"

namespace pipescope::devices::ipu {

/// A variable that is live on the worst tile at its fullest step.
struct TileContent {
  std::string name;      ///< name path with layer and part
  std::string category;  ///< see LoweredVariable::category
  bool alwaysLive = false;
  std::int64_t bytes = 0;  ///< bytes on that tile
};

/// Makes several sentences, and then a line of advice for each remedy. `fullest` names the step at which the
/// worst tile is fullest; `live` lists the largest variables first.
std::string overflowText(const Chip& chip, const std::string& deviceName, const TileLayout& layout,
                         const std::string& fullest, const std::vector<TileContent>& live);

}  // namespace pipescope::devices::ipu
