#pragma once
// What the memory page shows: bytes by unit, in layers. For workers.
#include <QString>
#include <vector>

#include "profiler/geometry/colour_role.h"
#include "profiler/sections/section.h"

namespace pipescope::pages {

enum class MemoryBreakdown { none, category, region, liveness };

/// A memory space of a device that holds something.
struct MemoryPart {
  model::MemorySpaceId id;
  model::DeviceId device;
  QString name;
  std::string kind;
  std::int64_t units = 0, bytesPerUnit = 0;
};

struct MemoryLayer {
  QString name;
  geometry::ColourRole role;
  std::vector<std::int64_t> values;
};

struct MemoryData {
  std::vector<MemoryPart> spaces;   ///< all that can be chosen
  std::vector<MemoryPart> shown;    ///< those in the chart, one after another
  std::vector<MemoryLayer> layers;  ///< by unit over all shown
  std::vector<QString> names;       ///< of each unit's device
  sections::Table table, allSpaces;
  std::vector<geometry::ColourRole> marks;  ///< of the table's rows
  std::int64_t capacity = 0;                ///< of a unit
  std::string unitName;
};

struct MemoryChoice {
  model::MemorySpaceId space;  ///< none: all
  MemoryBreakdown breakdown = MemoryBreakdown::category;
  bool gaps = true;
};

base::Result<MemoryData> collectMemory(const sections::Context& context, const MemoryChoice& choice);

/// "tile_memory" as people write it.
QString memoryWords(const std::string& kind);
/// What a chart has a column for: a tile; where memory is in one piece, a device.
std::string memoryUnit(const std::string& unitName);

}  // namespace pipescope::pages
