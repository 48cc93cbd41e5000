#include "profiler/geometry/timeline/timeline_layout.h"

#include <algorithm>

#include "profiler/base/number_ranges.h"
#include "profiler/geometry/counter_text.h"
#include "profiler/geometry/element.h"

namespace pipescope::geometry {
namespace {

class Builder {
 public:
  Builder(const TimelineModel& model, const TimelineOptions& options, const RowMetrics& metrics)
      : model_(model), trace_(*model.trace), options_(options), metrics_(metrics) {}

  TimelineLayout build() {
    y_ = metrics_.groupGap / 2;
    const std::vector<int> shown = shownDevices(trace_, options_);
    addWhole(true);
    for (const int device : shown) {
      if (options_.pinned.count(device) > 0) addDevice(device);
    }
    layout_.pinned = layout_.groups.empty() ? 0 : y_;
    for (const int device : shown) {
      if (options_.pinned.count(device) == 0) addDevice(device);
    }
    addWhole(false);
    addWall();
    layout_.height = y_;
    return std::move(layout_);
  }

 private:
  void addDevice(int index) {
    const analysis::DeviceTrace& device = at(trace_.devices, index);
    TimelineGroup group;
    group.device = index;
    group.y = y_;
    group.firstRow = static_cast<int>(layout_.rows.size());
    group.title = device.shortName.empty() ? device.name : device.shortName;
    group.subtitle = subtitle(device);
    if (const int others = at(folded_, index); others > 0)
      group.title += " +" + std::to_string(others) + " alike";
    group.collapsed = options_.collapsed.count(index) > 0;
    for (std::size_t t = 0; t < device.tracks.size(); ++t) {
      if (isEmpty(device, t)) continue;
      const bool needed = group.collapsed ? t == 0 : showsPasses(device.tracks[t], options_.steps);
      if (needed)
        add({.kind = RowKind::activity,
             .device = index,
             .track = static_cast<int>(t),
             .height = metrics_.activity,
             .label = nameOf(device, t)});
      if (group.collapsed) continue;
      addSteps(index, static_cast<int>(t), device.tracks[t]);
      if (options_.tiles && device.units > 1 && !device.stages.empty())
        addTiles(index, static_cast<int>(t), device);
    }
    if (!group.collapsed && options_.transfers) addTransfers(index, device);
    if (!group.collapsed && options_.counters) addCounters(index, device.id);
    group.rows = static_cast<int>(layout_.rows.size()) - group.firstRow;
    group.height = y_ - metrics_.rowGap - group.y;
    y_ += metrics_.groupGap - metrics_.rowGap;
    layout_.groups.push_back(std::move(group));
  }

  /// A lane on which nothing happens has no row, unless the device has no other.
  static bool isEmpty(const analysis::DeviceTrace& device, std::size_t track) {
    const auto nothing = [](const analysis::TraceTrack& one) {
      return one.activities.empty() && one.placements.empty();
    };
    if (!nothing(device.tracks[track])) return false;
    return track > 0 || !std::ranges::all_of(device.tracks, nothing);
  }

  /// The name of a lane within a track. A lane may also have a track of its own, for work beside the passes.
  std::string laneName(int device, const std::string& name) const {
    const std::vector<analysis::TraceTrack>& tracks = at(trace_.devices, device).tracks;
    for (std::size_t t = 1; t < tracks.size(); ++t) {
      if (tracks[t].name == name && !isEmpty(at(trace_.devices, device), t)) return name + " steps";
    }
    return name;
  }

  /// The name of a track. Tracks of equal names are numbered.
  static std::string nameOf(const analysis::DeviceTrace& device, std::size_t track) {
    const std::string& name = device.tracks[track].name;
    int before = 0, all = 0;
    for (std::size_t t = 0; t < device.tracks.size(); ++t) {
      all += device.tracks[t].name == name ? 1 : 0;
      before += t < track && device.tracks[t].name == name ? 1 : 0;
    }
    return all > 1 && !name.empty() ? name + " " + std::to_string(before) : name;
  }

  /// Adds the counters that belong to no device: the pinned ones, or the others.
  void addWhole(bool pinned) {
    if (!options_.counters || !model_.counters) return;
    TimelineGroup group;
    group.device = kWholeRun;
    group.y = y_;
    group.firstRow = static_cast<int>(layout_.rows.size());
    group.title = "Run";
    addCounters(kWholeRun, model::DeviceId(), pinned);
    group.rows = static_cast<int>(layout_.rows.size()) - group.firstRow;
    if (group.rows == 0) return;
    group.height = y_ - metrics_.rowGap - group.y;
    y_ += metrics_.groupGap - metrics_.rowGap;
    layout_.groups.push_back(std::move(group));
  }

  /// Adds a row with the wall time of each call. A call lies at its emulated time.
  void addWall() {
    const auto measured = [](const model::Run& run) { return run.wallEndNs > run.wallStartNs; };
    if (!std::any_of(trace_.runs.begin(), trace_.runs.end(), measured)) return;
    TimelineGroup group;
    group.device = kHost;
    group.y = y_;
    group.firstRow = static_cast<int>(layout_.rows.size());
    group.title = "Host";
    group.subtitle = "wall time";
    add({.kind = RowKind::wall, .device = kHost, .height = metrics_.activity, .label = "calls"});
    group.rows = 1;
    group.height = y_ - metrics_.rowGap - group.y;
    y_ += metrics_.groupGap - metrics_.rowGap;
    layout_.groups.push_back(std::move(group));
  }

  void addTiles(int index, int track, const analysis::DeviceTrace& device) {
    const bool recorded = model_.tiles && model_.tiles->recorded;
    add({.kind = RowKind::tiles,
         .device = index,
         .track = track,
         .height = recorded ? metrics_.tiles : metrics_.noTiles,
         .label = device.unitName + "s"});
  }

  void addCounters(int index, model::DeviceId device, bool pinned = false) {
    if (!model_.counters) return;
    for (std::size_t i = 0; i < model_.counters->size(); ++i) {
      const model::Counter& counter = (*model_.counters)[i].counter;
      const bool isPinned = index == kWholeRun && options_.pinnedCounters.contains(counter.name);
      if (counter.device != device || isPinned != pinned) continue;
      std::string name = counter.name;
      std::replace(name.begin(), name.end(), '_', ' ');
      add({.kind = RowKind::counter,
           .device = index,
           .lane = static_cast<int>(i),
           .height = metrics_.counter,
           .label = std::move(name),
           .scale = counterScale((*model_.counters)[i])});
    }
  }

  std::string subtitle(const analysis::DeviceTrace& device) const {
    std::string text = device.kind;
    if (!device.stages.empty())
      text += (device.stages.size() == 1 ? " · stage " : " · stages ") + base::numberRanges(device.stages);
    // Ranks of a trace work even if no stages were recognised.
    const bool works = std::ranges::any_of(device.tracks, [](const analysis::TraceTrack& track) {
      return !track.placements.empty() || !track.far.empty();
    });
    if (device.stages.empty() && !works) text += " · idle";
    if (trace_.recordedReplicas.size() > 1 && device.replica >= 0)
      text += " · replica " + std::to_string(device.replica / trace_.recordedRanks);
    if (trace_.recordedRanks > 1 && device.replica >= 0)
      text += " · rank " + std::to_string(device.replica % trace_.recordedRanks);
    return text;
  }

  void addSteps(int device, int track, const analysis::TraceTrack& from) {
    if (options_.steps == StepRows::flat) {
      for (std::size_t lane = 0; lane < from.flatLanes.size(); ++lane) {
        const auto name = trace_.laneNames.find(from.flatLanes[lane]);
        add({.kind = RowKind::flat,
             .device = device,
             .track = track,
             .lane = static_cast<int>(lane),
             .height = metrics_.step,
             .label = name == trace_.laneNames.end() ? std::string() : name->second});
      }
    }
    if (options_.steps != StepRows::flame) return;
    for (std::size_t lane = 0; lane < from.flameLanes.size(); ++lane) {
      const analysis::FlameLane& flame = from.flameLanes[lane];
      const auto name = trace_.laneNames.find(flame.lane);
      for (int level = 0; level < flame.depth; ++level) {
        // The row of passes above has the lane's name already; the first one has the device's.
        const bool named =
            level == 0 && name != trace_.laneNames.end() && (track == 0 || name->second != from.name);
        std::string label = named ? laneName(device, name->second) : std::string();
        // Without a row of passes, the first row of steps carries the name of the track.
        if (level == 0 && lane == 0 && !showsPasses(from, options_.steps)) label = from.name;
        add({.kind = RowKind::flame,
             .device = device,
             .track = track,
             .lane = static_cast<int>(lane),
             .level = level,
             .height = metrics_.step,
             .label = std::move(label)});
      }
    }
  }

  void addTransfers(int device, const analysis::DeviceTrace& from) {
    const int lanes = static_cast<int>(from.transferLanes.size());
    const int height = lanes == 0 ? 0 : std::max(metrics_.transfer, metrics_.transfers / lanes);
    for (std::size_t lane = 0; lane < from.transferLanes.size(); ++lane) {
      const analysis::TransferLane& row = from.transferLanes[lane];
      const int peer = trace_.deviceIndex(row.peer);
      const std::string name = peer < 0 ? "host" : at(trace_.devices, peer).name;
      add({.kind = RowKind::transfer,
           .device = device,
           .lane = static_cast<int>(lane),
           .height = height,
           .label = (row.outgoing ? "→ " : "← ") + name});
    }
  }

  void add(TimelineRow row) {
    row.y = y_;
    y_ += row.height + metrics_.rowGap;
    layout_.rows.push_back(std::move(row));
  }

  const TimelineModel& model_;
  const analysis::Trace& trace_;
  const TimelineOptions& options_;
  const std::vector<int> folded_ = foldedDevices(trace_, options_);
  const RowMetrics& metrics_;
  TimelineLayout layout_;
  int y_ = 0;
};

template <class List>
int indexAt(const List& list, int y) {
  const auto after =
      std::upper_bound(list.begin(), list.end(), y, [](int at, const auto& item) { return at < item.y; });
  if (after == list.begin()) return -1;
  const auto& item = *std::prev(after);
  return y < item.y + item.height ? static_cast<int>(after - list.begin()) - 1 : -1;
}

bool foldsAlike(const analysis::Trace& trace, const TimelineOptions& options) {
  return options.foldAlike && trace.devices.size() > kFewDevices;
}

}  // namespace

int TimelineLayout::rowAt(int y) const {
  return indexAt(rows, y);
}
int TimelineLayout::groupAt(int y) const {
  return indexAt(groups, y);
}

std::vector<int> foldedDevices(const analysis::Trace& trace, const TimelineOptions& options) {
  std::vector<int> others(trace.devices.size(), 0);
  if (!foldsAlike(trace, options)) return others;
  for (std::size_t d = 0; d < trace.devices.size(); ++d) {
    const analysis::DeviceTrace& device = trace.devices[d];
    if (device.alike >= 0 && device.recorded && options.pinned.count(static_cast<int>(d)) == 0)
      ++others[static_cast<std::size_t>(device.alike)];
  }
  return others;
}

std::vector<int> shownDevices(const analysis::Trace& trace, const TimelineOptions& options) {
  const bool folds = foldsAlike(trace, options);
  std::vector<int> devices;
  const auto count = static_cast<int>(trace.devices.size());
  std::vector<bool> taken(trace.devices.size(), false);
  const auto take = [&](int device) {
    if (device < 0 || device >= count || taken[static_cast<std::size_t>(device)]) return;
    const analysis::DeviceTrace& row = at(trace.devices, device);
    if (!row.recorded) return;
    if (folds && row.alike >= 0 && options.pinned.count(device) == 0) return;
    taken[static_cast<std::size_t>(device)] = true;
    if (options.hidden.count(device) == 0) devices.push_back(device);
  };
  for (const int device : options.order) take(device);
  if (options.byStage) {
    std::vector<std::pair<std::int32_t, int>> byStage;
    for (int d = 0; d < count; ++d) {
      if (!at(trace.devices, d).stages.empty()) byStage.emplace_back(at(trace.devices, d).stages.front(), d);
    }
    std::stable_sort(byStage.begin(), byStage.end());
    for (const auto& [stage, device] : byStage) take(device);
  }
  for (int d = 0; d < count; ++d) take(d);
  return devices;
}

bool showsPasses(const analysis::TraceTrack& track, StepRows steps) {
  if (steps == StepRows::none || !track.waits.empty()) return true;
  const auto known = [](const auto& row) { return row.pass != model::Pass::other; };
  return std::any_of(track.placements.begin(), track.placements.end(), known) ||
         std::any_of(track.far.begin(), track.far.end(), known) ||
         (track.placements.empty() && track.far.empty());
}

TimelineLayout layOutTimeline(const TimelineModel& model, const TimelineOptions& options,
                              const RowMetrics& metrics) {
  return Builder(model, options, metrics).build();
}

namespace {

RowMetrics grownRows(const RowMetrics& metrics, double factor) {
  const auto times = [factor](int height) { return static_cast<int>(height * factor); };
  RowMetrics grown = metrics;
  for (int RowMetrics::*height : {&RowMetrics::activity, &RowMetrics::step, &RowMetrics::transfer,
                                  &RowMetrics::transfers, &RowMetrics::counter, &RowMetrics::tiles})
    grown.*height = times(grown.*height);
  return grown;
}

}  // namespace

RowMetrics fitRows(const TimelineModel& model, const TimelineOptions& options, int height,
                   const RowMetrics& metrics) {
  const TimelineLayout layout = layOutTimeline(model, options, metrics);
  const auto steps =
      static_cast<int>(std::count_if(layout.rows.begin(), layout.rows.end(), [](const TimelineRow& row) {
        return row.kind == RowKind::flame || row.kind == RowKind::flat;
      }));
  const int over = layout.height - height;
  if (over < 0 && height >= kLargePicture && !layout.rows.empty()) {
    constexpr double kGrowthStep = 0.05;
    for (double factor = kMostGrowth; factor > 1; factor -= kGrowthStep) {
      const RowMetrics grown = grownRows(metrics, factor);
      if (layOutTimeline(model, options, grown).height <= height) return grown;
    }
  }
  if (over <= 0 || steps == 0) return metrics;
  RowMetrics fitted = metrics;
  fitted.step -= (over + steps - 1) / steps;
  return fitted.step >= kLowestStep ? fitted : metrics;
}

}  // namespace pipescope::geometry
