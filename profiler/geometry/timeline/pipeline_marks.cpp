#include "profiler/geometry/timeline/pipeline_marks.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "profiler/geometry/element.h"

namespace pipescope::geometry {
namespace {

/// The part of a row that is filled already, and the marks that were put into the rest.
class RowFiller {
 public:
  RowFiller(Ticks start, Ticks end) : start_(start), end_(end) {}

  /// Nothing else is put into [start, end).
  void block(Ticks start, Ticks end) {
    for (const auto& [from, to] : holes(start, end)) filled_[from] = to;
  }

  /// Puts the mark where nothing is yet.
  void put(const PipelineMark& mark) {
    for (const auto& [from, to] : holes(mark.start, mark.end)) {
      marks_.push_back(mark);
      marks_.back().start = from;
      marks_.back().end = to;
      filled_[from] = to;
    }
  }

  std::vector<PipelineMark> marks() && {
    std::ranges::sort(marks_, {}, &PipelineMark::start);
    return std::move(marks_);
  }

 private:
  std::vector<std::pair<Ticks, Ticks>> holes(Ticks start, Ticks end) const {
    std::vector<std::pair<Ticks, Ticks>> found;
    start = std::max(start, start_);
    end = std::min(end, end_);
    auto next = filled_.upper_bound(start);
    if (next != filled_.begin() && std::prev(next)->second > start) start = std::prev(next)->second;
    for (; start < end; ++next) {
      const Ticks until = next == filled_.end() ? end : std::min(end, next->first);
      if (until > start) found.emplace_back(start, until);
      if (next == filled_.end()) break;
      start = next->second;  // filled stretches ascend and do not overlap
    }
    return found;
  }

  Ticks start_, end_;
  std::map<Ticks, Ticks> filled_;
  std::vector<PipelineMark> marks_;
};

/// Kind of what fills a gap, the most telling kind first. An imported trace has passes of an unknown kind
/// that last as long as whole iterations, so these come after the causes of waits.
enum class MarkKind { pass, transfer, wait, otherPass, none };
using ActivityKind = analysis::Activity::Kind;

const analysis::TracePlacement& placementOf(const analysis::TraceTrack& track,
                                            const analysis::Activity& activity) {
  return at(track.placements, at(track.passes, activity.index).firstPlacement);
}
model::Pass passOf(const analysis::TraceTrack& track, const analysis::Activity& activity) {
  return placementOf(track, activity).pass;
}

/// True for a placement of another iteration. Devices begin the next iteration while others are still busy
/// with this one if no barrier ends a flush.
bool ofAnother(const analysis::PipelineGrid& grid, const analysis::TracePlacement& placement) {
  return grid.iterations > 1 && placement.iteration >= 0 && placement.iteration != grid.iteration &&
         model::isComputePass(placement.pass);
}

MarkKind kindOf(const analysis::TraceTrack& track, const analysis::Activity& activity) {
  if (activity.kind == ActivityKind::transfer) return MarkKind::transfer;
  if (activity.kind == ActivityKind::wait) return MarkKind::wait;
  if (activity.kind != ActivityKind::pass) return MarkKind::none;
  return passOf(track, activity) == model::Pass::other ? MarkKind::otherPass : MarkKind::pass;
}

PipelineMark markOf(const analysis::PipelineGrid& grid, const analysis::TraceTrack& track,
                    const analysis::Activity& activity) {
  PipelineMark mark{activity.start, activity.end, ColourRole::globalExchange, "exchange", false};
  if (activity.kind == ActivityKind::pass) {
    mark.role = roleOf(passOf(track, activity));
    mark.name = model::toString(passOf(track, activity));
    if (ofAnother(grid, placementOf(track, activity)))
      mark.role = ColourRole::gaps, mark.name = "another iteration";
  } else if (activity.kind == ActivityKind::wait) {
    const model::WaitCause cause = at(track.waits, activity.index).cause;
    mark.role = roleOf(cause);
    mark.name = model::toString(cause);
    mark.isWait = true;
  }
  return mark;
}

std::vector<PipelineMark> marksOf(const analysis::PipelineGrid& grid, const analysis::PipelineRow& row,
                                  const analysis::DeviceTrace& device) {
  const Ticks from = grid.shownStart(), to = grid.shownEnd();
  RowFiller filler(from, to);
  for (const std::int32_t cell : row.cells)
    filler.block(at(grid.cells, cell).start, at(grid.cells, cell).end);
  for (const MarkKind kind : {MarkKind::pass, MarkKind::transfer, MarkKind::wait, MarkKind::otherPass}) {
    for (const analysis::TraceTrack& track : device.tracks) {
      for (const analysis::Activity& activity : track.activities) {
        if (activity.end <= from || activity.start >= to) continue;
        if (kindOf(track, activity) == kind) filler.put(markOf(grid, track, activity));
      }
    }
  }
  return std::move(filler).marks();
}

/// Adds the exchanges of a placement to the marks.
void addExchanges(const analysis::Trace& trace, const analysis::DeviceTrace& device,
                  const analysis::TracePlacement& placement, std::vector<PipelineMark>& marks) {
  const analysis::TraceSegment* segment = trace.segmentOf(placement);
  if (segment == nullptr || !segment->whole) return;
  const auto onAxis = [&](Ticks offset) {
    return placement.start + Ticks(std::llround(static_cast<double>(offset.count) * device.axisTicksPerTick));
  };
  for (const model::Step& step : segment->steps) {
    if (step.kind != model::StepKind::globalExchange || step.ticks.count <= 0) continue;
    marks.push_back({onAxis(step.offset), std::min(placement.end, onAxis(step.offset + step.ticks)),
                     ColourRole::globalExchange, "exchange within a pass", false});
  }
}

/// Sorts marks of one kind, and joins those that overlap or touch.
void joinMarks(std::vector<PipelineMark>& marks) {
  std::ranges::sort(marks, {}, &PipelineMark::start);
  std::vector<PipelineMark> joined;
  for (PipelineMark& mark : marks) {
    if (!joined.empty() && mark.start <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, mark.end);
    } else {
      joined.push_back(std::move(mark));
    }
  }
  marks = std::move(joined);
}

}  // namespace

std::vector<std::vector<PipelineMark>> passExchanges(const analysis::PipelineGrid& grid,
                                                     const analysis::Trace& trace, std::size_t most) {
  std::vector<std::vector<PipelineMark>> marks(grid.rows.size());
  std::size_t all = 0;
  for (std::size_t row = 0; row < grid.rows.size() && !trace.far; ++row) {
    const std::int32_t index = trace.deviceIndex(grid.rows[row].device);
    if (index < 0) continue;
    const analysis::DeviceTrace& device = at(trace.devices, index);
    for (const analysis::TraceTrack& track : device.tracks) {
      for (const analysis::TracePlacement& placement : track.placements) {
        const bool here = placement.run == grid.run && model::isComputePass(placement.pass) &&
                          placement.microBatch >= 0 && placement.microBatch < grid.shownMicroBatches &&
                          (grid.iterations == 1 || placement.iteration == grid.iteration);
        if (here) addExchanges(trace, device, placement, marks[row]);
        if (all + marks[row].size() > most) return std::vector<std::vector<PipelineMark>>(grid.rows.size());
      }
    }
    joinMarks(marks[row]);
    all += marks[row].size();
  }
  return marks;
}

std::vector<std::vector<PipelineMark>> pipelineMarks(const analysis::PipelineGrid& grid,
                                                     const analysis::Trace& trace) {
  std::vector<std::vector<PipelineMark>> marks(grid.rows.size());
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    const std::int32_t device = trace.deviceIndex(grid.rows[row].device);
    if (device >= 0 && !trace.far) marks[row] = marksOf(grid, grid.rows[row], at(trace.devices, device));
  }
  return marks;
}

}  // namespace pipescope::geometry
