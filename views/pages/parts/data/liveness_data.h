#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/memory/tile_use.h"
#include "profiler/analysis/memory/unit_liveness.h"
#include "profiler/base/progress.h"
#include "profiler/geometry/charts/lifetimes.h"
#include "profiler/geometry/timeline/time_axis.h"
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/tables/tree_model.h"

namespace pipescope::pages {

struct LivenessSpace {
  model::MemorySpaceId id;
  model::DeviceId device;
  QString name;
  std::string unitName;  ///< empty: the memory is in one piece
  std::int64_t units = 1, bytesPerUnit = 0, fullestUnit = 0;
  double fullness = 0;  ///< address span of the fullest unit ÷ its capacity; 0: the capacity is not known
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
  model::MemorySpaceId space;        ///< none: the fullest one, the first of equal ones
  bool single = false;               ///< shows a single unit
  std::optional<std::int64_t> unit;  ///< none: the fullest
};

/// Reads the content for a choice. If the space does not have the unit, the error names the units that it
/// has.
base::Result<LivenessData> collectLiveness(const sections::Context& context, const LivenessChoice& choice);

/// The variables that are live in program steps, on a unit or (−1) in the whole space, as trees of name paths
/// with totals. Their basis says the bytes of all.
struct LiveTables {
  TreeRows now, always;             ///< those that are live in some of the steps, and those that always are
  sections::SectionTable vertices;  ///< those of both that are vertices
  std::int64_t bytesNow = 0, bytesAlways = 0;
};
base::Result<LiveTables> liveTables(const sections::Context& context, const LivenessSpace& space,
                                    std::int64_t unit, analysis::StepRange steps);

/// The lives of a space's variables as rows of a chart, the largest first.
struct LifeRows {
  std::vector<geometry::LifeRow> rows;
  std::vector<std::string> categories;  ///< of each row
  std::int64_t all = 0;                 ///< number of variables; the smallest may be left out
};
base::Result<LifeRows> lifeRows(const sections::Context& context, const LivenessSpace& space,
                                base::Progress& progress);

/// The times of a program step in the unit of the scale. Without a place, the table says why there are none.
sections::SectionTable cyclesTable(const std::optional<analysis::ProgramPlace>& place,
                                   const LivenessSpace& space, const geometry::TimeScale& scale);

}  // namespace pipescope::pages
