#pragma once
// Reports that several sections need. A Context computes each report only once. Contexts of several threads
// may share their reports: who needs one that another thread computes waits for it.
#include <memory>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/recorded/accelerator_times.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/analysis/pipeline/stragglers.h"
#include "profiler/analysis/pipeline/waits.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::analysis {
struct Operations;  // model/operations.h, which only the sections link
}
namespace pipescope::replay {
struct BestMoveAnswer;  // best_move.h
struct PlannedOrder;    // planned_order.h
}  // namespace pipescope::replay

namespace pipescope::sections {

template <class Report>
using SharedReport = base::Result<std::shared_ptr<const Report>>;

/// Reports of profiler/analysis on the executable's last run: times of devices, stages, memory, and
/// waits.
SharedReport<analysis::Execution> executionOf(const Context& context);
SharedReport<analysis::StagesReport> stagesOf(const Context& context);
SharedReport<analysis::Memory> memoryOf(const Context& context);
SharedReport<std::vector<analysis::WaitGroup>> waitsOf(const Context& context);
/// Times, kernels and collectives of the accelerators in a recorded trace; empty if the profile is no
/// imported trace.
SharedReport<analysis::AcceleratorReport> acceleratorsOf(const Context& context);
/// Workers of a recorded run that slow the others down.
SharedReport<analysis::StragglersAnswer> stragglersOf(const Context& context);
/// The critical path of the executable's last run; empty if nothing has run.
SharedReport<std::vector<analysis::CriticalLink>> criticalPathOf(const Context& context);
/// Computes both of these from rows that are read once. Call it first where both are needed.
base::Status readWaitsAndPath(const Context& context);
/// The section "memory" without its tables of variables and addresses, which take much longer to make.
base::Result<Section> memoryOfDevices(const Context& context);
/// The section "waits" without the facts and the table of the critical path, which take longer to find.
base::Result<Section> waitsWithoutPath(const Context& context);
/// Gains of single changes of the executable's last call.
SharedReport<replay::BestMoveAnswer> bestMoveOf(const Context& context);
SharedReport<analysis::Operations> operationsOf(const Context& context);
/// The same with the list of operators of every pass, which may be long.
SharedReport<analysis::Operations> operatorsOf(const Context& context);

/// The plan that setPlan() chose; null: none.
const replay::PlannedOrder* planOf(const Context& context);

/// Kinds of rows that a profile holds of the last run, which --record decides. Figures that need missing rows
/// are empty.
struct Recorded {
  bool placements = false;  ///< true: at least one placement of the last run
  bool steps = false;       ///< true: at least one step, of any executable
};
/// Looks for rows of the last run. Fails if the profile cannot be read.
base::Result<Recorded> recordedOf(const Context& context);

}  // namespace pipescope::sections
