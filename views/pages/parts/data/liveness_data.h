#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/memory/tile_use.h"
#include "profiler/analysis/memory/unit_liveness.h"
#include "profiler/geometry/timeline/time_axis.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::pages {

struct LivenessSpace {
  model::MemorySpaceId id;
  model::DeviceId device;
  QString name;
  std::string unitName;  ///< empty: the memory is in one piece
  std::int64_t units = 1, bytesPerUnit = 0, fullestUnit = 0;
  std::int64_t tooMuch = 0;  ///< bytes that the fullest unit lacks; not above 0: none
};

/// The content of the liveness page.
struct LivenessData {
  std::vector<LivenessSpace> spaces;
  LivenessSpace shown;
  analysis::Liveness liveness;
  std::vector<QString> names;  ///< names of the steps' programs
  std::int64_t unit = -1;      ///< the unit that ofUnit describes; −1: none
  analysis::UnitLiveness ofUnit;
};

/// The bytes that a chart of these live bytes marks as a limit: the capacity of one unit, or of all. Nothing
/// if the limit is so far above `most`, the largest value of the chart, that the curve would be flat.
std::optional<double> livenessLimit(const LivenessSpace& space, bool single, std::int64_t most);

struct LivenessChoice {
  model::MemorySpaceId space;        ///< none: the one that lacks most, or the first
  bool single = false;               ///< shows a single unit
  std::optional<std::int64_t> unit;  ///< none: the fullest
};

/// Reads the content for a choice. If the space does not have the unit, the error names the units that it
/// has.
base::Result<LivenessData> collectLiveness(const sections::Context& context, const LivenessChoice& choice);

/// The variables that are live in a step, on a unit or (−1) in the whole space.
base::Result<sections::SectionTable> liveVariableTable(const sections::Context& context,
                                                       const LivenessSpace& space, std::int64_t unit,
                                                       std::int32_t step, bool withAlwaysLive);
/// The rows of such a table that are vertices.
sections::SectionTable liveVertices(const sections::SectionTable& variables);

/// The times of a program step in the unit of the scale. Without a place, the table says why there are none.
sections::SectionTable cyclesTable(const std::optional<analysis::ProgramPlace>& place,
                                   const LivenessSpace& space, const geometry::TimeScale& scale);

}  // namespace pipescope::pages
