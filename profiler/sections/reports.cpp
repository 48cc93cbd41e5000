#include "profiler/sections/reports.h"

#include <algorithm>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/model/operations.h"
#include "profiler/sections/planned.h"

namespace pipescope::sections {

/// The reports that were computed without an error.
struct ReportCache {
  std::shared_ptr<const analysis::Execution> execution;
  std::shared_ptr<const analysis::StagesReport> stages;
  std::shared_ptr<const analysis::Memory> memory;
  std::shared_ptr<const std::vector<analysis::WaitGroup>> waits;
  std::shared_ptr<const std::vector<analysis::CriticalLink>> path;
  std::shared_ptr<const analysis::Operations> operations, allOperations;
  std::shared_ptr<const replay::PlannedOrder> plan;
};

std::shared_ptr<ReportCache> makeReportCache() {
  return std::make_shared<ReportCache>();
}

namespace {

template <class Report, class Make>
SharedReport<Report> onceMade(std::shared_ptr<const Report>& kept, const Context& context, Make make) {
  if (!kept) {
    PIPESCOPE_ASSIGN(Report made, make(context.source, context.catalog, context.executable));
    kept = std::make_shared<const Report>(std::move(made));
  }
  return kept;
}

}  // namespace

SharedReport<analysis::Execution> executionOf(const Context& context) {
  return onceMade(context.reports->execution, context, analysis::execution);
}

SharedReport<analysis::StagesReport> stagesOf(const Context& context) {
  PIPESCOPE_ASSIGN(const auto memory, memoryOf(context));
  return onceMade(context.reports->stages, context, [&](const auto& source, const auto& catalog, auto id) {
    return analysis::stagesReport(source, catalog, id, *memory);
  });
}

SharedReport<analysis::Memory> memoryOf(const Context& context) {
  return onceMade(context.reports->memory, context, analysis::memory);
}

SharedReport<std::vector<analysis::WaitGroup>> waitsOf(const Context& context) {
  return onceMade(context.reports->waits, context, analysis::waitGroups);
}

SharedReport<std::vector<analysis::CriticalLink>> criticalPathOf(const Context& context) {
  using Path = std::vector<analysis::CriticalLink>;
  return onceMade(context.reports->path, context,
                  [](const auto& source, const auto& catalog, auto executable) -> base::Result<Path> {
                    const model::Run* run = catalog.lastRunOf(executable);
                    if (run == nullptr) return Path();
                    return analysis::criticalPath(source, catalog, run->id);
                  });
}

SharedReport<analysis::Operations> allOperationsOf(const Context& context) {
  return onceMade(context.reports->allOperations, context,
                  [](const auto& source, const auto& catalog, auto executable) {
                    return analysis::operations(source, catalog, executable, {true, true});
                  });
}

SharedReport<analysis::Operations> operationsOf(const Context& context) {
  if (context.reports->allOperations) return context.reports->allOperations;
  return onceMade(context.reports->operations, context,
                  [](const auto& source, const auto& catalog, auto executable) {
                    return analysis::operations(source, catalog, executable);
                  });
}

void setPlan(const Context& context, replay::PlannedOrder plan) {
  context.reports->plan = std::make_shared<const replay::PlannedOrder>(std::move(plan));
}

const replay::PlannedOrder* planOf(const Context& context) {
  return context.reports->plan.get();
}

base::Result<Recorded> recordedOf(const Context& context) {
  Recorded recorded;
  if (const model::Run* run = context.catalog.lastRunOf(context.executable)) {
    const std::size_t column = analysis::columnOf<model::Placement>("run");
    const auto mayHold = [&](const model::BlockInfo& block, const std::vector<model::ColumnRange>& ranges) {
      return analysis::mayMeet(block, run->start, run->end) &&
             (column >= ranges.size() || ranges[column].mayHold(run->id.value));
    };
    const auto visit = [&](const model::Placement& row, std::int64_t) {
      recorded.placements = row.run == run->id;
      return !recorded.placements;
    };
    base::SilentProgress progress;
    PIPESCOPE_TRY(analysis::forEachRow<model::Placement>(context.source, progress, mayHold, visit));
  }
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, context.source.blocks<model::Step>());
  recorded.steps = std::ranges::any_of(blocks, [](const model::BlockInfo& block) { return block.rows > 0; });
  return recorded;
}

}  // namespace pipescope::sections
