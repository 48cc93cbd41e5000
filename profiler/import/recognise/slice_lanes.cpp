#include "profiler/import/recognise/slice_lanes.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace pipescope::importing {
namespace {

constexpr std::int64_t kUntilEnded = std::numeric_limits<std::int64_t>::max();

bool isAsync(const TraceEvent& event) {
  return event.kind == EventKind::asyncBegin || event.kind == EventKind::asyncEnd;
}

/// Asynchronous events match by identity and name. Others match the begin that came last.
bool matches(const TraceEvent& begin, const TraceEvent& end) {
  if (isAsync(begin) != isAsync(end)) return false;
  return !isAsync(end) || (begin.id == end.id && begin.name == end.name);
}

}  // namespace

std::size_t SliceLanes::freeLane(std::int64_t time) {
  // Slices go below the deepest one that is still running, so that a child never stands above its parent.
  std::size_t lane = busyUntil_.size();
  while (lane > 0 && busyUntil_[lane - 1] <= time) --lane;
  if (lane == busyUntil_.size()) busyUntil_.push_back(0);
  return lane;
}

std::vector<NameId> SliceLanes::enclosing(std::int64_t start, std::int64_t end) {
  std::vector<NameId> names;
  std::erase_if(running_, [&](const Running& slice) { return slice.end <= start; });
  for (const Running& slice : running_)
    if (slice.end >= end) names.push_back(slice.name);
  return names;
}

base::Status SliceLanes::place(const TraceEvent& event, std::int64_t end) {
  const std::size_t lane = freeLane(event.time);
  busyUntil_[lane] = end;
  const bool undecided = end > event.time && startsWithBegun(event);
  if (!asksEnclosing_ && !undecided) return emit_({lane, event.time, end}, event);
  std::vector<NameId> names;
  if (asksEnclosing_) {
    names = enclosing(event.time, end);
    running_.push_back({event.time, end, event.name});
  }
  if (undecided) {
    undecided_.push_back({lane, event, end, std::move(names)});
    return {};
  }
  return emit_({lane, event.time, end, names}, event);
}

bool SliceLanes::startsWithBegun(const TraceEvent& event) const {
  return std::ranges::any_of(open_, [&](const Open& open) { return open.begin.time == event.time; });
}

/// A begun slice has ended before slices that started together with it: these enclose it.
void SliceLanes::yieldToLonger(Open& ended, std::int64_t end) {
  for (Undecided& other : undecided_) {
    if (other.event.time != ended.begin.time || other.end <= end || other.lane < ended.lane) continue;
    std::swap(other.lane, ended.lane);
    busyUntil_[other.lane] = other.end;
    busyUntil_[ended.lane] = end;
    if (!asksEnclosing_) continue;
    const auto own = std::ranges::find(other.enclosing, ended.begin.name);
    if (own != other.enclosing.end()) other.enclosing.erase(own);
    ended.enclosing.push_back(other.event.name);
  }
}

/// Emits the slices that have ended by this time, and those that started with none that is still open.
base::Status SliceLanes::emitDecided(std::int64_t time) {
  for (std::size_t i = 0; i < undecided_.size();) {
    if (undecided_[i].end > time && startsWithBegun(undecided_[i].event)) {
      ++i;
      continue;
    }
    const Undecided own = std::move(undecided_[i]);
    undecided_.erase(undecided_.begin() + static_cast<std::ptrdiff_t>(i));
    PIPESCOPE_TRY(emit_({own.lane, own.event.time, own.end, own.enclosing}, own.event));
  }
  return {};
}

base::Status SliceLanes::close(std::size_t index, std::int64_t end) {
  Open open = std::move(open_[index]);
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
  yieldToLonger(open, end);
  busyUntil_[open.lane] = end;
  const auto own = std::ranges::find_if(running_, [&](const Running& slice) {
    return slice.end == kUntilEnded && slice.start == open.begin.time && slice.name == open.begin.name;
  });
  if (own != running_.end()) own->end = end;
  PIPESCOPE_TRY(emit_({open.lane, open.begin.time, end, open.enclosing}, open.begin));
  return undecided_.empty() ? base::Status() : emitDecided(end);
}

base::Status SliceLanes::end(const TraceEvent& event) {
  for (std::size_t i = open_.size(); i-- > 0;)
    if (matches(open_[i].begin, event)) return close(i, std::max(event.time, open_[i].begin.time));
  // An end sorts before a begin at the same time; the begin of an empty slice may still come.
  if (!earlyEnds_.empty() && earlyEnds_.front().time != event.time) {
    findings_.add("An end event has no begin and is left out.", static_cast<std::int64_t>(earlyEnds_.size()));
    earlyEnds_.clear();
  }
  earlyEnds_.push_back(event);
  return {};
}

base::Status SliceLanes::add(const TraceEvent& event) {
  if (!undecided_.empty()) PIPESCOPE_TRY(emitDecided(event.time));
  switch (event.kind) {
    case EventKind::complete:
      return place(event, event.time + event.duration);
    case EventKind::instant:
    case EventKind::asyncInstant:
      return place(event, event.time);
    case EventKind::end:
    case EventKind::asyncEnd:
      return end(event);
    case EventKind::begin:
    case EventKind::asyncBegin: {
      for (std::size_t i = 0; i < earlyEnds_.size(); ++i) {
        if (earlyEnds_[i].time != event.time || earlyEnds_[i].name != event.name ||
            !matches(event, earlyEnds_[i]))
          continue;
        earlyEnds_.erase(earlyEnds_.begin() + static_cast<std::ptrdiff_t>(i));
        return place(event, event.time);
      }
      const std::size_t lane = freeLane(event.time);
      busyUntil_[lane] = kUntilEnded;
      std::vector<NameId> names;
      if (asksEnclosing_) {
        // The end of a begun slice is not known, so slices count that still run.
        names = enclosing(event.time, event.time + 1);
        running_.push_back({event.time, kUntilEnded, event.name});
      }
      open_.push_back({lane, event, std::move(names)});
      return {};
    }
    case EventKind::flowStart:
    case EventKind::flowStep:
    case EventKind::flowEnd: {
      std::size_t lane = busyUntil_.size();
      while (lane > 0 && busyUntil_[lane - 1] < event.time) --lane;
      return flow_ && lane > 0 ? flow_(event, lane - 1) : base::Status();
    }
    default:
      return {};
  }
}

base::Status SliceLanes::finish(std::int64_t traceEnd) {
  if (!earlyEnds_.empty())
    findings_.add("An end event has no begin and is left out.", static_cast<std::int64_t>(earlyEnds_.size()));
  earlyEnds_.clear();
  if (!open_.empty())
    findings_.add("A begin event has no end; it is shown up to the end of the trace.",
                  static_cast<std::int64_t>(open_.size()));
  PIPESCOPE_TRY(emitDecided(traceEnd));
  while (!open_.empty()) PIPESCOPE_TRY(close(open_.size() - 1, std::max(traceEnd, open_.back().begin.time)));
  return {};
}

namespace {

/// Visits all events. While some are visited, the next ones are read.
base::Status visitAhead(EventSorter& events, base::Executor* executor,
                        const std::function<base::Status(const TraceEvent&)>& visit) {
  constexpr std::size_t kAhead = 2048;
  if (executor == nullptr || events.size() <= static_cast<std::int64_t>(kAhead)) return events.visit(visit);
  PIPESCOPE_TRY(events.rewind());
  std::vector<TraceEvent> current(kAhead), following(kAhead);
  PIPESCOPE_ASSIGN(std::size_t count, events.next(current));
  while (count > 0) {
    std::size_t more = 0;
    base::Status visited, read;
    executor->parallelFor(2, [&](std::size_t part) {
      if (part == 0) {
        for (std::size_t i = 0; i < count && visited.ok(); ++i) visited = visit(current[i]);
      } else if (auto next = events.next(following); next.ok()) {
        more = *next;
      } else {
        read = next.error();
      }
    });
    PIPESCOPE_TRY(visited);
    PIPESCOPE_TRY(read);
    std::swap(current, following);
    count = more;
  }
  return {};
}

}  // namespace

base::Status visitSlices(TraceData& trace, Findings& findings, const SliceLanes::Emit& slice,
                         const std::function<void(const TraceEvent&)>& counter,
                         const SliceLanes::EmitFlow& flow, bool enclosing, base::Executor* executor) {
  std::optional<SliceLanes> lanes;
  ThreadId thread;
  const auto take = [&](const TraceEvent& event) -> base::Status {
    if (event.time < trace.firstTime || event.time > trace.lastStart) return {};
    if (event.thread != thread) {
      if (lanes) PIPESCOPE_TRY(lanes->finish(trace.lastTime));
      thread = event.thread;
      lanes.emplace(findings, slice, flow, enclosing);
    }
    if (event.kind != EventKind::counter) return lanes->add(event);
    counter(event);
    return {};
  };
  PIPESCOPE_TRY(visitAhead(trace.events, executor, take));
  return lanes ? lanes->finish(trace.lastTime) : base::Status();
}

}  // namespace pipescope::importing
