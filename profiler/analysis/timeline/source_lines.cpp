#include "profiler/analysis/timeline/source_lines.h"

#include <algorithm>
#include <cmath>

#include "profiler/base/number_text.h"

namespace pipescope::analysis {
namespace {

/// "thread 7, level 2" and "thread 7" are lanes of one thread.
std::string_view threadOf(std::string_view lane) {
  return lane.substr(0, lane.find(", level "));
}

bool isLibrary(const std::string& file) {
  constexpr std::string_view kParts[] = {"site-packages", "dist-packages", "/lib/python"};
  return file.starts_with("torch/") || std::ranges::any_of(kParts, [&](std::string_view part) {
           return file.find(part) != std::string::npos;
         });
}

/// Finds the function that began last, first among those of the user's program.
class LineFinder {
 public:
  LineFinder(const Trace& trace, const DeviceTrace& device, Ticks time)
      : trace_(trace), device_(device), time_(time) {}

  void look(const TraceTrack& track, std::string_view thread) {
    for (auto i = firstEndingAfter(track.placements, time_); i < track.placements.size(); ++i) {
      const TracePlacement& placement = track.placements[i];
      if (placement.start > time_) break;
      const TraceSegment* segment = trace_.segmentOf(placement);
      if (segment == nullptr) continue;
      for (std::size_t s = 0; s < segment->steps.size() && s < segment->stepNames.size(); ++s) {
        const model::Step& step = segment->steps[s];
        const Ticks start = placement.start + onAxis(step.offset);
        if (start > time_ || start + onAxis(step.ticks) <= time_ || !isOf(step.lane, thread)) continue;
        take(sourceLineIn(trace_.names[static_cast<std::size_t>(segment->stepNames[s])]), start);
      }
    }
  }

  std::optional<SourceLine> found() const { return found_; }

 private:
  Ticks onAxis(Ticks ticks) const {
    return Ticks(std::llround(static_cast<double>(ticks.count) * device_.axisTicksPerTick));
  }
  bool isOf(model::LaneId lane, std::string_view thread) const {
    const auto name = trace_.laneNames.find(lane);
    return name != trace_.laneNames.end() && threadOf(name->second) == thread;
  }
  void take(std::optional<SourceLine> line, Ticks start) {
    if (!line) return;
    const bool own = !isLibrary(line->file), better = own != own_ ? own : start >= start_;
    if (found_ && !better) return;
    found_ = std::move(line);
    own_ = own;
    start_ = start;
  }

  const Trace& trace_;
  const DeviceTrace& device_;
  Ticks time_, start_;
  std::optional<SourceLine> found_;
  bool own_ = false;
};

}  // namespace

std::optional<SourceLine> sourceLineIn(std::string_view name) {
  constexpr std::string_view kOpen = ".py(", kClose = "): ";
  const std::size_t open = name.find(kOpen);
  const std::size_t close = open == std::string_view::npos ? open : name.find(kClose, open);
  if (close == std::string_view::npos) return std::nullopt;
  const std::size_t digits = open + kOpen.size();
  const auto line = base::wholeNumberOf(name.substr(digits, close - digits));
  if (!line || *line < 0) return std::nullopt;
  SourceLine made;
  made.file = std::string(name.substr(0, digits - 1));
  made.function = std::string(name.substr(close + kClose.size()));
  made.line = *line;
  return made;
}

std::optional<SourceLine> sourceLineAt(const Trace& trace, const Catalog& catalog, model::LaneId lane,
                                       Ticks time) {
  const auto name = trace.laneNames.find(lane);
  const std::int32_t index = trace.deviceOfLane(lane);
  if (name == trace.laneNames.end() || index < 0 || catalog.roleOf(lane) != model::LaneRole::hostThread)
    return std::nullopt;
  const DeviceTrace& device = trace.devices[static_cast<std::size_t>(index)];
  LineFinder finder(trace, device, time);
  for (const TraceTrack& track : device.tracks) finder.look(track, threadOf(name->second));
  return finder.found();
}

std::optional<SourceLine> sourceLineOf(const Trace& trace, const Catalog& catalog, model::LaneId lane,
                                       Ticks start) {
  if (catalog.roleOf(lane) == model::LaneRole::hostThread) return sourceLineAt(trace, catalog, lane, start);
  auto launch = std::ranges::lower_bound(trace.launches, start, {}, &model::Transfer::end);
  for (; launch != trace.launches.end() && launch->end == start; ++launch)
    if (launch->toLane == lane) return sourceLineAt(trace, catalog, launch->fromLane, launch->start);
  return std::nullopt;
}

}  // namespace pipescope::analysis
