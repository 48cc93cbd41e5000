#include "profiler/sections/frame/reports.h"

#include <algorithm>
#include <mutex>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/model/operations.h"
#include "profiler/sections/frame/report_cache.h"
#include "profiler/sections/planned.h"
#include "profiler/sections/replays.h"

namespace pipescope::sections {

/// A report once it was computed without an error.
template <class Report>
struct Kept {
  std::mutex mutex;
  std::shared_ptr<const Report> report;
};

struct ReportCache {
  Kept<analysis::Execution> execution;
  Kept<analysis::AcceleratorReport> accelerators;
  Kept<analysis::StagesReport> stages;
  Kept<analysis::Memory> memory;
  Kept<std::vector<analysis::WaitGroup>> waits;
  Kept<std::vector<analysis::CriticalLink>> path;
  Kept<analysis::StragglersAnswer> stragglers;
  Kept<analysis::Operations> operations, operators;  ///< the second one has the list of operators, too
  Kept<replay::BestMoveAnswer> bestMove;
  std::shared_ptr<const replay::PlannedOrder> plan;
};

std::shared_ptr<ReportCache> makeReportCache() {
  return std::make_shared<ReportCache>();
}

namespace {

template <class Report, class Make>
SharedReport<Report> onceMade(Kept<Report>& kept, const Context& context, Make make) {
  const std::lock_guard lock(kept.mutex);
  if (!kept.report) {
    PIPESCOPE_ASSIGN(Report made, make(context.source, context.catalog, context.executable));
    kept.report = std::make_shared<const Report>(std::move(made));
  }
  return kept.report;
}

template <class Report>
void forget(Kept<Report>& kept) {
  const std::lock_guard lock(kept.mutex);
  kept.report.reset();
}

}  // namespace

void forgetLargeReports(ReportCache& reports) {
  forget(reports.operations);
  forget(reports.operators);
}

SharedReport<analysis::Execution> executionOf(const Context& context) {
  return onceMade(context.reports->execution, context, analysis::execution);
}

SharedReport<analysis::AcceleratorReport> acceleratorsOf(const Context& context) {
  return onceMade(context.reports->accelerators, context,
                  [](const auto& source, const auto& catalog, auto /*executable*/) {
                    return analysis::acceleratorReport(source, catalog);
                  });
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
  return onceMade(context.reports->waits, context,
                  [](const auto& source, const auto& catalog, auto executable) {
                    return analysis::waitGroups(source, catalog, executable);
                  });
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

SharedReport<analysis::StragglersAnswer> stragglersOf(const Context& context) {
  return onceMade(context.reports->stragglers, context, analysis::stragglers);
}

base::Status readWaitsAndPath(const Context& context) {
  ReportCache& reports = *context.reports;
  const std::scoped_lock lock(reports.waits.mutex, reports.path.mutex);
  const model::Run* run = context.catalog.lastRunOf(context.executable);
  if (run == nullptr || reports.waits.report || reports.path.report) return {};
  PIPESCOPE_ASSIGN(const analysis::RunRows rows, analysis::runRows(context.source, *run));
  reports.waits.report = std::make_shared<const std::vector<analysis::WaitGroup>>(
      analysis::waitGroups(rows, context.catalog, *run));
  reports.path.report = std::make_shared<const std::vector<analysis::CriticalLink>>(
      analysis::criticalPath(rows, context.catalog, *run));
  return {};
}

SharedReport<analysis::Operations> operationsOf(const Context& context) {
  ReportCache& reports = *context.reports;
  {
    // Who has the operators has all the rest.
    const std::scoped_lock lock(reports.operators.mutex);
    if (reports.operators.report) return reports.operators.report;
  }
  return onceMade(reports.operations, context, [](const auto& source, const auto& catalog, auto executable) {
    return analysis::operations(source, catalog, executable);
  });
}

SharedReport<analysis::Operations> operatorsOf(const Context& context) {
  return onceMade(context.reports->operators, context,
                  [](const auto& source, const auto& catalog, auto executable) {
                    return analysis::operations(source, catalog, executable, {true, false, {}, 0});
                  });
}

SharedReport<replay::BestMoveAnswer> bestMoveOf(const Context& context) {
  using Answer = replay::BestMoveAnswer;
  return onceMade(context.reports->bestMove, context,
                  [&](const auto& source, const auto& catalog, auto executable) -> base::Result<Answer> {
                    Answer none;
                    none.reason = noTrialsReason(context);
                    if (!none.reason.empty()) return none;
                    return replay::bestMove({source, catalog, knownSchedules()}, executable);
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
