#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/memory/tile_memory.h"
#include "profiler/analysis/memory/unit_liveness.h"
#include "profiler/geometry/time_axis.h"
#include "profiler/sections/section.h"

namespace pipescope::pages {

struct LivenessSpace {
  model::MemorySpaceId id;
  model::DeviceId device;
  QString name;
  std::string unitName;  ///< empty: the memory is in one piece
  std::int64_t units = 1, bytesPerUnit = 0, fullestUnit = 0;
};

/// What the liveness page reads.
struct LivenessData {
  std::vector<LivenessSpace> spaces;
  LivenessSpace shown;
  analysis::Liveness liveness;
  std::vector<QString> names;  ///< of each step's program
  std::int64_t unit = -1;      ///< of which ofUnit tells; −1: none
  analysis::UnitLiveness ofUnit;
};

struct LivenessChoice {
  model::MemorySpaceId space;        ///< none: the first
  bool single = false;               ///< a unit by itself
  std::optional<std::int64_t> unit;  ///< none: the fullest
};

/// A unit that the space does not have is an error that names those it has.
base::Result<LivenessData> collectLiveness(const sections::Context& context, const LivenessChoice& choice);

/// What is live in a step; `unit` −1: in the whole space.
base::Result<sections::Table> liveVariableTable(const sections::Context& context, const LivenessSpace& space,
                                                std::int64_t unit, std::int32_t step, bool withAlwaysLive);
/// Of such a table the rows of vertices.
sections::Table liveVertices(const sections::Table& variables);

/// Lengths of a program step in the unit of the scale; an empty place says why there are none.
sections::Table cyclesTable(const std::optional<analysis::ProgramPlace>& place, const LivenessSpace& space,
                            const geometry::TimeScale& scale);

}  // namespace pipescope::pages
