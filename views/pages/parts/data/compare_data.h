#pragma once
// Data that the compare page reads of both profiles.
#include <memory>
#include <vector>

#include "profiler/analysis/pipeline/pipeline_grid.h"
#include "profiler/base/progress.h"
#include "profiler/geometry/timeline/time_axis.h"
#include "profiler/sections/frame/section.h"
#include "views/pages/parts/trace/pipeline_gaps.h"

namespace pipescope::pages {

/// One of the two sides.
struct ComparedSideData {
  std::vector<double> live;          ///< live bytes by program step of the shown device
  std::vector<double> units;         ///< bytes by unit of the shown device
  std::vector<std::string> devices;  ///< names of the devices that have memory
  std::string unitName;
  std::shared_ptr<const analysis::PipelineGrid> grid;
  MarksPointer marks;  ///< marks that fill the gaps of the grid; null: there is no grid
  geometry::TimeScale scale;
};

struct CompareData {
  sections::Section diff;
  ComparedSideData source, target;
};

/// The source's executable that corresponds to one of the target: the one with its name, or the first one.
/// The source must have one.
model::ExecutableId counterpartOf(const analysis::Catalog& source, const model::Executable& own);

/// The tables of that section that are known at once: the versions and options that differ.
std::vector<sections::SectionTable> comparedOptions(const analysis::Catalog& source,
                                                    const analysis::Catalog& target);

/// The figures of the step and of the stages, with the headings of the window: source and target. Reads both
/// profiles at the same time.
base::Result<sections::Section> comparedFigures(const sections::Context& source,
                                                const sections::Context& target);

/// Compares two executables; `device` is the position of the shown device among those with memory. Reads both
/// profiles at the same time.
base::Result<CompareData> collectComparison(const sections::Context& source, const sections::Context& target,
                                            std::size_t device, base::Progress& progress);

}  // namespace pipescope::pages
