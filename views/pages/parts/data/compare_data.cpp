#include "views/pages/parts/data/compare_data.h"

#include <QtConcurrent/QtConcurrentRun>
#include <algorithm>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/diff.h"
#include "profiler/sections/diff/diff_section.h"
#include "profiler/sections/frame/reports.h"

namespace pipescope::pages {
namespace {

base::Status addMemory(const sections::Context& context, std::size_t device, ComparedSideData& side) {
  PIPESCOPE_ASSIGN(const auto kept, sections::memoryOf(context));
  const analysis::Memory& memory = *kept;
  for (const analysis::DeviceMemory& row : memory.devices) side.devices.push_back(row.name);
  if (memory.devices.empty()) return {};
  const analysis::DeviceMemory& shown = memory.devices[std::min(device, memory.devices.size() - 1)];
  const model::Device* owner = context.catalog.device(model::DeviceId(shown.index));
  side.unitName = owner == nullptr || shown.units <= 1 ? "" : owner->unitName;
  PIPESCOPE_ASSIGN(const auto use, analysis::unitUseByCategory(context.source, context.catalog,
                                                               context.executable, shown.space));
  side.units.assign(static_cast<std::size_t>(std::max<std::int64_t>(shown.units, 0)), 0);
  for (const auto& [category, bytes] : use) {
    if (category == "gap") continue;
    for (std::size_t i = 0; i < std::min(bytes.size(), side.units.size()); ++i)
      side.units[i] += static_cast<double>(bytes[i]);
  }
  PIPESCOPE_ASSIGN(const analysis::Liveness live,
                   analysis::liveness(context.source, context.catalog, context.executable, shown.space));
  for (const analysis::LivenessPoint& point : live.steps)
    side.live.push_back(static_cast<double>(live.alwaysLive.count) +
                        static_cast<double>(point.notAlwaysLive.count));
  return {};
}

base::Status addGrid(const sections::Context& context, base::Progress& progress, ComparedSideData& side) {
  if (!context.catalog.devices.empty())
    side.scale.ticksPerSecond = std::max<std::int64_t>(1, context.catalog.devices.front().ticksPerSecond);
  side.scale.unit = context.catalog.target.tickMeaning == model::TickMeaning::cost
                        ? geometry::TimeUnit::costUnits
                        : geometry::TimeUnit::time;
  analysis::PipelineRequest request;
  request.executable = context.executable;
  PIPESCOPE_ASSIGN(analysis::PipelineGrid grid,
                   analysis::pipelineGrid(context.source, context.catalog, request, progress));
  if (grid.cells.empty()) return {};
  PIPESCOPE_ASSIGN(PassMarks marks,
                   readMarks(context.source, context.catalog, context.executable, grid, progress));
  side.marks = std::move(marks.gaps);
  side.grid = std::make_shared<const analysis::PipelineGrid>(std::move(grid));
  return {};
}

/// Asks both profiles at the same time. Returns the first error, the source's before the target's.
template <class Ask>
base::Status forBothSides(const sections::Context& source, const sections::Context& target, Ask ask) {
  base::Status other;
  QFuture<void> reading = QtConcurrent::run([&] { other = ask(source); });
  const base::Status own = ask(target);
  reading.waitForFinished();  // this thread does the work if no worker is free
  return other.ok() ? own : other;
}

/// Names the two profiles as the window does.
void nameSides(sections::SectionTable& table) {
  for (sections::SectionColumn& column : table.columns) {
    if (column.heading == "Before") column.heading = "Source";
    if (column.heading == "After") column.heading = "Target";
  }
}

void nameSidesIn(std::string& remark) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"The first model", "The source's model"}, {"The second model", "The target's model"}};
  for (const auto& [from, to] : kNames) {
    if (remark.starts_with(from)) remark.replace(0, from.size(), to);
  }
}

}  // namespace

model::ExecutableId counterpartOf(const analysis::Catalog& source, const model::Executable& own) {
  const auto same = source.findExecutable(own.name);
  return same.ok() ? (*same)->id : source.executables.front().id;
}

std::vector<sections::SectionTable> comparedOptions(const analysis::Catalog& source,
                                                    const analysis::Catalog& target) {
  std::vector<sections::SectionTable> tables = sections::changedOptionTables(source, target);
  std::ranges::for_each(tables, nameSides);
  return tables;
}

base::Result<sections::Section> comparedFigures(const sections::Context& source,
                                                const sections::Context& target) {
  const auto readStages = [](const sections::Context& side) -> base::Status {
    PIPESCOPE_ASSIGN(const auto stages, sections::stagesOf(side));
    return {};
  };
  PIPESCOPE_TRY(forBothSides(source, target, readStages));
  PIPESCOPE_ASSIGN(sections::Section section, sections::diffFigures(source, target));
  std::ranges::for_each(section.tables, nameSides);
  std::ranges::for_each(section.remarks, nameSidesIn);
  return section;
}

base::Result<CompareData> collectComparison(const sections::Context& source, const sections::Context& target,
                                            std::size_t device, base::Progress& progress) {
  CompareData data;
  const auto readSide = [&](const sections::Context& side) -> base::Status {
    ComparedSideData& own = &side == &source ? data.source : data.target;
    PIPESCOPE_ASSIGN(const auto stages, sections::stagesOf(side));
    if (progress.cancelled()) return base::cancelled("Comparing was stopped.");
    PIPESCOPE_TRY(addGrid(side, progress, own));
    PIPESCOPE_ASSIGN(const auto path, sections::criticalPathOf(side));
    if (progress.cancelled()) return base::cancelled("Comparing was stopped.");
    PIPESCOPE_ASSIGN(const auto operations, sections::operationsOf(side));
    return addMemory(side, device, own);
  };
  PIPESCOPE_TRY(forBothSides(source, target, readSide));
  PIPESCOPE_ASSIGN(const auto before, sections::criticalPathOf(source));
  PIPESCOPE_ASSIGN(const auto after, sections::criticalPathOf(target));
  PIPESCOPE_ASSIGN(const analysis::Diff diff,
                   analysis::diff({source.source, source.catalog, source.executable, before.get()},
                                  {target.source, target.catalog, target.executable, after.get()}));
  PIPESCOPE_ASSIGN(data.diff, sections::diffSection(source, target, diff, {0, true}));
  std::ranges::for_each(data.diff.tables, nameSides);
  std::ranges::for_each(data.diff.remarks, nameSidesIn);
  return data;
}

}  // namespace pipescope::pages
