#include "profiler/analysis/timeline/trace_tracks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "profiler/base/intervals.h"

namespace pipescope::analysis {
namespace {

struct LaneGroup {
  std::vector<TransferLane> lanes;
  TransferLane crowded;  ///< transfers that no lane takes
};
using LaneGroups = std::map<std::tuple<std::int32_t, bool, std::int32_t>, LaneGroup>;

/// Puts the transfer on the first free lane.
void addTransfer(Trace& trace, LaneGroup& group, std::size_t index, std::int32_t peer, bool outgoing) {
  std::vector<TransferLane>& lanes = group.lanes;
  const auto row = [&](std::int32_t i) -> const model::Transfer& {
    return trace.transfers[static_cast<std::size_t>(i)];
  };
  const Ticks start = trace.transfers[index].start;
  auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const TransferLane& l) {
    return l.transfers.empty() || row(l.transfers.back()).end <= start;
  });
  if (lane == lanes.end()) {
    // A new lane of a large trace would move all rows below it.
    if (lanes.size() >= TransferLane::kMost || (trace.large && !lanes.empty())) {
      group.crowded.outgoing = outgoing;
      group.crowded.transfers.push_back(static_cast<std::int32_t>(index));
      return;
    }
    lane = lanes.insert(lanes.end(), TransferLane{});
    lane->outgoing = outgoing;
    if (peer >= 0 && !trace.large) lane->peer = trace.devices[static_cast<std::size_t>(peer)].id;
  }
  lane->transfers.push_back(static_cast<std::int32_t>(index));
}

bool byStart(const Activity& a, const Activity& b) {
  return a.start < b.start;
}

/// Adds transfers as activities in the gaps between passes and waits.
void addTransferTime(const Trace& trace, const DeviceTrace& device, std::vector<Activity>& activities) {
  std::vector<std::int32_t> transfers;
  for (const TransferLane& lane : device.transferLanes) {
    transfers.insert(transfers.end(), lane.transfers.begin(), lane.transfers.end());
  }
  std::sort(transfers.begin(), transfers.end());  // indices ascend by start, as Trace::transfers does
  std::vector<Activity> moving;
  for (const std::int32_t index : transfers) {
    const model::Transfer& row = trace.transfers[static_cast<std::size_t>(index)];
    if (moving.empty() || row.start >= moving.back().end) {
      moving.push_back({row.start, row.end, Activity::Kind::transfer, index});
      continue;
    }
    const model::Transfer& longest = trace.transfers[static_cast<std::size_t>(moving.back().index)];
    if (row.end - row.start > longest.end - longest.start) moving.back().index = index;
    moving.back().end = std::max(moving.back().end, row.end);
  }
  std::vector<Activity> rest;
  std::size_t next = 0;
  for (Activity piece : moving) {
    while (next < activities.size() && activities[next].end <= piece.start) ++next;
    for (std::size_t i = next; i < activities.size() && activities[i].start < piece.end; ++i) {
      if (activities[i].start > piece.start)
        rest.push_back({piece.start, activities[i].start, piece.kind, piece.index});
      piece.start = std::max(piece.start, activities[i].end);
    }
    if (piece.start < piece.end) rest.push_back(piece);
  }
  const auto before = static_cast<std::ptrdiff_t>(activities.size());
  activities.insert(activities.end(), rest.begin(), rest.end());
  std::inplace_merge(activities.begin(), activities.begin() + before, activities.end(), byStart);
}

}  // namespace

void shareTransfers(Trace& trace) {
  LaneGroups groups;
  if (trace.large) {
    for (std::size_t d = 0; d < trace.devices.size(); ++d) {
      for (const bool incoming : {false, true}) {
        LaneGroup& group = groups[{static_cast<std::int32_t>(d), incoming, -1}];
        group.lanes.emplace_back().outgoing = !incoming;
      }
    }
  }
  for (std::size_t i = 0; i < trace.transfers.size(); ++i) {
    const model::Transfer& row = trace.transfers[i];
    if (row.end == row.start) continue;
    const std::int32_t from = trace.deviceOfLane(row.fromLane), to = trace.deviceOfLane(row.toLane);
    if (from >= 0) addTransfer(trace, groups[{from, false, trace.large ? -1 : to}], i, to, true);
    if (to >= 0) addTransfer(trace, groups[{to, true, trace.large ? -1 : from}], i, from, false);
  }
  for (auto& [key, group] : groups) {
    DeviceTrace& device = trace.devices[static_cast<std::size_t>(std::get<0>(key))];
    for (TransferLane& lane : group.lanes) device.transferLanes.push_back(std::move(lane));
    if (!group.crowded.transfers.empty()) device.crowdedTransfers.push_back(std::move(group.crowded));
  }
}

void findPasses(TraceTrack& track) {
  for (std::size_t i = 0; i < track.placements.size(); ++i) {
    const TracePlacement& now = track.placements[i];
    if (!track.passes.empty()) {
      PassSpan& open = track.passes.back();
      const TracePlacement& before = track.placements[i - 1];
      const auto key = [](const TracePlacement& p) {
        return std::tie(p.run, p.iteration, p.stage, p.pass, p.microBatch, p.replica);
      };
      if (before.end == now.start && key(before) == key(now)) {
        open.end = now.end;
        ++open.placements;
        continue;
      }
    }
    track.passes.push_back({now.start, now.end, static_cast<std::int32_t>(i), 1});
  }
}

void listActivities(Trace& trace, const DeviceTrace& device, TraceTrack& track) {
  base::Intervals work;
  for (std::size_t i = 0; i < track.passes.size(); ++i) {
    const PassSpan& pass = track.passes[i];
    if (pass.end == pass.start) continue;
    track.activities.push_back({pass.start, pass.end, Activity::Kind::pass, static_cast<std::int32_t>(i)});
    work.add(pass.start, pass.end);
  }
  // Work may go on while the device waits for something else. The row then shows the rest of the wait.
  const std::vector<base::Intervals::Interval> taken = work.joined();
  Ticks shown;
  for (std::size_t i = 0; i < track.waits.size(); ++i) {
    const model::Wait& wait = track.waits[i];
    const std::size_t before = track.activities.size();
    const Ticks start = i == 0 ? wait.start : std::max(wait.start, shown);
    base::forEachFreePart(taken, start, wait.end, [&](Ticks from, Ticks to) {
      track.activities.push_back({from, to, Activity::Kind::wait, static_cast<std::int32_t>(i)});
    });
    if (track.activities.size() == before && wait.end > wait.start) ++trace.damagedRows;
    shown = i == 0 ? wait.end : std::max(shown, wait.end);
  }
  std::stable_sort(track.activities.begin(), track.activities.end(), byStart);
  if (&track == &device.tracks.front()) addTransferTime(trace, device, track.activities);
}

}  // namespace pipescope::analysis
