#include "app/plan/plan_intervals.h"

#include "app/plan/emulated_calls.h"
#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/figures/memory_interval.h"
#include "profiler/figures/step_interval.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::app {

base::Result<PlanIntervals> planIntervals(const compile::Compilation& compilation) {
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  recordTwoCalls(recorder, compilation, emulate::RecordLevel::steps);
  PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
  PIPESCOPE_ASSIGN(const auto catalog, analysis::loadCatalog(profile));
  const model::ExecutableId first = catalog->executables.begin()->id;
  PIPESCOPE_ASSIGN(const analysis::Memory memory, analysis::memory(profile, *catalog, first));
  PIPESCOPE_ASSIGN(const analysis::StagesReport stages, analysis::stagesReport(profile, *catalog, first));
  const figures::Analyses of{catalog.get(), first, nullptr, &stages, &memory};
  return PlanIntervals{figures::stepInterval(of), figures::fitsShare(of)};
}

}  // namespace pipescope::app
