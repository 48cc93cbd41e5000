#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "profiler/analysis/timeline/trace_draft.h"
#include "profiler/analysis/timeline/trace_tracks.h"

namespace pipescope::analysis {
namespace {

class Layout {
 public:
  explicit Layout(TraceDraft& draft) : draft_(draft) {}

  void make() {
    for (std::size_t i = 0; i < draft_.segmentDevice.size(); ++i)
      segmentsOf_[draft_.segmentDevice[i]].push_back(i);
    for (DeviceTrace& device : draft_.trace->devices) finishDevice(device);
    for (TraceSegment& segment : draft_.trace->segments) {
      if (segment.flame.empty())
        segment.use = segmentUse(segment.steps, segment.pass, segment.lane, segment.ticks);
    }
    findRecorded();
    indexPlacements();
  }

 private:
  /// Finds the recorded replicas. A profile leaves out replicas that do the same as another at the same time;
  /// their devices still work.
  void findRecorded() {
    Trace& trace = *draft_.trace;
    if (draft_.request.large) {
      trace.recordedReplicas = draft_.request.large->recordedReplicas;
    } else {
      std::set<std::int32_t> recorded;
      for (const DeviceTrace& device : trace.devices) {
        if (device.replica >= 0 &&
            std::any_of(device.tracks.begin(), device.tracks.end(), [](const TraceTrack& track) {
              return !track.placements.empty() || !track.far.empty();
            }))
          recorded.insert(device.replica);
      }
      trace.recordedReplicas.assign(recorded.begin(), recorded.end());
    }
    const std::vector<std::int32_t>& recorded = trace.recordedReplicas;
    for (DeviceTrace& device : trace.devices) {
      device.recorded =
          device.rank == 0 && (device.replica < 0 || recorded.empty() ||
                               std::binary_search(recorded.begin(), recorded.end(), device.replica));
    }
  }

  /// Splits the device's placements into tracks and gives each track its rows.
  void finishDevice(DeviceTrace& device) {
    const auto index = static_cast<std::size_t>(draft_.deviceIndex[device.id]);
    std::vector<TracePlacement>& placements = draft_.placements[index];
    std::stable_sort(placements.begin(), placements.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    std::vector<TraceTrack> tracks;  // by lane; one lane has several if its placements overlap
    const bool byLane = draft_.trace->large
                            ? draft_.worksSideBySide(device.id)
                            : overlap(placements) || waitsBeside(placements, draft_.waits[index]);
    if (draft_.trace->large && byLane) {
      for (const model::LaneId lane : draft_.lanesOf(device.id)) freeTrack(tracks, lane, Ticks());
    }
    for (const TracePlacement& placement : placements) {
      const model::LaneId lane = byLane ? laneOf(placement) : model::LaneId();
      TraceTrack* track = freeTrack(tracks, lane, placement.start);
      (track != nullptr ? track->placements : device.crowded).push_back(placement);
    }
    if (tracks.empty()) tracks.emplace_back();
    for (TraceTrack& track : tracks) {
      if (const auto name = draft_.trace->laneNames.find(track.lane); name != draft_.trace->laneNames.end())
        track.name = name->second;
      device.tracks.push_back(std::move(track));
    }
    device.tracks.front().waits = std::move(draft_.waits[index]);
    auto& waits = device.tracks.front().waits;
    std::stable_sort(waits.begin(), waits.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    const TraceTrack* before = nullptr;
    for (TraceTrack& track : device.tracks) {
      if (draft_.trace->far) {
        layOutFar(device, track);
      } else {
        findPasses(track);
        listActivities(*draft_.trace, device, track);
      }
      // Segments are laid out once for each lane, so all tracks of a lane have the same rows.
      if (before != nullptr && before->lane == track.lane) {
        track.flameLanes = before->flameLanes, track.flatLanes = before->flatLanes;
      } else {
        layOutSteps(device, track);
      }
      before = &track;
    }
  }

  void layOutFar(const DeviceTrace& device, TraceTrack& track) {
    std::vector<model::LevelNode> placements;
    for (const auto& [key, nodes] : draft_.farPlacements) {
      if (key.first == device.id.value && (!track.lane.valid() || key.second == track.lane))
        placements.insert(placements.end(), nodes.begin(), nodes.end());
    }
    const auto waits = draft_.farWaits.find({device.id.value, model::LaneId()});
    static const std::vector<model::LevelNode> none;
    FarActivities far =
        farActivities(std::move(placements), waits == draft_.farWaits.end() ? none : waits->second);
    track.activities = std::move(far.activities);
    track.far = std::move(far.spans);
  }

  /// Returns the first track of the lane that has no work at `start`, and adds one if all have. Null if the
  /// rows of the trace are fixed, because a new track would move the rows below it.
  TraceTrack* freeTrack(std::vector<TraceTrack>& tracks, model::LaneId lane, Ticks start) const {
    auto at = std::ranges::lower_bound(tracks, lane, {}, &TraceTrack::lane);
    const bool known = at != tracks.end() && at->lane == lane;
    for (; at != tracks.end() && at->lane == lane; ++at) {
      if (at->placements.empty() || at->placements.back().end <= start) return &*at;
    }
    if (known && draft_.trace->large) return nullptr;
    at = tracks.insert(at, TraceTrack());
    at->lane = lane;
    return &*at;
  }

  /// True if placements of the device overlap. They are sorted by start.
  static bool overlap(const std::vector<TracePlacement>& placements) {
    Ticks end = placements.empty() ? Ticks() : placements.front().start;
    for (const TracePlacement& placement : placements) {
      if (placement.start < end && placement.end > placement.start) return true;
      end = std::max(end, placement.end);
    }
    return false;
  }

  model::LaneId laneOf(const TracePlacement& placement) const {
    if (placement.segment < 0) return {};
    return draft_.trace->segments[static_cast<std::size_t>(placement.segment)].lane;
  }

  /// True if one lane works while the device waits for it, as engines do for a collective operation.
  bool waitsBeside(const std::vector<TracePlacement>& placements,
                   const std::vector<model::Wait>& waits) const {
    const bool lanes = std::any_of(
        placements.begin(), placements.end(),
        [&](const TracePlacement& placement) { return laneOf(placement) != laneOf(placements.front()); });
    return lanes && std::any_of(waits.begin(), waits.end(), [&](const model::Wait& wait) {
             const auto after =
                 std::upper_bound(placements.begin(), placements.end(), wait.start,
                                  [](Ticks time, const TracePlacement& p) { return time < p.end; });
             return after != placements.end() && after->start < wait.end && after->end > after->start;
           });
  }

  void layOutSteps(const DeviceTrace& device, TraceTrack& track) {
    std::vector<std::size_t> used;
    std::set<model::LaneId> lanes;
    bool sequential = true;
    // Most chips of a large system have none.
    const auto own = segmentsOf_.find(device.id);
    for (const std::size_t i : own == segmentsOf_.end() ? std::vector<std::size_t>() : own->second) {
      const TraceSegment& segment = draft_.trace->segments[i];
      if (track.lane.valid() && segment.lane != track.lane) continue;
      if (segment.steps.empty() && draft_.farSteps.count(segment.id.value) == 0) continue;
      used.push_back(i);
      sequential = sequential && isSequential(segment.steps);
      for (const model::Step& step : segment.steps) lanes.insert(step.lane);
    }
    if (draft_.trace->large) {
      fixLanes(device, track);
    } else {
      track.flatLanes.assign(lanes.begin(), lanes.end());
      if (sequential) {
        track.flameLanes.push_back({});
      } else {
        for (const model::LaneId lane : lanes) track.flameLanes.push_back({lane, 0});
      }
    }
    for (const std::size_t i : used) layOutSegment(track, draft_.trace->segments[i]);
  }

  /// Chooses lanes and depths that are the same for every window of a large trace.
  void fixLanes(const DeviceTrace& device, TraceTrack& track) {
    if (draft_.request.large) {
      const auto place = static_cast<std::size_t>(draft_.deviceIndex[device.id]);
      for (const TraceTrack& known : draft_.request.large->devices[place].tracks) {
        if (known.lane == track.lane) track.flameLanes = known.flameLanes, track.flatLanes = known.flatLanes;
      }
      return;
    }
    std::set<model::LaneRole> roles;
    bool distinct = !draft_.worksSideBySide(device.id);
    for (const model::LaneId lane : draft_.lanesOf(device.id)) {
      if (track.lane.valid() && lane != track.lane) continue;
      const model::LaneRole role = draft_.catalog.roleOf(lane);
      distinct = roles.insert(role).second && distinct;
      if (role != model::LaneRole::host) track.flatLanes.push_back(lane);
    }
    if (distinct) {
      track.flameLanes.push_back({model::LaneId(), draft_.sampledDepth});
    } else {
      for (const model::LaneId lane : track.flatLanes)
        track.flameLanes.push_back({lane, draft_.sampledDepth});
    }
  }

  void layOutSegment(TraceTrack& track, TraceSegment& segment) {
    if (!segment.flame.empty()) return;  // an earlier window has already laid it out
    if (const auto far = draft_.farSteps.find(segment.id.value); far != draft_.farSteps.end())
      return layOutFarSegment(track, segment, far->second);
    std::vector<std::string> paths;
    segment.stepNames.clear();
    for (const model::Step& step : segment.steps) {
      auto [path, kind] = draft_.textsOf(step);
      segment.stepNames.push_back(draft_.names.indexOf(path));
      segment.stepPrograms.push_back(draft_.names.indexOf(kind));
      paths.push_back(std::move(path));
    }
    for (FlameLane& lane : track.flameLanes) {
      segment.flame.push_back(flameRows(segment, lane.lane, paths, draft_.names));
      const auto depth = static_cast<std::int32_t>(segment.flame.back().size());
      if (!draft_.trace->large) lane.depth = std::max(lane.depth, depth);
    }
    for (const model::LaneId lane : track.flatLanes)
      segment.flat.push_back(flatRow(segment, lane, paths, draft_.names));
    segment.use = segmentUse(segment.steps, segment.pass, segment.lane, segment.ticks);
  }

  static void layOutFarSegment(const TraceTrack& track, TraceSegment& segment,
                               const TraceDraft::LaneNodes& nodes) {
    segment.whole = false;
    const auto rowOf = [&](model::LaneId lane) {
      const auto found = nodes.find(lane);
      return found == nodes.end() ? FlameRow() : farRow(found->second);
    };
    for (const FlameLane& lane : track.flameLanes) {
      model::LaneId busiest = lane.lane;
      Ticks most;
      for (const auto& [key, list] : nodes) {
        Ticks busy;
        for (const model::LevelNode& node : list) busy += node.busy;
        if (!lane.lane.valid() && busy > most) busiest = key, most = busy;
      }
      segment.flame.push_back({rowOf(busiest)});
    }
    for (const model::LaneId lane : track.flatLanes) segment.flat.push_back(rowOf(lane));
  }

  void indexPlacements() {
    for (std::size_t d = 0; d < draft_.trace->devices.size(); ++d) {
      for (std::size_t t = 0; t < draft_.trace->devices[d].tracks.size(); ++t) {
        const std::vector<TracePlacement>& placements = draft_.trace->devices[d].tracks[t].placements;
        for (std::size_t i = 0; i < placements.size(); ++i) {
          draft_.trace->places.push_back(
              {placements[i].id,
               {static_cast<std::int32_t>(d), static_cast<std::int32_t>(t), static_cast<std::int32_t>(i)}});
        }
      }
    }
    std::sort(draft_.trace->places.begin(), draft_.trace->places.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  TraceDraft& draft_;
  std::unordered_map<model::DeviceId, std::vector<std::size_t>> segmentsOf_;  ///< indices, ascending
};

}  // namespace

void layOutTrace(TraceDraft& draft) {
  Layout(draft).make();
}

}  // namespace pipescope::analysis
