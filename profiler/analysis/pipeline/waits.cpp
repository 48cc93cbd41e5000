#include "profiler/analysis/pipeline/waits.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

#include "profiler/analysis/pipeline/recorded/measured_waits.h"
#include "profiler/analysis/pipeline/wait_axes.h"
#include "profiler/analysis/placements_by_id.h"
#include "profiler/analysis/rows_of_run.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {

namespace {

/// Key that the waits of a group have in common.
struct WaitKey {
  model::DeviceId device, waitedForDevice;
  int waitedForStage = -1;
  model::WaitCause cause = model::WaitCause::fill;
  std::string reason;
  std::optional<model::MeshAxis> axis = {};
  bool sharedLinks = false;
  auto operator<=>(const WaitKey&) const = default;
};
struct WaitKeyHash {
  std::size_t operator()(const WaitKey& key) const {
    std::size_t hash = std::hash<std::string>()(key.reason);
    for (const std::int64_t part : {key.device.value, key.waitedForDevice.value,
                                    std::int64_t{key.waitedForStage}, static_cast<std::int64_t>(key.cause),
                                    key.axis ? static_cast<std::int64_t>(*key.axis) : std::int64_t{-1}})
      hash = (hash ^ static_cast<std::size_t>(part)) * 0x9E3779B97F4A7C15ULL, hash ^= hash >> 32U;
    return hash;
  }
};
struct WaitSum {
  std::int64_t ticks = 0, count = 0, blocked = 0;
};

/// Sums up the waits of a run while they pass by.
class WaitSums {
 public:
  /// The placements must live as long as the sums.
  WaitSums(const std::vector<model::Placement>& placements, const Catalog& catalog,
           model::ExecutableId executable)
      : placements_(placements), byId_(placements), axes_(catalog, executable) {
    for (const model::Placement& placement : placements) {
      if (placement.iteration >= 0 || !catalog.measured()) iterations_.insert(placement.iteration);
    }
    if (!catalog.measured()) return;
    measured_.emplace(placements);
    for (const model::Placement& placement : placements)
      if (placement.stage >= 0) firstStage_.try_emplace(placement.device, placement.stage);
  }

  void add(const model::Wait& wait) {
    const model::Placement* const placement = byId_.find(wait.waitedFor);
    const auto device = firstStage_.find(wait.waitedForDevice);
    const int stage = placement != nullptr          ? placement->stage
                      : device != firstStage_.end() ? device->second
                                                    : -1;
    std::optional<AwaitedPlacement> awaited;
    if (placement != nullptr)
      awaited = {placement->device, placement->stage, placement->pass, placement->segment};
    WaitSum& sum = sums_[{wait.device, wait.waitedForDevice, stage, wait.cause,
                          measured_ ? measured_->reasonOf(wait) : std::string(), axisOf(wait, awaited),
                          !measured_ && awaited && waitsForSharedLinks(wait, *awaited)}];
    base::addWrapped(sum.ticks, (wait.end - wait.start).count);
    if (measured_) base::addWrapped(sum.blocked, measured_->blockedDuring(wait).count);
    ++sum.count;
  }

  std::vector<WaitGroup> groups(const model::Run& run) const;

 private:
  std::optional<model::MeshAxis> axisOf(const model::Wait& wait,
                                        const std::optional<AwaitedPlacement>& awaited) {
    const auto holds = [&](int stage) {
      if (held_.empty()) {
        for (const model::Placement& each : placements_) held_.insert({each.device, each.stage});
      }
      return held_.contains({wait.device, stage});
    };
    return axes_.of(wait, awaited ? &*awaited : nullptr, holds);
  }

  const std::vector<model::Placement>& placements_;
  const PlacementsById byId_;
  const WaitAxes axes_;
  std::set<std::pair<model::DeviceId, int>> held_;  ///< stages of each device; filled when asked for
  std::set<int> iterations_;
  std::optional<MeasuredWaits> measured_;
  /// First stage of a device that a wait names without a placement.
  std::map<model::DeviceId, int> firstStage_;
  std::unordered_map<WaitKey, WaitSum, WaitKeyHash> sums_;
};

std::vector<WaitGroup> WaitSums::groups(const model::Run& run) const {
  std::vector<WaitGroup> groups;
  const std::map<WaitKey, WaitSum> sums(sums_.begin(), sums_.end());
  const double perIteration = 1.0 / static_cast<double>(std::max<std::size_t>(iterations_.size(), 1));
  const double length = static_cast<double>((run.end - run.start).count);
  for (const auto& [key, sum] : sums) {
    WaitGroup group;
    group.device = key.device;
    group.waitedForDevice = key.waitedForDevice;
    group.waitedForStage = key.waitedForStage;
    group.cause = key.cause;
    group.reason = key.reason;
    group.axis = key.axis;
    group.sharedLinks = key.sharedLinks;
    group.ticksPerIteration = static_cast<double>(sum.ticks) * perIteration;
    group.countPerIteration = static_cast<double>(sum.count) * perIteration;
    group.blockedPerIteration = static_cast<double>(sum.blocked) * perIteration;
    group.share = length > 0 ? static_cast<double>(sum.ticks) / length : 0;
    groups.push_back(group);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const WaitGroup& a, const WaitGroup& b) {
    return a.ticksPerIteration > b.ticksPerIteration;
  });
  return groups;
}

}  // namespace

Result<RunRows> runRows(const model::ProfileSource& source, const model::Run& run) {
  RunRows rows;
  PIPESCOPE_ASSIGN(rows.placements, rowsOfRun<model::Placement>(source, run));
  PIPESCOPE_ASSIGN(rows.waits, rowsOfRun<model::Wait>(source, run));
  return rows;
}

Result<std::vector<WaitGroup>> waitGroups(const model::ProfileSource& source, const Catalog& catalog,
                                          model::ExecutableId executable) {
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return std::vector<WaitGroup>();
  PIPESCOPE_ASSIGN(const std::vector<model::Placement> placements, rowsOfRun<model::Placement>(source, *run));
  WaitSums sums(placements, catalog, executable);
  PIPESCOPE_TRY(forEachRowOfRun<model::Wait>(source, *run, [&](const model::Wait& wait) { sums.add(wait); }));
  return sums.groups(*run);
}

std::vector<WaitGroup> waitGroups(const RunRows& rows, const Catalog& catalog, const model::Run& run) {
  WaitSums sums(rows.placements, catalog, run.executable);
  for (const model::Wait& wait : rows.waits) sums.add(wait);
  return sums.groups(run);
}

namespace {

/// Finds what a placement had to wait for.
class PathFinder {
 public:
  /// `measured`: gaps of a recorded run for which the trace gives no cause are the host's.
  PathFinder(const std::vector<model::Placement>& placements, const std::vector<model::Wait>& waits,
             bool measured)
      : byId_(placements), measured_(measured) {
    for (const model::Placement& p : placements) byDevice_[p.device].push_back(&p);
    for (const model::Wait& w : waits) waitsByEnd_[w.device].push_back(&w);
    byDevice_.forEach([](std::vector<const model::Placement*>& list) {
      const auto earlier = [](const auto* a, const auto* b) {
        return std::tie(a->start, a->end) < std::tie(b->start, b->end);
      };
      if (!std::is_sorted(list.begin(), list.end(), earlier)) std::sort(list.begin(), list.end(), earlier);
    });
    waitsByEnd_.forEach([](std::vector<const model::Wait*>& list) {
      const auto earlier = [](const auto* a, const auto* b) { return a->end < b->end; };
      if (!std::is_sorted(list.begin(), list.end(), earlier))
        std::stable_sort(list.begin(), list.end(), earlier);
      // The last one of waits that end together counts.
      std::reverse(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end(),
                             [](const auto* a, const auto* b) { return a->end == b->end; }),
                 list.end());
      std::reverse(list.begin(), list.end());
    });
  }

  /// The placement whose end let `placement` start. Null: it waited for the host's call.
  const model::Placement* binding(const model::Placement& placement) const {
    const model::Placement* before = previousOnDevice(placement);
    if (before != nullptr && before->end == placement.start) return before;
    // Transfers may lie between the last wait and the start. A wait for the device's own copies does not say
    // which other device was late.
    const std::span<const model::Wait* const> waits = waitsUntil(placement.device, placement.start);
    for (auto it = waits.rbegin(); it != waits.rend(); ++it) {
      const model::Wait& wait = **it;
      if (before != nullptr && wait.start < before->end) break;
      const model::Placement* const waitedFor = byId_.find(wait.waitedFor);
      if (wait.cause == model::WaitCause::host && measured_) continue;
      // a copy on another lane of the device, or the call
      if (wait.cause == model::WaitCause::host) return waitedFor;
      if (waitedFor == nullptr || waitedFor->device == placement.device) continue;
      if (!measured_ || before == nullptr || !receivedLate(wait, *waitedFor, *before)) return waitedFor;
    }
    return before;
  }

  /// True if a recorded message was ready before the device asked for it: it transfers only from then on, so
  /// that what the device did before is what held it up.
  static bool receivedLate(const model::Wait& wait, const model::Placement& sender,
                           const model::Placement& before) {
    return wait.cause == model::WaitCause::exchange && wait.start > before.end && sender.end < before.end;
  }

  /// The part of the time before a placement in which its device waits for the host of a recorded run.
  Ticks hostBefore(const model::Placement& placement, Ticks from) const {
    Ticks host;
    if (!measured_) return host;
    const std::span<const model::Wait* const> waits = waitsUntil(placement.device, placement.start);
    for (auto it = waits.rbegin(); it != waits.rend() && (*it)->end > from; ++it)
      if ((*it)->cause == model::WaitCause::host) host += (*it)->end - std::max((*it)->start, from);
    return host;
  }

 private:
  /// The waits of a device that end at `time` or before, in the order of their ends.
  std::span<const model::Wait* const> waitsUntil(model::DeviceId device, Ticks time) const {
    const auto* const all = waitsByEnd_.find(device);
    if (all == nullptr) return {};
    const auto end = std::upper_bound(all->begin(), all->end(), time,
                                      [](Ticks until, const auto* wait) { return until < wait->end; });
    return {all->begin(), end};
  }

  const model::Placement* previousOnDevice(const model::Placement& placement) const {
    const auto& list = *byDevice_.find(placement.device);
    const auto here = std::lower_bound(list.begin(), list.end(), placement.start,
                                       [](const auto* p, Ticks start) { return p->start < start; });
    for (auto it = here; it != list.begin();) {
      --it;
      if ((*it)->end <= placement.start) return *it;
    }
    return nullptr;
  }

  const PlacementsById byId_;
  PerDevice<std::vector<const model::Placement*>> byDevice_;
  PerDevice<std::vector<const model::Wait*>> waitsByEnd_;
  const bool measured_;
};

}  // namespace

Result<std::vector<CriticalLink>> criticalPath(const model::ProfileSource& source, const Catalog& catalog,
                                               model::RunId runId) {
  if (!catalog.runs.contains(runId)) return base::badInput("The profile has no such run.");
  const model::Run& run = catalog.runs[runId];
  PIPESCOPE_ASSIGN(const RunRows rows, runRows(source, run));
  return criticalPath(rows, catalog, run);
}

std::vector<CriticalLink> criticalPath(const RunRows& rows, const Catalog& catalog, const model::Run& run) {
  std::vector<CriticalLink> path;
  std::vector<model::Placement> recognised;
  // Everything but the recognised passes of a trace lies within them, or beside them on other lanes.
  if (catalog.measured())
    std::ranges::copy_if(rows.placements, std::back_inserter(recognised), [](const model::Placement& p) {
      return p.pass != model::Pass::other || p.stage >= 0;
    });
  const std::vector<model::Placement>& placements = catalog.measured() ? recognised : rows.placements;
  if (placements.empty()) return path;
  const PathFinder finder(placements, rows.waits, catalog.measured());
  const auto last = std::max_element(placements.begin(), placements.end(),
                                     [](const auto& a, const auto& b) { return a.end < b.end; });
  Ticks reached = run.end;
  const auto link = [&](CriticalLink::Kind kind, const model::Placement& p, Ticks start, Ticks end) {
    if (end > start)
      path.push_back({kind, p.device, start, end,
                      kind == CriticalLink::Kind::placement ? p.id : model::PlacementId(), p.stage, p.pass,
                      p.microBatch, p.segment});
  };
  const model::Placement *current = &*last, *next = nullptr;
  // Placements of a damaged file may wait for each other in a circle. The path therefore must go back in time
  // and has at most as many links as there are placements.
  for (std::size_t guard = 0; current != nullptr && guard <= placements.size(); ++guard) {
    if (current->end > reached) break;
    const Ticks host = next == nullptr ? Ticks(0) : finder.hostBefore(*next, current->end);
    link(CriticalLink::Kind::call, *current, reached - host, reached);
    link(CriticalLink::Kind::transfer, *current, current->end, reached - host);
    link(CriticalLink::Kind::placement, *current, current->start, current->end);
    reached = current->start;
    next = current;
    current = finder.binding(*current);
  }
  link(CriticalLink::Kind::call, placements.front(), run.start, reached);
  std::reverse(path.begin(), path.end());
  return path;
}

PathSums pathSums(const std::vector<CriticalLink>& path, Ticks from, Ticks to) {
  PathSums parts;
  for (const CriticalLink& link : path) {
    const Ticks length = std::min(link.end, to) - std::max(link.start, from);
    if (length.count <= 0) continue;
    if (link.kind == CriticalLink::Kind::call) {
      parts.host += length;
    } else if (link.kind == CriticalLink::Kind::transfer || link.pass == model::Pass::sync ||
               link.pass == model::Pass::collective) {
      parts.exchange += length;
    } else if (link.pass == model::Pass::hostIn || link.pass == model::Pass::hostOut) {
      parts.host += length;
    } else if (link.pass == model::Pass::remote) {
      parts.memory += length;
    } else {
      (link.pass == model::Pass::update ? parts.update : parts.compute) += length;
    }
  }
  return parts;
}

}  // namespace pipescope::analysis
