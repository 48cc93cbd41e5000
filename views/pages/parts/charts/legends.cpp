#include "views/pages/parts/charts/legends.h"

#include <algorithm>
#include <set>

#include "views/pages/parts/data/text.h"

namespace pipescope::pages {
namespace {

using geometry::ColourRole;
using timeline::LegendEntry;

QString named(const std::string& name) {
  return text(name).replace(QLatin1Char('_'), QLatin1Char(' '));
}

/// The numbers of the micro-batches that have the colour of number `first`: "2", "2, 32" or "2, 32, …".
QString numbersOf(int first, std::int64_t count) {
  QString numbers = QString::number(first);
  const std::int64_t second = first + geometry::kMicroBatchHues;
  if (second < count) numbers += QStringLiteral(", %1").arg(second);
  if (second + geometry::kMicroBatchHues < count) numbers += QStringLiteral(", …");
  return numbers;
}

/// A square for each colour of micro-batches: the tone of forward passes, and that of backward passes.
void addMicroBatches(std::vector<LegendEntry>& entries, std::int64_t count, bool backward) {
  const auto most = static_cast<int>(std::min<std::int64_t>(count, geometry::kMicroBatchHues));
  for (int i = 0; i < most; ++i) {
    const QString number = numbersOf(i, count);
    const QString first = backward ? tr("light: forward, dark: backward; micro-batch %1").arg(number)
                                   : tr("micro-batch %1").arg(number);
    LegendEntry entry{i == 0 ? first : number, geometry::microBatchRole(i, false)};
    if (backward) entry.also = geometry::microBatchRole(i, true);
    entries.push_back(entry);
  }
}

void addWaits(std::vector<LegendEntry>& entries, const std::set<std::pair<std::string, ColourRole>>& waits) {
  bool first = true;
  // Only the first entry says "waits"; the hatching shows that the others are waits too.
  for (const auto& [name, role] : waits) {
    entries.push_back({first ? tr("waits: %1").arg(text(name)) : text(name), role, true});
    first = false;
  }
}

std::int64_t microBatchesOf(const analysis::Trace& trace) {
  std::int32_t most = -1;
  for (const analysis::DeviceTrace& device : trace.devices) {
    for (const analysis::TraceTrack& track : device.tracks) {
      for (const analysis::TracePlacement& placement : track.placements)
        most = std::max(most, placement.microBatch);
    }
  }
  return most + 1;
}

/// True if a row of passes shows work whose pass is not known.
bool showsOther(const analysis::Trace& trace, const geometry::TimelineOptions& options) {
  const auto isOther = [](const auto& row) { return row.pass == model::Pass::other; };
  for (std::size_t d = 0; d < trace.devices.size(); ++d) {
    const bool collapsed = options.collapsed.contains(static_cast<int>(d));
    for (const analysis::TraceTrack& track : trace.devices[d].tracks) {
      if (!collapsed && !showsPasses(track, options.steps)) continue;
      if (std::ranges::any_of(track.placements, isOther) || std::ranges::any_of(track.far, isOther))
        return true;
    }
  }
  return false;
}

}  // namespace

std::vector<LegendEntry> timelineLegend(const geometry::TimelineModel& model,
                                        const geometry::TimelineOptions& options) {
  std::vector<LegendEntry> entries;
  const bool backward = std::ranges::any_of(model.passes, [](model::Pass pass) {
    return model::isComputePass(pass) && pass != model::Pass::forward;
  });
  if (options.byMicroBatch) addMicroBatches(entries, microBatchesOf(*model.trace), backward);
  for (const model::Pass pass : model.passes) {
    // Passes have the colours of their kind if the trace is far away.
    if (options.byMicroBatch && model::isComputePass(pass) && !model.trace->far) continue;
    if (pass == model::Pass::other && !showsOther(*model.trace, options)) continue;
    entries.push_back({named(model::toString(pass)), geometry::roleOf(pass)});
  }
  // A device that only sends or receives says so in its row of passes.
  const bool sends = std::ranges::any_of(model.trace->devices, [](const analysis::DeviceTrace& device) {
    return std::ranges::any_of(device.tracks, [](const analysis::TraceTrack& track) {
      return std::ranges::any_of(track.activities, [](const analysis::Activity& activity) {
        return activity.kind == analysis::Activity::Kind::transfer;
      });
    });
  });
  if (sends) entries.push_back({tr("exchange between devices"), ColourRole::globalExchange});
  for (const model::TransferKind kind : model.transferKinds) {
    if (!options.transfers) break;
    const bool ofMicroBatches =
        options.byMicroBatch && std::ranges::none_of(model.trace->transfers, [&](const auto& transfer) {
          return transfer.kind == kind && transfer.microBatch < 0;
        });
    if (!ofMicroBatches)
      entries.push_back({tr("→ %1").arg(named(model::toString(kind))), geometry::roleOf(kind)});
  }
  for (const model::StepKind kind : model.kinds) {
    if (options.steps == geometry::StepRows::none && !options.tiles) break;
    LegendEntry entry{named(model::toString(kind)), geometry::roleOf(kind)};
    // Groups of steps have a paler tone of the same hue.
    if (options.steps == geometry::StepRows::flame) entry.also = geometry::roleOf(kind, true);
    entries.push_back(entry);
  }
  std::set<std::pair<std::string, ColourRole>> waits;
  for (const model::WaitCause cause : model.causes)
    waits.emplace(model::toString(cause), geometry::roleOf(cause));
  addWaits(entries, waits);
  if (options.counters && model.counters && !model.counters->empty())
    entries.push_back({tr("counter"), ColourRole::counter});
  entries.push_back({tr("idle"), ColourRole::idle});
  const bool wall = std::ranges::any_of(
      model.trace->runs, [](const model::Run& run) { return run.wallEndNs > run.wallStartNs; });
  if (wall) entries.push_back({tr("host's own time"), ColourRole::idle});
  return entries;
}

std::vector<LegendEntry> pipelineLegend(const analysis::PipelineGrid& grid,
                                        const geometry::PipelineOptions& options,
                                        const geometry::PipelineMarks* marks,
                                        const geometry::PipelineMarks* strips) {
  std::vector<LegendEntry> entries;
  std::set<model::Pass> passes;
  for (const analysis::PipelineCell& cell : grid.cells) {
    passes.insert(cell.pass);
    if (cell.recompute.count > 0) passes.insert(model::Pass::recompute);
  }
  const bool backward = passes.size() > passes.count(model::Pass::forward);
  if (options.path >= 0) {
    entries.push_back({tr("forward of micro-batch %1").arg(options.path), ColourRole::pathForward});
    if (backward) entries.push_back({tr("its backward pass"), ColourRole::pathBackward});
    entries.push_back({tr("everything else"), ColourRole::dimmed});
  } else if (options.byMicroBatch) {
    addMicroBatches(entries, grid.shownMicroBatches, backward);
  } else {
    for (const model::Pass pass : passes) {
      const bool drawn = pass != model::Pass::recompute || !options.grid;
      if (drawn) entries.push_back({named(model::toString(pass)), geometry::roleOf(pass)});
    }
  }
  if (marks != nullptr && !options.grid && options.path < 0) {
    std::set<std::pair<std::string, ColourRole>> waits, work;
    for (const auto& row : *marks) {
      for (const geometry::PipelineMark& mark : row)
        (mark.isWait ? waits : work).emplace(mark.name, mark.role);
    }
    for (const auto& [name, role] : work) entries.push_back({named(name), role});
    addWaits(entries, waits);
  }
  if (strips != nullptr) entries.push_back({tr("line: exchange within a pass"), ColourRole::globalExchange});
  if (options.critical) entries.push_back({tr("critical path"), ColourRole::critical});
  if (!grid.hasPhases()) return entries;
  if (grid.rampUpEnd > grid.start || grid.rampDownStart < grid.end)
    entries.push_back({tr("ramp-up, ramp-down"), ColourRole::lostFill});
  if (grid.rampDownStart > grid.rampUpEnd) entries.push_back({tr("steady"), ColourRole::lostUseful});
  return entries;
}

}  // namespace pipescope::pages
