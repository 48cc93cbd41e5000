#include "profiler/analysis/pipeline/recorded/accelerator_times.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/launches.h"
#include "profiler/analysis/pipeline/recorded/recorded_work.h"
#include "profiler/base/intervals.h"

namespace pipescope::analysis {
namespace {

/// Kind that the importer gives to a device of a trace that shows no accelerator.
constexpr std::string_view kProcess = "process";

/// The importer writes "training step 12" as the layer of an event that marks the step.
std::optional<std::int64_t> markedStep(std::string_view layer) {
  constexpr std::string_view kStep = "training step ";
  std::int64_t number = 0;
  if (!layer.starts_with(kStep)) return std::nullopt;
  layer.remove_prefix(kStep.size());
  const auto [end, error] = std::from_chars(layer.data(), layer.data() + layer.size(), number);
  return error == std::errc() && end == layer.data() + layer.size() ? std::optional(number) : std::nullopt;
}

struct Work {
  Ticks start, end;
  model::LaneId lane;
  model::ProgramId program;
  bool communicates = false;
  bool copies = false;
  std::optional<Ticks> launch = {};  // start of the launch on the host
};

struct ProgramNames {
  std::string name, category;
  std::string group;                 // process group and operation of a collective; else empty
  std::optional<std::int64_t> step;  // number of the training step that it marks
  bool work = false, copy = false;
  bool uncategorised = false;   // the trace states no category
  bool hostCollective = false;  // a collective that the host itself takes part in
  bool message = false;         // one side of a message between two ranks
};

class AcceleratorReader {
 public:
  AcceleratorReader(const model::ProfileSource& source, const Catalog& catalog)
      : source_(source), catalog_(catalog), recorded_(catalog) {}

  Result<AcceleratorReport> read() {
    PIPESCOPE_TRY(readWork());
    PIPESCOPE_TRY(readLaunches());
    for (auto& [device, works] : works_) {
      std::stable_sort(works.begin(), works.end(),
                       [](const Work& a, const Work& b) { return a.start < b.start; });
      report_.devices.push_back(timesOf(device, works));
    }
    sumKernels();
    for (auto& [device, works] : hostCollectives_)
      std::stable_sort(works.begin(), works.end(),
                       [](const Work& a, const Work& b) { return a.start < b.start; });
    const bool communicates = std::ranges::any_of(
        works_, [](const auto& device) { return std::ranges::any_of(device.second, &Work::communicates); });
    matchCollectives(communicates ? works_ : hostCollectives_);
    return std::move(report_);
  }

 private:
  using WorksByDevice = std::map<model::DeviceId, std::vector<Work>>;

  const ProgramNames& namesOf(model::ProgramId id) {
    const auto [place, added] = names_.try_emplace(id.value);
    if (added && catalog_.programs.contains(id)) {
      const model::Program program = catalog_.programs[id];
      place->second = {catalog_.namePath(program.debugContext),
                       program.kind,
                       {},
                       {},
                       isWorkCategory(program.kind),
                       isCopyCategory(program.kind)};
      place->second.uncategorised = program.kind == kNoCategory;
      if (place->second.uncategorised) place->second.category = "operation";
      if (catalog_.debugContexts.contains(program.debugContext)) {
        std::string layer = catalog_.debugContexts[program.debugContext].layer;
        place->second.step = markedStep(layer);
        place->second.hostCollective = layer == "collective";
        const std::string_view operation =
            std::string_view(layer).substr(std::min(layer.rfind(' '), layer.size()));
        place->second.message =
            layer.starts_with("message, ") ||
            (layer.starts_with("process group ") && (operation == " send" || operation == " recv"));
        if (layer.starts_with("process group ")) place->second.group = std::move(layer);
      }
    }
    return place->second;
  }

  base::Status readWork() {
    std::unordered_map<std::int64_t, Ticks> starts;
    PIPESCOPE_TRY(forAllRows<model::Placement>(source_, [&](const model::Placement& placement) {
      starts[placement.segment.value] = placement.start;
    }));
    return forAllRows<model::Step>(source_, [&](const model::Step& step) {
      const model::Lane* lane = catalog_.lanes.find(step.lane);
      const auto start = starts.find(step.segment.value);
      if (lane == nullptr || start == starts.end()) return;
      const ProgramNames& names = namesOf(step.program);
      const Ticks from = start->second + step.offset;
      if (lane->role == model::LaneRole::hostThread) {
        const Ticks to = from + step.ticks;
        if (names.step) marks_[lane->device].push_back({*names.step, from, to, {}, {}, {}, {}});
        if (names.hostCollective)
          hostCollectives_[lane->device].push_back({from, to, step.lane, step.program, true});
        return;
      }
      // Some tools call kernels by categories of their own, such as TensorFlow's "Op" and Chakra's "COMP".
      const bool ownWords = names.uncategorised || !recorded_.hasKernels(lane->device);
      if (!names.work && !(ownWords && isWorkByRule(lane->role, step.kind))) return;
      if (step.kind == model::StepKind::sync) return;  // The queue waits.
      const bool copies =
          names.copy || step.kind == model::StepKind::streamCopy || step.kind == model::StepKind::exchange;
      works_[lane->device].push_back({from, from + step.ticks, step.lane, step.program,
                                      step.kind == model::StepKind::globalExchange, copies});
    });
  }

  /// A launch: the lane and the start of its kernel, and its own start. There are as many as kernels, so they
  /// lie in one piece.
  struct Launch {
    model::LaneId lane;
    Ticks kernel, start;
    auto place() const { return std::pair(lane, kernel); }
  };

  base::Status readLaunches() {
    std::vector<Launch> launches;
    PIPESCOPE_TRY(forAllRows<model::Transfer>(source_, [&](const model::Transfer& transfer) {
      if (!isLaunch(catalog_, transfer)) return;
      launches.push_back({transfer.toLane, transfer.end, transfer.start});
      ++launchesFrom_[catalog_.deviceOf(transfer.toLane)][catalog_.deviceOf(transfer.fromLane)];
    }));
    std::sort(launches.begin(), launches.end(), [](const Launch& a, const Launch& b) {
      return std::tuple(a.place(), b.start) < std::tuple(b.place(), a.start);
    });
    for (auto& [device, works] : works_) {
      for (Work& work : works) {
        const std::pair place(work.lane, work.start);
        auto found = std::partition_point(launches.begin(), launches.end(),
                                          [&](const Launch& launch) { return launch.place() < place; });
        // Several kernels may start at one time; each takes a launch of its own.
        while (found != launches.end() && found->place() == place && found->start == kTaken) ++found;
        if (found == launches.end() || found->place() != place) continue;
        work.launch = std::exchange(found->start, kTaken);
      }
    }
    return {};
  }
  static constexpr Ticks kTaken{INT64_MIN};

  /// Returns the time at which the first of the works that start together was launched, as far as that is
  /// known.
  static std::optional<Ticks> firstLaunch(std::span<const Work> works) {
    std::optional<Ticks> first;
    for (const Work& work : works) {
      if (work.start != works.front().start) break;
      if (work.launch && (!first || *work.launch < *first)) first = work.launch;
    }
    return first;
  }

  AcceleratorTimes timesOf(model::DeviceId device, const std::vector<Work>& works) {
    AcceleratorTimes times;
    times.device = device;
    const model::Device* row = catalog_.devices.find(device);
    times.isProcess = row != nullptr && row->kind == kProcess &&
                      std::ranges::none_of(works, [](const Work& w) { return w.communicates || w.copies; });
    times.start = works.front().start;
    std::map<std::string, base::Intervals> categories;
    base::Intervals busy, compute, communication;
    double delays = 0;
    Ticks busyUntil = times.start;
    for (std::size_t i = 0; i < works.size(); ++i) {
      const Work& work = works[i];
      const ProgramNames& names = namesOf(work.program);
      WorkSum& sum = times.categories[names.category];
      ++sum.count;
      sum.sum += work.end - work.start;
      categories[names.category].add(work.start, work.end);
      ++times.count;
      times.launchable += names.work || work.launch ? 1 : 0;
      if (work.start > busyUntil) {
        const std::optional<Ticks> launch = firstLaunch(std::span(works).subspan(i));
        if (launch) times.hostIdle += std::clamp(*launch, busyUntil, work.start) - busyUntil;
        if (!launch) times.unknownIdle += work.start - busyUntil;
      }
      busyUntil = std::max(busyUntil, work.end);
      busy.add(work.start, work.end);
      if (!work.copies) (work.communicates ? communication : compute).add(work.start, work.end);
      if (!work.launch) continue;
      ++times.launched;
      delays += static_cast<double>((work.start - *work.launch).count);
    }
    times.end = busyUntil;
    times.busy = busy.unionLength();
    times.idle = times.end - times.start - times.busy;
    times.compute = compute.unionLength();
    times.communication = communication.unionLength();
    times.exposedCommunication = times.communication - commonLength(communication, compute);
    if (times.launched > 0) times.meanLaunchDelay = delays / static_cast<double>(times.launched);
    times.longestQueue = longestQueue(works);
    for (auto& [category, sum] : times.categories) sum.active = categories[category].unionLength();
    times.steps = stepsOf(device, works);
    return times;
  }

  /// The steps that the host of a device marks. One process may drive several accelerators: it is a device of
  /// its own then, the one that launches most of the accelerator's work. If no launch is known, it is the
  /// only one that marks steps.
  std::vector<MarkedStep> marksOf(model::DeviceId device) const {
    if (const auto own = marks_.find(device); own != marks_.end()) return own->second;
    std::int64_t most = 0;
    auto host = marks_.end();
    if (const auto from = launchesFrom_.find(device); from != launchesFrom_.end()) {
      for (const auto& [launcher, count] : from->second) {
        const auto marks = marks_.find(launcher);
        if (marks == marks_.end() || count <= most) continue;
        most = count;
        host = marks;
      }
    } else if (marks_.size() == 1 && !works_.contains(marks_.begin()->first)) {
      host = marks_.begin();
    }
    return host == marks_.end() ? std::vector<MarkedStep>() : host->second;
  }

  /// The marks of a device's steps, by start. Several threads may mark the same step: a mark that begins in
  /// the first half of the one before repeats it.
  std::vector<MarkedStep> distinctMarks(model::DeviceId device) const {
    std::vector<MarkedStep> steps = marksOf(device);
    std::stable_sort(steps.begin(), steps.end(),
                     [](const MarkedStep& a, const MarkedStep& b) { return a.start < b.start; });
    std::vector<MarkedStep> kept;
    for (const MarkedStep& step : steps) {
      if (kept.empty() || 2 * step.start.count >= kept.back().start.count + kept.back().end.count)
        kept.push_back(step);
    }
    return kept;
  }

  /// Returns for each mark the works that were launched within it, sorted by start.
  static std::vector<std::vector<const Work*>> launchedWithin(const std::vector<MarkedStep>& marks,
                                                              const std::vector<Work>& works) {
    std::vector<std::vector<const Work*>> own(marks.size());
    for (const Work& work : works) {
      if (!work.launch) continue;
      const auto after = std::ranges::upper_bound(marks, *work.launch, {}, &MarkedStep::start);
      if (after == marks.begin() || *work.launch >= std::prev(after)->end) continue;
      own[static_cast<std::size_t>(std::prev(after) - marks.begin())].push_back(&work);
    }
    return own;
  }

  /// Returns the end of the work that was launched before the trace began: a queue runs its work in the order
  /// of the launches, so that work without a launch before a queue's first launched work belongs to no step.
  static Ticks launchedBefore(const std::vector<Work>& works) {
    std::set<model::LaneId> launched, seen;
    for (const Work& work : works)
      if (work.launch) launched.insert(work.lane);
    Ticks end(INT64_MIN);
    for (const Work& work : works) {
      if (work.launch) seen.insert(work.lane);
      if (launched.contains(work.lane) && !seen.contains(work.lane)) end = std::max(end, work.end);
    }
    return end;
  }

  std::vector<MarkedStep> stepsOf(model::DeviceId device, const std::vector<Work>& works) {
    std::vector<MarkedStep> steps = distinctMarks(device);
    const auto launched = launchedWithin(steps, works);
    std::vector<Ticks> latestEnd;  // latest end of this work and all before it
    for (const Work& work : works)
      latestEnd.push_back(latestEnd.empty() ? work.end : std::max(latestEnd.back(), work.end));
    Ticks before = launchedBefore(works);  // end of the step before
    for (std::size_t s = 0; s < steps.size(); ++s) {
      MarkedStep& step = steps[s];
      for (const Work* work : launched[s]) step.end = std::max(step.end, work->end);
      step.start = std::clamp(before, step.start, step.end);
      if (!launched[s].empty()) before = step.end;
      base::Intervals busy, compute, communication;
      // Works come in the order of their starts, so each step looks at those from the first that reaches into
      // it.
      const auto reaches = std::upper_bound(latestEnd.begin(), latestEnd.end(), step.start);
      for (auto i = static_cast<std::size_t>(reaches - latestEnd.begin());
           i < works.size() && works[i].start < step.end; ++i) {
        const Work& work = works[i];
        const Ticks from = std::max(work.start, step.start), to = std::min(work.end, step.end);
        if (to <= from) continue;
        busy.add(from, to);
        if (!work.copies) (work.communicates ? communication : compute).add(from, to);
      }
      step.busy = busy.unionLength();
      step.compute = compute.unionLength();
      step.communication = communication.unionLength();
      step.exposedCommunication = step.communication - commonLength(communication, compute);
    }
    return steps;
  }

  static std::int64_t longestQueue(const std::vector<Work>& works) {
    std::vector<std::pair<Ticks, int>> changes;  // a start before a launch at the same time
    for (const Work& work : works) {
      if (!work.launch) continue;
      changes.emplace_back(*work.launch, 1);
      changes.emplace_back(work.start, -1);
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t length = 0, longest = 0;
    for (const auto& [time, change] : changes) longest = std::max(longest, length += change);
    return longest;
  }

  void sumKernels() {
    std::map<std::pair<std::string, std::string>, WorkSum> sums;
    for (const auto& [device, works] : works_) {
      for (const Work& work : works) {
        const ProgramNames& names = namesOf(work.program);
        WorkSum& sum = sums[{names.name, names.category}];
        ++sum.count;
        sum.sum += work.end - work.start;
      }
    }
    for (const auto& [names, sum] : sums) report_.kernels.push_back({names.first, names.second, sum});
    std::stable_sort(report_.kernels.begin(), report_.kernels.end(),
                     [](const KernelSum& a, const KernelSum& b) { return a.work.sum > b.work.sum; });
  }

  void matchCollectives(const WorksByDevice& byDevice) {
    // Each group, or each name without a group, has the kernels of each device in the order of their starts.
    struct Key {
      std::string group, name;
      auto operator<=>(const Key&) const = default;
    };
    std::map<Key, std::map<model::DeviceId, std::vector<const Work*>>> byKey;
    for (const auto& [device, works] : byDevice) {
      for (const Work& work : works) {
        if (!work.communicates) continue;
        const ProgramNames& names = namesOf(work.program);
        if (names.message || names.copy) continue;
        ++report_.communicationKernels;
        byKey[{names.group, names.group.empty() ? names.name : std::string()}][device].push_back(&work);
      }
    }
    if (byDevice.size() < 2) return;
    for (const auto& [key, devices] : byKey) {
      const std::size_t count = devices.begin()->second.size();
      const bool members = key.group.empty() ? devices.size() == byDevice.size() : devices.size() > 1;
      const bool all = members && std::all_of(devices.begin(), devices.end(), [&](const auto& entry) {
                         return entry.second.size() == count;
                       });
      for (std::size_t n = 0; all && n < count; ++n) {
        MatchedCollective match;
        match.group = key.group;
        match.name = namesOf(devices.begin()->second[n]->program).name;
        match.number = static_cast<std::int64_t>(n);
        match.start = Ticks(INT64_MAX);
        match.lastStart = match.end = Ticks(INT64_MIN);
        for (const auto& [device, works] : devices) {
          ++match.ranks;
          match.start = std::min(match.start, works[n]->start);
          match.end = std::max(match.end, works[n]->end);
          if (works[n]->start > match.lastStart) match.last = device;
          match.lastStart = std::max(match.lastStart, works[n]->start);
        }
        for (const auto& [device, works] : devices)
          match.waited += std::min(match.lastStart, works[n]->end) - works[n]->start;
        report_.matched += match.ranks;
        report_.collectives.push_back(std::move(match));
      }
    }
    std::stable_sort(report_.collectives.begin(), report_.collectives.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  RecordedWork recorded_;
  AcceleratorReport report_;
  WorksByDevice works_, hostCollectives_;
  std::map<model::DeviceId, std::vector<MarkedStep>> marks_;
  /// Launches of an accelerator's work by the device of the launching thread.
  std::map<model::DeviceId, std::map<model::DeviceId, std::int64_t>> launchesFrom_;
  std::unordered_map<std::int64_t, ProgramNames> names_;
};

}  // namespace

Result<AcceleratorReport> acceleratorReport(const model::ProfileSource& source, const Catalog& catalog) {
  if (!catalog.measured()) return AcceleratorReport();
  return AcceleratorReader(source, catalog).read();
}

std::string AcceleratorReport::noVerdictOnCollectives() const {
  if (communicationKernels == 0)
    return "No communication kernels were recognised, so there is no verdict on collectives.";
  if (matched > 0) return {};
  return fmt::format(
      "None of the {} communication kernels has counterparts on other ranks{}, so there is no verdict on "
      "collectives.",
      communicationKernels, devices.size() == 1 ? " (the trace has one accelerator)" : "");
}

}  // namespace pipescope::analysis
