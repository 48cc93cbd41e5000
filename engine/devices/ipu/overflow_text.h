#pragma once
// What to say where a tile's memory does not suffice: which tiles, by how much, what lies there, what would
// help.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/tile_layout.h"

namespace pipescope::devices::ipu {

/// A variable that lives on the worst tile when that holds most.
struct LiveVariable {
  std::string name;      ///< name path: layer and part
  std::string category;  ///< as LoweredVariable::category
  bool alwaysLive = false;
  std::int64_t bytes = 0;  ///< on that tile
};

/// Several sentences. `fullest` names the step at which the worst tile holds most; `live` is largest first.
std::string overflowText(const Chip& chip, const std::string& deviceName, const TileLayout& layout,
                         const std::string& fullest, const std::vector<LiveVariable>& live);

}  // namespace pipescope::devices::ipu
